"""Transactions on connections that a handler hands in, and on PostgreSQL connections of our own."""

from __future__ import annotations

import asyncio
import inspect
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from backstay.errors import InvalidSettings
from backstay.stores.caller_transaction.asyncpg_driver import AsyncpgSession
from backstay.stores.caller_transaction.backstay_driver import OwnTransaction
from backstay.stores.caller_transaction.postgres import database_errors
from backstay.stores.caller_transaction.sessions import Announce, Found, Opener, Session
from backstay.stores.database import postgres


class Block(Protocol):
    """A transaction that can be begun and ended; that of a blocking driver never waits."""

    joined: object
    connection: Any
    is_own: bool

    async def begin(self) -> Session:
        """Open it."""
        ...

    async def execute(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        """Run a statement of the handler's."""
        ...

    async def flush(self) -> None:
        """Send what the library still keeps back."""
        ...

    async def commit(self) -> None:
        """Make it durable."""
        ...

    async def roll_back(self) -> None:
        """Undo it."""
        ...

    async def discard(self) -> None:
        """Never use its connection again: nobody knows what state it is in."""
        ...

    async def close(self) -> None:
        """Give back what was borrowed."""
        ...


class GivenBlock:
    """A session or connection that the handler opened; its library knows how to commit and to roll back."""

    is_own = False

    def __init__(self, given: Any, way: Opener) -> None:
        self.joined = self.connection = given
        self._way = way

    async def begin(self) -> Session:
        return await self._way.open()

    async def execute(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        raise InvalidSettings(
            "tx.execute is for a transaction of our own: use the session that you handed in"
        )

    async def flush(self) -> None:
        await self._call("flush")

    async def commit(self) -> None:
        await self._call("commit")

    async def roll_back(self) -> None:
        await self._call("rollback")

    async def discard(self) -> None:
        for way in ("invalidate", "terminate", "close"):
            if hasattr(self.connection, way):
                with suppress(*database_errors()):
                    await self._call(way)
                return

    async def close(self) -> None: ...

    async def _call(self, name: str) -> None:
        call: Callable[[], Any] | None = getattr(self.connection, name, None)
        found = None if call is None else call()
        if inspect.isawaitable(found):
            await found


class AsyncpgBlock:
    """A connection of asyncpg: one that was handed in, or one of our own pool."""

    def __init__(self, connection: Any = None, *, pool: Callable[[], Awaitable[Any]] | None = None) -> None:
        self.connection, self._find_pool = connection, pool
        self.is_own = pool is not None
        self.joined: object = connection
        self._pool: Any = None
        self._session: OwnSession | None = None
        self._transaction: Any = None
        self._driver: Any = None

    async def begin(self) -> Session:
        if self._find_pool is not None:
            self._pool = await self._find_pool()
            await self._begin_on_living()
        elif self.connection.is_in_transaction():
            raise InvalidSettings(
                "a transaction is open on this asyncpg connection already, so that leaving the block could not commit "
                "it: hand in a connection without one"
            )
        else:
            await self._begin()
        session = AsyncpgSession(self.connection, self._driver)
        if not self.is_own:
            return session
        self._session = OwnSession(session)
        self.joined = OwnTransaction(self._session, is_sync=False)
        return self._session

    async def _begin_on_living(self) -> None:
        """Begin on a connection of the pool: one that died while nobody used it does not tell before it is used."""
        self.connection = await self._pool.acquire()
        try:
            await self._begin_soon()
        except postgres.LINK_ERRORS:
            # With one, the others have probably died too.
            await self._pool.expire_connections()
            await self.discard()
            await self.close()
            self.connection = await self._pool.acquire()
            await self._begin_soon()

    async def _begin_soon(self) -> None:
        # Not wait_for, which would make a task of it, here and below.
        async with asyncio.timeout(patience()):
            await self._begin()

    async def _begin(self) -> None:
        # What a pool lends is a stand-in, which knows nothing any more once its connection is closed.
        self._driver = getattr(self.connection, "_con", self.connection)
        transaction = self.connection.transaction()
        await transaction.start()
        self._transaction = transaction

    async def execute(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        found: list[Any] = await self.connection.fetch(sql, *values)
        return found

    async def flush(self) -> None: ...

    async def commit(self) -> None:
        # Then the outcome is asked for on another connection.
        async with asyncio.timeout(patience()):
            await self._transaction.commit()
        if self._session is not None:
            self._session.announce_all()

    async def roll_back(self) -> None:
        if self._transaction is not None:
            async with asyncio.timeout(patience()):
                await self._transaction.rollback()

    async def discard(self) -> None:
        self._driver.terminate()

    async def close(self) -> None:
        if self._pool is not None and self.connection is not None:
            if not self._driver.is_closed() and self._driver.is_in_transaction():
                self._driver.terminate()
            # One that was lost in this very moment has gone back to the pool by itself, which asyncpg complains of.
            with suppress(*database_errors(), *postgres.LINK_ERRORS):
                await self._pool.release(self.connection, timeout=patience())


class OwnSession:
    """Our statements on a connection of our own; it knows when its transaction is committed."""

    engine = "postgresql"

    def __init__(self, session: AsyncpgSession) -> None:
        self._session = session
        self._waiting: list[Announce] = []

    @property
    def driver(self) -> object:
        return self._session.driver

    async def fetch(self, name: str, values: Mapping[str, Any]) -> Found:
        async with asyncio.timeout(patience()):
            return await self._session.fetch(name, values)

    async def run(self, sql: str) -> Found:
        return await self._session.run(sql)

    def after_commit(self, announce: Announce) -> bool:
        self._waiting.append(announce)
        return True

    def announce_all(self) -> None:
        """Tell of everything that was enqueued inside."""
        for announce in self._waiting:
            announce()


def patience() -> float:
    """How many seconds to wait for the answer to a statement of our own: a link can die without a sign."""
    return postgres.PATIENCE["handlers"]


def psycopg_block(url: str) -> GivenBlock:
    """A blocking connection of our own, for handlers that are not async."""
    try:
        import psycopg
    except ImportError as error:
        raise InvalidSettings(
            "a handler that is not async needs psycopg for a transaction on PostgreSQL: install backstay[psycopg], "
            "or hand in a session of SQLAlchemy: ctx.transaction(session)"
        ) from error
    from backstay.stores.caller_transaction import psycopg_driver

    alive = {name.removeprefix("tcp_"): value for name, value in postgres.KEPT_ALIVE.items()}
    within = round(patience())
    connection = psycopg.connect(psycopg.conninfo.make_conninfo(url, connect_timeout=within, **alive))
    # It opens the transaction, and tells the server's side what was told to ours.
    with _answered(connection):
        connection.execute(
            "; ".join(f"SET LOCAL {name} = {value}" for name, value in postgres.KEPT_ALIVE.items())
        )
    return _OwnPsycopg(connection, psycopg_driver)


class _OwnPsycopg(GivenBlock):
    is_own = True

    def __init__(self, connection: Any, driver: Any) -> None:
        super().__init__(connection, driver.recognise(connection))

    async def begin(self) -> Session:
        return _Impatient(await super().begin())

    async def execute(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        cursor = self.connection.execute(sql, values or None)
        return list(cursor.fetchall()) if cursor.description else []

    async def commit(self) -> None:
        # Then the outcome is asked for on another connection.
        with _answered(self.connection):
            await super().commit()

    async def roll_back(self) -> None:
        with _answered(self.connection):
            await super().roll_back()

    async def close(self) -> None:
        self.connection.close()


class _Impatient:
    """Our statements on a blocking connection of our own: one that is not answered ends the connection."""

    engine = "postgresql"

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def driver(self) -> Any:
        return self._session.driver

    async def fetch(self, name: str, values: Mapping[str, Any]) -> Found:
        with _answered(self.driver):
            return await self._session.fetch(name, values)

    async def run(self, sql: str) -> Found:
        return await self._session.run(sql)

    def after_commit(self, announce: Announce) -> bool:
        return self._session.after_commit(announce)


@contextmanager
def _answered(connection: Any) -> Iterator[None]:
    """Hang up after this many seconds, which the blocked driver takes for the end of the connection."""
    watch = threading.Timer(patience(), _hang_up, (connection,))
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()
        # The number of its socket may belong to another one as soon as it is closed.
        watch.join()


def _hang_up(connection: Any) -> None:
    with suppress(OSError, *database_errors()), socket.socket(fileno=os.dup(connection.fileno())) as link:
        link.shutdown(socket.SHUT_RDWR)
