"""What archiving asks of a store: jobs that ended, whole; removing them; putting them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from backstay.model.states import State

WholeJob = Mapping[str, Sequence[Mapping[str, Any]]]
"""Everything that is kept of a job: rows by the name of their table."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Jobs that were kept long enough."""

    ids: tuple[UUID, ...]
    finished_before: datetime
    go_on: UUID | None


class Archive(Protocol):
    """Old jobs, whole."""

    async def ended(self, keep: Mapping[State, timedelta], *, after: UUID, limit: int) -> Ended:
        """Look at the next `limit` jobs by age for those that ended longer ago than their state is kept."""
        ...

    async def whole(self, ids: Sequence[UUID]) -> list[WholeJob]:
        """These jobs with all that belongs to them, by age; those that cannot be removed yet are left out."""
        ...

    async def remove(self, ids: Sequence[UUID], *, finished_before: datetime) -> int:
        """Remove those of them that ended before and that nobody uses now; returns how many."""
        ...

    async def put_back(self, jobs: Sequence[WholeJob]) -> int:
        """Store jobs as they were; returns how many were not there."""
        ...
