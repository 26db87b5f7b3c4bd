"""What those who operate ask of a store: insights, the audit trail, and overrides."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from backstay.model.job import JobId
from backstay.model.records import (
    AuditEntry,
    AuditFilter,
    BrokenRule,
    Engine,
    Health,
    Override,
    OverrideScope,
    Waiting,
)


class AuditTrail(Protocol):
    """Who did what."""

    async def of_job(self, job_id: JobId) -> list[AuditEntry]:
        """What was done to a job, in order."""
        ...

    async def search(self, filters: AuditFilter, *, before: int | None, limit: int) -> list[AuditEntry]:
        """A page of the trail, newest first; `before` is the id of the last line of the page before."""
        ...


class Insights(Protocol):
    """Looking across all jobs for what may be wrong."""

    async def waiting(self, *, most: int = 1000) -> list[Waiting]:
        """What could run now, by queue and kind, each counted up to `most`."""
        ...

    async def routes(self) -> frozenset[tuple[str, str]]:
        """The (queue, kind) pairs that jobs are sent to besides the kind's own queue."""
        ...

    async def stuck(self, *, grace: timedelta, most: int = 1000) -> int:
        """How many claims ran out longer ago than this and were not taken over, counted up to `most`."""
        ...

    async def broken(self, *, newest: int) -> list[BrokenRule]:
        """Which rules about jobs do not hold among the newest jobs."""
        ...

    async def open_dead_letters(self, *, most: int = 1000) -> int:
        """How many dead letters nobody has closed, counted up to `most`."""
        ...

    async def misfits(self, *, most: int = 1000) -> dict[str, int]:
        """How many jobs of each kind are held because their arguments did not fit, counted up to `most`."""
        ...

    async def health(self) -> Health:
        """How the database itself fares."""
        ...

    async def ahead(self, job_id: JobId, *, limit: int) -> int:
        """How many available jobs of its queue come before this one, counted up to `limit`."""
        ...

    async def engine(self) -> Engine:
        """Which database this is, and its time."""
        ...

    async def drift(self) -> list[str]:
        """How the tables differ from those of this release, a line each."""
        ...


class Overrides(Protocol):
    """Numbers of queues and kinds that operators have changed."""

    async def set(
        self, scope: OverrideScope, name: str, field: str, *, change: str, actor: str, reason: str
    ) -> None:
        """Keep a change, a policy layer as JSON; it replaces an earlier one of the same field."""
        ...

    async def remove(self, scope: OverrideScope, name: str, field: str, *, actor: str) -> bool:
        """Let the code's number count again; False when nothing was set."""
        ...

    async def all(self) -> list[Override]:
        """Every change in force."""
        ...
