"""Connections to the database that the jobs are in: one small pool for each event loop."""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any

import asyncpg

Connection = Any
"""A connection of asyncpg, from a pool or not."""


class Database:
    """The service's own tables."""

    def __init__(self, url: str, *, size: int = 10) -> None:
        self.url = url
        self._size = size
        self._pools: MutableMapping[asyncio.AbstractEventLoop, Any] = weakref.WeakKeyDictionary()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend a connection for a while; each statement is a transaction."""
        async with (await self._pool()).acquire() as connection:
            yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Lend a connection with an open transaction: committed at the end, undone by an exception."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def rows(self, query: str, *args: Any) -> list[dict[str, Any]]:
        """All rows of one statement."""
        async with self.connection() as connection:
            return [dict(row) for row in await connection.fetch(query, *args)]

    async def row(self, query: str, *args: Any) -> dict[str, Any] | None:
        """The first row of one statement."""
        async with self.connection() as connection:
            found = await connection.fetchrow(query, *args)
        return None if found is None else dict(found)

    async def value(self, query: str, *args: Any) -> Any:
        """The first value of one statement."""
        async with self.connection() as connection:
            return await connection.fetchval(query, *args)

    async def execute(self, query: str, *args: Any) -> str:
        """Run one statement and return what the database says of it."""
        async with self.connection() as connection:
            done: str = await connection.execute(query, *args)
        return done

    async def run_script(self) -> list[str]:
        """Make the views and functions of the document anew, and return their names."""
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(script())
            rows = await connection.fetch(
                "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
                " AND relname = ANY($1) ORDER BY relname",
                list(FIVE),
            )
        finally:
            await connection.close()
        return [row["relname"] for row in rows]

    async def close(self) -> None:
        """Close what the running event loop has open."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.close()

    async def _pool(self) -> Any:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = await asyncpg.create_pool(
                self.url, min_size=0, max_size=self._size, init=_prepare, statement_cache_size=0
            )
            self._pools[loop] = pool
        return pool


FIVE = ("dead_letter_jobs", "job_dependencies", "job_executions", "job_schedules", "jobs")
SCRIPT = "001_gap006_job_tables.sql"


def script() -> str:
    """The migration of the document."""
    return (resources.files("backstay_aeon.store") / "scripts" / SCRIPT).read_text("utf-8")


async def _prepare(connection: Any) -> None:
    for name in ("json", "jsonb"):
        await connection.set_type_codec(
            name, schema="pg_catalog", encoder=_to_json, decoder=json.loads, format="text"
        )


def _to_json(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)
