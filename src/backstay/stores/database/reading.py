"""Sends the queries of lists and figures to another database, a replica of ours; everything else stays."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from backstay.errors import SchemaMismatch, StoreBusy, StoreUnavailable
from backstay.stores.database.interface import Connection, Lane, Row, Values

READS = frozenset(
    {
        "audit/search",
        "dead_letters/groups",
        "dead_letters/open",
        "failures/groups",
        "failures/history",
        "failures/hours",
        "figures/counters",
        "figures/depths",
        "figures/read",
        "figures/tenant_depths",
        "flows/all",
        "jobs/by_age",
        "jobs/counts",
        "jobs/search",
        "jobs/search_oldest",
    }
)
"""What may be told a little late. What is decided upon, such as one job or a schedule, never is."""


@dataclass(frozen=True, slots=True)
class ReadingLane:
    """A lane whose lists and figures come from a replica as long as that answers."""

    lane: Lane
    replica: Lane

    async def fetch(self, name: str, /, **values: object) -> Sequence[Row]:
        if name in READS:
            try:
                return await self.replica.fetch(name, **values)
            except (StoreUnavailable, StoreBusy, SchemaMismatch):
                # A replica that is away, or cancels what its recovery needs to overwrite, costs nobody an answer.
                pass
        return await self.lane.fetch(name, **values)

    async def fetch_each(self, name: str, rows: Sequence[Values], /, **same: object) -> Sequence[Row]:
        return await self.lane.fetch_each(name, rows, **same)

    def transaction(self) -> AbstractAsyncContextManager[Connection]:
        return self.lane.transaction()
