"""Stores jobs, and then puts their ids into Redis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from backstay.dispatch.suggester import Suggester
from backstay.model.job import NewJob, Stored
from backstay.model.suggestions import Suggestion
from backstay.runtime.env import Env
from backstay.stores.contract import Enqueuing


@dataclass(frozen=True, slots=True)
class AnnouncingEnqueuing:
    """After the commit, never before: an id in Redis is of a job that is there."""

    enqueuing: Enqueuing
    suggester: Suggester
    env: Env

    async def enqueue(self, jobs: Sequence[NewJob], *, hint: str | None = None) -> None:
        """Store jobs without keys, and suggest them."""
        await self.enqueuing.enqueue(jobs, hint=hint)
        await self._suggest(jobs)

    async def enqueue_keyed(self, jobs: Sequence[NewJob]) -> list[Stored]:
        """Store jobs whose keys are free, and suggest those that are new."""
        stored = await self.enqueuing.enqueue_keyed(jobs)
        await self._suggest([job for job, one in zip(jobs, stored, strict=True) if one.is_new])
        return stored

    async def _suggest(self, jobs: Sequence[NewJob]) -> None:
        now = self.env.wall()
        named = [
            suggestion(job, now) for job in jobs if job.held_for is None and not (job.wait or job.order_key)
        ]
        if named:
            await self.suggester.suggest(named)


def suggestion(job: NewJob, now: datetime) -> Suggestion:
    """Where the id of a new job is to stand."""
    due = job.run_at if job.delay is None else now + job.delay
    return Suggestion(
        id=job.id,
        queue=job.queue,
        kind=job.kind,
        rank=job.priority,
        tenant=job.tenant,
        due_at=due if due is not None and due > now else None,
    )
