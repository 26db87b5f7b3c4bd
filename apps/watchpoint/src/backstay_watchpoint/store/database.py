"""How the platform's database is opened: one engine an event loop, the same behaviour on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import Connection, Table, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

_DRIVERS = {
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
    "sqlite": "sqlite+aiosqlite",
}
_BUSY_SECONDS = 30
SCHEMA = "watchpoint"


class BadDatabaseUrl(ValueError):
    """A URL that names neither PostgreSQL nor SQLite."""


def driver_url(url: str) -> str:
    """Return the URL as SQLAlchemy wants it; raises BadDatabaseUrl."""
    scheme, separator, rest = url.partition("://")
    driver = _DRIVERS.get(scheme.split("+")[0])
    if not separator or driver is None:
        raise BadDatabaseUrl("the database URL must begin with postgresql:// or sqlite:///")
    return f"{driver}://{rest}"


class Database:
    """The platform's database; engines are made when first used, one for each event loop."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._driver_url = driver_url(url)
        self._engines: dict[asyncio.AbstractEventLoop, AsyncEngine] = {}

    @property
    def is_sqlite(self) -> bool:
        """True on SQLite."""
        return self._driver_url.startswith("sqlite")

    @property
    def engine(self) -> AsyncEngine:
        """The engine of the running event loop."""
        loop = asyncio.get_running_loop()
        for closed in [other for other in self._engines if other.is_closed()]:
            del self._engines[closed]
        if loop not in self._engines:
            self._engines[loop] = self._make_engine()
        return self._engines[loop]

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction that is committed at the end of the block, or rolled back by an exception."""
        async with self.engine.begin() as connection:
            yield connection

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction that only reads: on SQLite it lets others write meanwhile."""
        async with self.engine.execution_options(is_reading=True).begin() as connection:
            yield connection

    async def close(self) -> None:
        """Close what this event loop has opened."""
        engine = self._engines.pop(asyncio.get_running_loop(), None)
        if engine is not None:
            await engine.dispose()

    def _make_engine(self) -> AsyncEngine:
        if not self.is_sqlite:
            # Named with every statement instead of set for the session: it works behind a pooler, too.
            named = {"schema_translate_map": {None: SCHEMA}}
            return create_async_engine(
                self._driver_url, pool_pre_ping=True, pool_size=5, max_overflow=10, execution_options=named
            )
        engine = create_async_engine(self._driver_url, connect_args={"timeout": _BUSY_SECONDS})
        event.listen(engine.sync_engine, "connect", _prepare_sqlite)
        event.listen(engine.sync_engine, "begin", _begin_sqlite)
        return engine


def insert_into(connection: AsyncConnection, table: Table) -> Any:
    """Return an INSERT of the connection's database, which knows ON CONFLICT."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)


def _prepare_sqlite(connection: DBAPIConnection, _record: Any) -> None:
    # The driver's own way of beginning transactions breaks savepoints; `_begin_sqlite` does it instead.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # Immediately: a transaction that reads first and writes later would fail when somebody wrote in between.
    is_reading = connection.get_execution_options().get("is_reading", False)
    connection.exec_driver_sql("BEGIN" if is_reading else "BEGIN IMMEDIATE")
