"""What services ask of a store about promoted fields."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from backstay.model.job import Job, JobId
from backstay.model.promoted_fields import Promotion
from backstay.model.records import Filled, JobFilter
from backstay.model.state_match import StateMatch


class PromotedFields(Protocol):
    """Columns that the application chose, and what fills them."""

    async def missing(self, promotion: Promotion) -> list[str]:
        """How the tables differ from what a kind declares now, a line each."""
        ...

    async def unfit(self, promotion: Promotion) -> list[str]:
        """Why a job of this kind could not be stored with all its fields; fields beyond these do not matter."""
        ...

    async def promote(self, promotion: Promotion) -> list[str]:
        """Make what a kind's fields need, all or nothing; returns what was made.

        Raises SchemaMismatch when a column is there but is something else, or what a field refers to is not there.
        """
        ...

    async def demote(self, promotion: Promotion) -> bool:
        """Stop filling the fields of a kind; the columns stay. False when nothing filled any."""
        ...

    async def search(
        self,
        table: str,
        filters: JobFilter,
        *,
        before: JobId | None,
        limit: int,
        match: StateMatch | None = None,
    ) -> list[Job]:
        """A page of jobs, newest first, of those with `filters.promoted` in this table."""
        ...

    async def unfilled(self, promotion: Promotion, *, newest: int) -> list[JobId]:
        """Jobs of the kind, of the newest ones, that lack a row or a value that their arguments have."""
        ...

    async def fill(self, promotion: Promotion, *, after: UUID, limit: int) -> Filled:
        """Look at the next `limit` jobs by age and fill what is not filled; bad ones are left and named."""
        ...
