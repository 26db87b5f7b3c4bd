"""Sees to it that time limits hold even where a handler ignores them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from windlass.env import Env
from windlass.events import Emit
from windlass.job import Claim
from windlass.outcome import Outcome, Released
from windlass.worker.endings import timed_out
from windlass.worker.runner import Runner

LOOK_EVERY = 0.25
GRACE = timedelta(seconds=5)
LONGEST_WAIT = 2.0
"""Jobs that were taken ahead and found no slot within this time are left to other workers."""


async def watch_time_limits(
    runner: Runner, finish: Callable[[Claim, Outcome], None], *, emit: Emit, env: Env
) -> None:
    """Ask handlers to stop at their limit; fail those that ignore it, whatever they are.

    A thread cannot be killed and a coroutine can refuse to be cancelled: such a handler keeps its slot, but its job
    goes on elsewhere and its late result is refused.
    """
    while True:
        await env.sleep(LOOK_EVERY)
        for claim in runner.take_back_waiting(longer_than=LONGEST_WAIT):
            finish(claim, Released("no slot came free"))
        for claim in runner.overdue(grace=timedelta(0)):
            runner.stop_job(claim.id, timed_out(claim))
        for claim in runner.overdue(grace=GRACE):
            if runner.abandon(claim.id, timed_out(claim)) is not None:
                emit("worker.tainted", job_id=str(claim.id), kind=claim.kind)
                finish(claim, timed_out(claim))
