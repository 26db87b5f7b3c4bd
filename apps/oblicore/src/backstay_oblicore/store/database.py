"""Connections, transactions under a role, migrations."""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import AsyncIterator, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import resources
from typing import Any, Protocol
from uuid import UUID

import asyncpg

MIGRATION_LOCK = 7_302_115_884


class Connection(Protocol):
    """What a statement needs of a connection: a part of asyncpg's."""

    async def execute(self, query: str, *args: Any) -> str: ...
    async def executemany(self, command: str, args: Any) -> None: ...
    async def fetch(self, query: str, *args: Any) -> list[Any]: ...
    async def fetchrow(self, query: str, *args: Any) -> Any: ...
    async def fetchval(self, query: str, *args: Any) -> Any: ...
    def transaction(self) -> AbstractAsyncContextManager[Any]: ...


class Database:
    """The application's own tables; one small pool an event loop."""

    def __init__(self, url: str, *, size: int = 5) -> None:
        self.url = url
        self._size = size
        self._pools: MutableMapping[asyncio.AbstractEventLoop, asyncpg.Pool[Any]] = (
            weakref.WeakKeyDictionary()
        )

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend a connection for a while."""
        pool = await self._pool()
        async with pool.acquire() as connection:
            yield connection

    @asynccontextmanager
    async def as_user(self, user: UUID | str) -> AsyncIterator[Connection]:
        """Open a transaction in which only what the user may see exists."""
        async with self.connection() as connection, connection.transaction(), acting_as(connection, user):
            yield connection

    @asynccontextmanager
    async def as_service(self) -> AsyncIterator[Connection]:
        """Open a transaction of the system itself; the caller filters by company."""
        async with self.connection() as connection, connection.transaction(), acting_as(connection, None):
            yield connection

    async def migrate(self) -> list[str]:
        """Bring the tables up to date, once however many do it at the same time; return what was applied."""
        async with self.connection() as connection:
            await connection.execute("SELECT pg_advisory_lock($1)", MIGRATION_LOCK)
            try:
                return await _migrate(connection)
            finally:
                await connection.execute("SELECT pg_advisory_unlock($1)", MIGRATION_LOCK)

    async def close(self) -> None:
        """Close the pool of the running event loop."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.close()

    async def _pool(self) -> asyncpg.Pool[Any]:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = await asyncpg.create_pool(
                self.url, min_size=0, max_size=self._size, statement_cache_size=0, init=_prepare
            )
            self._pools[loop] = pool
        return pool


@asynccontextmanager
async def acting_as(connection: Connection, user: UUID | str | None) -> AsyncIterator[None]:
    """Act with a user's rights (or, without one, as the system) until the block ends or the transaction fails."""
    claims = json.dumps({"sub": str(user)}) if user else ""
    await connection.execute("SELECT set_config('request.jwt.claims', $1, TRUE)", claims)
    await connection.execute(f"SET LOCAL ROLE {'oblicore_user' if user else 'oblicore_service'}")
    yield
    # After an error the transaction is rolled back, and the role with it; only a good end must give it back itself.
    await connection.execute("RESET ROLE")


async def _prepare(connection: asyncpg.Connection[Any]) -> None:
    await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")


async def _migrate(connection: Connection) -> list[str]:
    await connection.execute("CREATE SCHEMA IF NOT EXISTS oblicore")
    await connection.execute(
        "CREATE TABLE IF NOT EXISTS oblicore.migrations (name text PRIMARY KEY, applied_at timestamptz DEFAULT now())"
    )
    known = {row["name"] for row in await connection.fetch("SELECT name FROM oblicore.migrations")}
    applied = []
    for name, sql in _migrations():
        if name in known:
            continue
        async with connection.transaction():
            await connection.execute(sql)
            await connection.execute("INSERT INTO oblicore.migrations (name) VALUES ($1)", name)
        applied.append(name)
    return applied


def _migrations() -> Sequence[tuple[str, str]]:
    folder = resources.files("backstay_oblicore.store").joinpath("migrations")
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda e: e.name)
    return [(entry.name, entry.read_text(encoding="utf-8")) for entry in files]


async def insert(connection: Connection, table: str, **values: Any) -> None:
    """Write one row by the names of its columns, which are ours and never a user's; lists and dictionaries as JSON."""
    written = {
        name: to_json(value) if isinstance(value, dict | list) else value for name, value in values.items()
    }
    places = [
        f"(${n}::text)::jsonb" if isinstance(values[name], dict | list) else f"${n}"
        for n, name in enumerate(written, start=1)
    ]
    await connection.execute(
        f"INSERT INTO oblicore.{table} ({', '.join(written)}) VALUES ({', '.join(places)})",
        *written.values(),
    )


def to_json(value: Any) -> str:
    """Write a value as JSON text, with dates as text; for connections without the codec."""
    return json.dumps(value, default=str, ensure_ascii=False)


def from_json(value: Any) -> Any:
    """Read a jsonb column, whichever way the connection hands it out."""
    return json.loads(value) if isinstance(value, str) else value
