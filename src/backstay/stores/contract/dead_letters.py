"""What services ask of a store about dead letters; a part of the contract of stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from backstay.model.job import JobId
from backstay.model.records import DeadLetter, DeadLetterFilter, DeadLetterGroup, DeadLetterHour, LetterMark


@dataclass(frozen=True, slots=True)
class OtherArgs:
    """Arguments in the place of those that a job died with, as text, and a secret for the trail to tell them apart."""

    text: str
    secret: bytes


class DeadLetters(Protocol):
    """Jobs that a person must look at."""

    async def open(
        self,
        *,
        kind: str | None,
        queue: str | None,
        tenant: str | None,
        limit: int,
        fingerprint: str | None = None,
        owner: str | None = None,
    ) -> list[DeadLetter]:
        """Dead letters nobody has closed, newest first; unassigned letters have the owner ''."""
        ...

    async def groups(
        self, *, kind: str | None, queue: str | None, tenant: str | None, limit: int, most: int
    ) -> list[DeadLetterGroup]:
        """Dead letters nobody has closed, by their cause, the most frequent first, each counted up to `most`."""
        ...

    async def arguments(self, job_id: JobId) -> list[dict[str, Any] | None]:
        """The arguments of every death of a job, newest first."""
        ...

    async def by_hour(self, *, since: datetime, tenant: str | None, limit: int) -> list[DeadLetterHour]:
        """How many open letters each cause has from each hour since a time, over the newest up to a limit."""
        ...

    async def of_job(self, job_id: JobId) -> list[DeadLetter]:
        """Every death of one job, newest first."""
        ...

    async def investigate(
        self, job_id: JobId, *, actor: str, note: str | None, version: int | None = None
    ) -> int:
        """Put a name on a dead job's letter; returns the letter's version. Raises as `retry` does."""
        ...

    async def retry(
        self,
        job_id: JobId,
        *,
        actor: str,
        reason: str,
        delay: timedelta,
        version: int | None = None,
        args: OtherArgs | None = None,
    ) -> str:
        """Give a dead job a fresh budget, with other arguments if given; returns its queue.

        Raises WrongState unless it is dead, DeadLetterChanged when a version is given and the letter has another.
        """
        ...

    async def retry_as_new(
        self,
        job_id: JobId,
        *,
        new_id: JobId,
        actor: str,
        reason: str,
        delay: timedelta,
        version: int | None = None,
        args: OtherArgs | None = None,
    ) -> str:
        """Resolve a dead job and store a new one in its place; returns the queue. Raises as `retry` does."""
        ...

    async def resolve(
        self, job_id: JobId, *, actor: str, reason: str, ignored: bool, version: int | None = None
    ) -> None:
        """Close a dead job without running it. Raises as `retry` does."""
        ...

    async def count(self, filters: DeadLetterFilter, *, died_until: datetime) -> int:
        """How many open dead letters there are, of those that died until then."""
        ...

    async def next_open(
        self, filters: DeadLetterFilter, *, died_until: datetime, after: LetterMark | None, limit: int
    ) -> list[LetterMark]:
        """The next of them, oldest first."""
        ...

    async def retry_many(
        self, job_ids: Sequence[JobId], *, actor: str, reason: str, delay: timedelta
    ) -> dict[JobId, str]:
        """Give those that are dead a fresh budget, together; returns the queue of each.

        A job whose unique key is taken stays dead and does not hold up the others.
        """
        ...

    async def resolve_many(
        self, job_ids: Sequence[JobId], *, actor: str, reason: str, ignored: bool
    ) -> list[JobId]:
        """Close those that are dead without running them, all or none; returns them."""
        ...
