"""Putting new jobs off where their queue has many waiting already, so that a flood is spread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from backstay.model.job import NewJob
from backstay.runtime.env import Env

LOOK_EVERY = 1.0
STEPS = 100
"""So many times the limit are counted; a queue with more puts jobs off no further."""


@dataclass
class Postponing:
    """Remembers for a moment how many jobs wait in each queue, and counts what is added here meanwhile."""

    depth: Callable[[str, int], Awaitable[int]]
    env: Env
    _known: dict[str, tuple[float, int]] = field(default_factory=dict)

    async def apply(self, jobs: Sequence[NewJob]) -> Sequence[NewJob]:
        """The jobs, later where their policy says so; one that is not due now has its own time already."""
        if all(job.postpone is None for job in jobs):
            return jobs
        return [await self._later(job) for job in jobs]

    async def _later(self, job: NewJob) -> NewJob:
        if job.postpone is None or job.run_at or job.delay or job.held_for:
            return job
        above, by = job.postpone
        steps = await self._waiting(job.queue, above * STEPS) // above
        return job._replace(delay=by * steps) if steps else job

    async def _waiting(self, queue: str, most: int) -> int:
        seen_at, known = self._known.get(queue, (-LOOK_EVERY, 0))
        now = self.env.monotonic()
        if now - seen_at >= LOOK_EVERY:
            seen_at, known = now, await self.depth(queue, most)
        self._known[queue] = seen_at, known + 1
        return known
