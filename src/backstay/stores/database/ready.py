"""A lane that sees to the tables before its first query."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from backstay.stores.database.interface import Connection, Lane, Row, Values


@dataclass(frozen=True, slots=True)
class ReadyLane:
    """Waits until the database is ready for us, then passes everything on."""

    lane: Lane
    ready: Callable[[], Awaitable[None]]

    async def fetch(self, name: str, /, **values: Any) -> Sequence[Row]:
        await self.ready()
        return await self.lane.fetch(name, **values)

    async def fetch_each(self, name: str, rows: Sequence[Values], /, **same: Any) -> Sequence[Row]:
        await self.ready()
        return await self.lane.fetch_each(name, rows, **same)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        await self.ready()
        async with self.lane.transaction() as connection:
            yield connection
