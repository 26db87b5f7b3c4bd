"""Tells of jobs that start and complete: one by one while they are few, as sums while they are many."""

from __future__ import annotations

from collections.abc import Iterable

from backstay.model.events import Emit
from backstay.model.job import Claim, Guard
from backstay.runtime.env import Env
from backstay.worker.wake_event import WakeEvent

EVERY = 0.25
MOST = 25
"""How many starts, and how many ends, are told one by one in each quarter of a second."""


class JobLines:
    """The events `job.started` and `job.completed`; beyond a rate `jobs.started` and `jobs.completed` say how many.

    Starts and ends are noted from any thread. A number may then be off by one, which no line depends on.
    """

    def __init__(self, emit: Emit, env: Env) -> None:
        self._emit, self._env = emit, env
        self._wake_event = WakeEvent()
        self._started = self._completed = 0
        self._took: dict[Guard, float] = {}

    def started(self, claim: Claim) -> None:
        """A handler begins."""
        self._started += 1
        if self._started <= MOST:
            self._emit("job.started", **_facts(claim))
            self._wake_event.ring()

    def took(self, claim: Claim, seconds: float) -> None:
        """A handler has returned after this time; its end is told when it is stored."""
        if self._completed < MOST and len(self._took) < MOST:
            self._took[claim.guard] = seconds

    def stored(self, claims: Iterable[Claim]) -> None:
        """Jobs are completed, and that is stored."""
        for claim in claims:
            self._completed += 1
            if self._completed <= MOST:
                seconds = self._took.pop(claim.guard, None)
                took = {} if seconds is None else {"took_ms": round(seconds * 1000, 1)}
                self._emit("job.completed", **_facts(claim), **took)
                self._wake_event.ring()

    async def run(self) -> None:
        """Tell how many there were beyond those that were told one by one, until cancelled."""
        self._wake_event.attach()
        while True:
            await self._wake_event.wait()
            await self._env.sleep(EVERY)
            self.sum_up()

    def sum_up(self) -> None:
        """Tell how many jobs were not told one by one since the last time."""
        started, self._started = self._started, 0
        completed, self._completed = self._completed, 0
        self._took.clear()
        if started > MOST:
            self._emit("jobs.started", jobs=started - MOST)
        if completed > MOST:
            self._emit("jobs.completed", jobs=completed - MOST)


def _facts(claim: Claim) -> dict[str, object]:
    facts: dict[str, object] = {"job_id": str(claim.id), "kind": claim.kind, "attempt": claim.attempt}
    return {**facts, "tenant": claim.tenant} if claim.tenant else facts
