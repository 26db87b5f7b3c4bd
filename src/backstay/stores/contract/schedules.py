"""What services ask of a store about schedules, their fires, and locks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from backstay.model.job import JobId, NewJob
from backstay.model.schedules.records import Fired, HistoryEntry, Lock, ScheduleLook
from backstay.model.schedules.schedule import Fire, Plan, Schedule, Trigger


class Schedules(Protocol):
    """Keeping schedules, and making jobs of their fires."""

    async def now(self) -> datetime:
        """The database's time."""
        ...

    async def add(self, schedule: Schedule, *, actor: str) -> bool:
        """Store a new schedule; False when its name is taken."""
        ...

    async def rewrite(self, schedule: Schedule, *, actor: str, action: str, reason: str | None) -> bool:
        """Store what a schedule is from now on; False when it was changed or has fired since it was read."""
        ...

    async def remove(self, tenant: str, name: str, *, actor: str, reason: str) -> bool:
        """Remove a schedule and its history; False when there is none of this name."""
        ...

    async def get(self, tenant: str, name: str) -> Schedule | None:
        """One schedule."""
        ...

    async def all(
        self, *, tenant: str | None, kind: str | None, limit: int, name: str | None = None
    ) -> list[Schedule]:
        """Schedules by name."""
        ...

    async def successes(self, *, newest: int) -> dict[UUID, datetime]:
        """When a run of each active schedule completed last, among its newest fires; those without are left out."""
        ...

    async def due(self, *, limit: int) -> list[tuple[Schedule, datetime]]:
        """Schedules whose time has come, each with the database's time."""
        ...

    async def look(self) -> ScheduleLook:
        """When the next schedule fires, and whether fires wait for earlier ones."""
        ...

    async def fire(self, schedule: Schedule, plan: Plan, jobs: Sequence[NewJob]) -> Fired | None:
        """Move the schedule on, write its fires down and store their jobs, in one transaction.

        None when it was changed or has fired since it was read; then nothing is written.
        """
        ...

    async def fire_apart(
        self,
        schedule: Schedule,
        fires: Sequence[Fire],
        jobs: Sequence[NewJob],
        *,
        trigger: Trigger,
        actor: str,
    ) -> Fired:
        """Make jobs of fires that a person asks for; times that have fired already are left out."""
        ...

    async def let_go(self, *, limit: int) -> list[str]:
        """Let the next of the fires go that waited for one which has ended; returns their queues."""
        ...

    async def existing(self, schedule: Schedule, first: datetime, last: datetime) -> set[datetime]:
        """The times in a range that have fired already."""
        ...

    async def history(
        self, tenant: str, name: str, *, before: datetime | None, limit: int
    ) -> list[HistoryEntry]:
        """What became of a schedule's fires, newest first."""
        ...


class Locks(Protocol):
    """Locks with a time to live."""

    async def acquire(
        self, tenant: str, lock_id: str, *, holder: str, job_id: JobId | None, ttl: timedelta
    ) -> Lock | None:
        """Take a lock that is free or has run out; None when somebody else holds it."""
        ...

    async def extend(self, tenant: str, lock_id: str, *, fence: int, ttl: timedelta) -> bool:
        """Hold a lock for longer; False when it is no longer held."""
        ...

    async def release(self, tenant: str, lock_id: str, *, fence: int | None) -> bool:
        """Give a lock up, its holder if no fence is named; False when it is not held so."""
        ...

    async def break_lock(self, tenant: str, lock_id: str, *, actor: str, reason: str) -> bool:
        """Take a lock away from its holder, as an operator; False when nobody does."""
        ...

    async def get(self, tenant: str, lock_id: str) -> Lock | None:
        """The lock, if somebody holds it."""
        ...

    async def all(self, *, tenant: str | None, limit: int) -> list[Lock]:
        """Locks that are held, the next to run out first."""
        ...
