"""Sees to it that time limits hold even where a handler ignores them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from backstay.model.events import Emit
from backstay.model.job import Claim
from backstay.model.outcome import Outcome, Released
from backstay.runtime.env import Env
from backstay.worker.run.outcomes import timed_out
from backstay.worker.run.runner import Runner

LOOK_EVERY = 0.25
GRACE = timedelta(seconds=5)
LONGEST_WAIT = 2.0
"""Jobs that were taken ahead and found no slot within this time are left to other workers."""


async def watch_time_limits(
    runner: Runner, finish: Callable[[Claim, Outcome], None], *, emit: Emit, env: Env
) -> None:
    """Ask handlers to stop at their limit; fail those that ignore it, whatever they are.

    Handlers that must not run twice at the same time are also stopped while their lease may still hold.

    A thread cannot be killed and a coroutine can refuse to be cancelled: such a handler keeps its slot, but its job
    goes on elsewhere and its late result is refused.
    """
    while True:
        await env.sleep(LOOK_EVERY)
        for claim in runner.take_back_waiting(longer_than=LONGEST_WAIT):
            finish(claim, Released("no slot came free"))
        for claim in runner.in_hand.uncertain():
            emit("lease.uncertain", job_id=str(claim.id), kind=claim.kind)
            runner.stop_job(claim.guard, Released("lease uncertain"))
        for claim in runner.in_hand.overdue(grace=timedelta(0)):
            runner.stop_job(claim.guard, timed_out(claim))
        for claim in runner.in_hand.overdue(grace=GRACE):
            if runner.abandon(claim.guard, timed_out(claim)):
                emit("worker.tainted", job_id=str(claim.id), kind=claim.kind)
                finish(claim, timed_out(claim))
