"""What services ask of a store about figures over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from backstay.model.figures import Depth, Period, Tallied, TalliedAt, TenantDepths


class FigureCounts(Protocol):
    """Attempts, counted by minute and by hour."""

    async def add(self, tallied: Sequence[Tallied]) -> None:
        """Add attempts to the minute and the hour that it is now; sending them again counts them again."""
        ...

    async def read(
        self,
        period: Period,
        *,
        since: datetime,
        until: datetime,
        queue: str | None,
        kind: str | None,
        limit: int,
    ) -> list[TalliedAt]:
        """Return what ended from `since` until before `until`, the newest first."""
        ...

    async def depths(self, *, most: int, tenant: str | None = None) -> list[Depth]:
        """Return how many jobs are scheduled, held, running and dead, each state counted up to `most`.

        Of one tenant, those that are available are counted as well.
        """
        ...

    async def by_tenant(self, *, most: int, limit: int) -> list[TenantDepths]:
        """How many jobs of each tenant wait and run, by name, each state counted up to `most`."""
        ...

    async def count(self, name: str, number: int) -> int:
        """Add to a counter of the application's own; returns what it has come to."""
        ...

    async def counters(self) -> dict[str, int]:
        """Return what the application has counted."""
        ...

    async def forget(self, *, minutes: timedelta, hours: timedelta) -> None:
        """Remove minutes and hours that are older than this."""
        ...
