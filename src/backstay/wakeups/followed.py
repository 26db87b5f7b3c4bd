"""Wakes those who wait for jobs that go on because others ended."""

from __future__ import annotations

from backstay.model.events import Emit
from backstay.model.flows import Followed
from backstay.wakeups.contract import LATER, Wakeups, done_hint, queue_hint


def send_followed(wakeups: Wakeups, followed: Followed, *, emit: Emit) -> None:
    """Wake the workers of queues with released jobs and the callers that wait for ended ones; report a failure."""
    if followed.problem is not None:
        emit("store.failed", doing="follow jobs that ended", error=followed.problem)
    hints = {*map(queue_hint, followed.queues), *map(done_hint, followed.awaited)}
    if hints:
        # What is released may be due later.
        wakeups.send(LATER, *sorted(hints))
