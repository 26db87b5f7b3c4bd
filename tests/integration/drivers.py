"""Every way in which a program can hold a transaction that jobs may join, as one kind of object."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
import psycopg
from sqlalchemy import Connection, create_engine, event
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from backstay.attempt.transaction import finished

Opened = AbstractAsyncContextManager[Any]


@dataclass(frozen=True)
class Driver:
    """Opens transactions, committed at the end of the block unless it raises; a blocking driver never waits."""

    name: str
    is_sync: bool
    begin: Callable[[str], Opened]
    savepoint: Callable[[Any], Opened]
    autocommit: Callable[[str], Opened]

    async def transact(self, url: str, body: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        """Run the body in a transaction: on this loop, or in a thread without one for a blocking driver."""
        return await self._run(self._inside(self.begin(url), body))

    async def without_transaction(self, url: str, body: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        """Run the body with a connection that commits every statement."""
        return await self._run(self._inside(self.autocommit(url), body))

    async def _inside(self, opened: Opened, body: Callable[[Any], Awaitable[Any]]) -> Any:
        async with opened as transaction:
            return await body(transaction)

    async def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return await (asyncio.to_thread(finished, work) if self.is_sync else work)


@asynccontextmanager
async def _psycopg(url: str) -> AsyncIterator[Any]:
    with psycopg.connect(url) as connection:
        yield connection


@asynccontextmanager
async def _psycopg_cursor(url: str) -> AsyncIterator[Any]:
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        yield cursor


@asynccontextmanager
async def _psycopg_autocommit(url: str) -> AsyncIterator[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@asynccontextmanager
async def _psycopg_savepoint(transaction: Any) -> AsyncIterator[None]:
    with getattr(transaction, "connection", transaction).transaction():
        yield


@asynccontextmanager
async def _async_psycopg(url: str) -> AsyncIterator[Any]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        yield connection


@asynccontextmanager
async def _async_psycopg_block(url: str) -> AsyncIterator[Any]:
    async with (
        await psycopg.AsyncConnection.connect(url, autocommit=True) as connection,
        connection.transaction(),
        connection.cursor() as cursor,
    ):
        yield cursor


@asynccontextmanager
async def _async_psycopg_autocommit(url: str) -> AsyncIterator[Any]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        yield connection


@asynccontextmanager
async def _async_psycopg_savepoint(transaction: Any) -> AsyncIterator[None]:
    async with getattr(transaction, "connection", transaction).transaction():
        yield


@asynccontextmanager
async def _asyncpg(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def _asyncpg_autocommit(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def _asyncpg_savepoint(transaction: Any) -> AsyncIterator[None]:
    async with transaction.transaction():
        yield


@asynccontextmanager
async def _sqlite3(url: str) -> AsyncIterator[Any]:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    try:
        with connection:
            yield connection
    finally:
        connection.close()


@asynccontextmanager
async def _sqlite3_autocommit(url: str) -> AsyncIterator[Any]:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


@asynccontextmanager
async def _sqlite3_savepoint(transaction: Any) -> AsyncIterator[None]:
    transaction.execute("SAVEPOINT mine")
    try:
        yield
    except BaseException:
        transaction.execute("ROLLBACK TO mine")
        raise
    finally:
        transaction.execute("RELEASE mine")


def _url(url: str, driver: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}+{driver}://{rest}"


def _with_savepoints(engine: Any) -> Any:
    """Let SQLAlchemy begin SQLite's transactions, as its manual says: sqlite3 begins too late for savepoints."""
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", lambda raw, _: setattr(raw, "isolation_level", None))
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def sqlalchemy(
    driver: str, *, session: bool, autocommit: bool = False, savepoints: bool = True
) -> Callable[[str], Opened]:
    @asynccontextmanager
    async def begin(url: str) -> AsyncIterator[Any]:
        options = {"isolation_level": "AUTOCOMMIT"} if autocommit else {}
        engine = create_engine(_url(url, driver), poolclass=NullPool, **options)
        if savepoints and not autocommit:
            _with_savepoints(engine)
        with Session(engine) if session else engine.connect() as transaction, transaction.begin():
            yield transaction
        engine.dispose()

    return begin


@asynccontextmanager
async def _sqlalchemy_savepoint(transaction: Session | Connection) -> AsyncIterator[None]:
    with transaction.begin_nested():
        yield


def async_sqlalchemy(
    driver: str, *, session: bool, autocommit: bool = False, savepoints: bool = True
) -> Callable[[str], Opened]:
    @asynccontextmanager
    async def begin(url: str) -> AsyncIterator[Any]:
        options = {"isolation_level": "AUTOCOMMIT"} if autocommit else {}
        engine = create_async_engine(_url(url, driver), poolclass=NullPool, **options)
        if savepoints and not autocommit:
            _with_savepoints(engine.sync_engine)
        opened = AsyncSession(engine) if session else engine.connect()
        async with opened as transaction, transaction.begin():
            yield transaction
        await engine.dispose()

    return begin


@asynccontextmanager
async def _async_sqlalchemy_savepoint(transaction: Any) -> AsyncIterator[None]:
    async with transaction.begin_nested():
        yield


def _of_sqlalchemy(driver: str, *, is_sync: bool) -> list[Driver]:
    make = sqlalchemy if is_sync else async_sqlalchemy
    savepoint = _sqlalchemy_savepoint if is_sync else _async_sqlalchemy_savepoint
    return [
        Driver(
            f"sqlalchemy {'' if is_sync else 'async '}{'session' if session else 'connection'} on {driver}",
            is_sync,
            make(driver, session=session),
            savepoint,
            make(driver, session=session, autocommit=True),
        )
        for session in (False, True)
    ]


ON_POSTGRES = [
    Driver("asyncpg", False, _asyncpg, _asyncpg_savepoint, _asyncpg_autocommit),
    Driver("psycopg", True, _psycopg, _psycopg_savepoint, _psycopg_autocommit),
    Driver("psycopg cursor", True, _psycopg_cursor, _psycopg_savepoint, _psycopg_autocommit),
    Driver("async psycopg", False, _async_psycopg, _async_psycopg_savepoint, _async_psycopg_autocommit),
    Driver(
        "async psycopg block",
        False,
        _async_psycopg_block,
        _async_psycopg_savepoint,
        _async_psycopg_autocommit,
    ),
    *_of_sqlalchemy("psycopg", is_sync=True),
    *_of_sqlalchemy("psycopg", is_sync=False),
    *_of_sqlalchemy("asyncpg", is_sync=False),
]
ON_SQLITE = [
    Driver("sqlite3", True, _sqlite3, _sqlite3_savepoint, _sqlite3_autocommit),
    *_of_sqlalchemy("pysqlite", is_sync=True),
    *_of_sqlalchemy("aiosqlite", is_sync=False),
]
