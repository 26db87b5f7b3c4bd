"""Transactions of SQLAlchemy 2: connections and sessions, blocking or not, on PostgreSQL and SQLite."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from backstay.errors import InvalidSettings, WrongDatabase
from backstay.stores.caller_transaction.sessions import Announce, Found, Opener, autocommit_error
from backstay.stores.caller_transaction.sqlite3_driver import way_to_begin
from backstay.stores.database.postgres import joined_dialect
from backstay.stores.database.queries import Dialect
from backstay.stores.database.sqlite import DIALECT

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection
    from sqlalchemy.orm import Session as OrmSession

T = TypeVar("T")

ENGINES = ("postgresql", "sqlite")


def recognise(transaction: object) -> Opener | None:
    """The way in, if this is one of SQLAlchemy's."""
    if "sqlalchemy.orm" in sys.modules:
        from sqlalchemy.orm import Session, scoped_session

        if isinstance(transaction, scoped_session):
            transaction = transaction()
        if isinstance(transaction, Session):
            return Opener(is_sync=True, open=_session_opening(transaction))
    if "sqlalchemy.ext.asyncio" in sys.modules:
        from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session

        if isinstance(transaction, async_scoped_session):
            transaction = transaction()
        if isinstance(transaction, AsyncSession):
            return Opener(is_sync=False, open=_async_session_opening(transaction))
        if isinstance(transaction, AsyncConnection):
            return Opener(is_sync=False, open=_async_opening(transaction))
    if "sqlalchemy" in sys.modules:
        from sqlalchemy import Connection

        if isinstance(transaction, Connection):
            return Opener(is_sync=True, open=_opening(transaction))
    return None


def _opening(connection: Connection, session: OrmSession | None = None) -> Callable[[], Any]:
    async def opened() -> SqlalchemySession:
        return _begun(connection, session)

    return opened


def _session_opening(session: OrmSession) -> Callable[[], Any]:
    async def opened() -> SqlalchemySession:
        return _begun(session.connection(), session)

    return opened


def _async_opening(connection: AsyncConnection, session: OrmSession | None = None) -> Callable[[], Any]:
    async def opened() -> AsyncSqlalchemySession:
        blocking = await connection.run_sync(lambda same: _begun(same, session))
        return AsyncSqlalchemySession(connection, blocking)

    return opened


def _async_session_opening(session: Any) -> Callable[[], Any]:
    async def opened() -> AsyncSqlalchemySession:
        connection = await session.connection()
        found: AsyncSqlalchemySession = await _async_opening(connection, session.sync_session)()
        return found

    return opened


def _begun(connection: Connection, session: OrmSession | None) -> SqlalchemySession:
    engine = connection.dialect.name
    if engine not in ENGINES:
        raise WrongDatabase(f"the transaction is on {engine}: jobs are stored on PostgreSQL or SQLite")
    raw = connection.connection
    if engine == "sqlite":
        _begin_sqlite(connection, raw.dbapi_connection)
    elif getattr(raw.dbapi_connection, "autocommit", False) is True:
        raise _autocommit()
    return SqlalchemySession(connection, raw.driver_connection, engine, session)


def _begin_sqlite(connection: Connection, driver: Any) -> None:
    """See to it that a transaction is open: sqlite3 opens none before the first INSERT it can recognise."""
    if _in_transaction(driver):
        return
    how = way_to_begin(driver)
    if how is None:
        raise _autocommit()
    connection.exec_driver_sql(how)


def _in_transaction(driver: Any) -> bool:
    below = getattr(driver, "driver_connection", driver)
    return bool(below.in_transaction)


def _autocommit() -> InvalidSettings:
    return autocommit_error(
        "this SQLAlchemy connection is in AUTOCOMMIT", "use a connection with an ordinary isolation level"
    )


@dataclass(frozen=True)
class SqlalchemySession:
    """Statements on a blocking connection of SQLAlchemy."""

    connection: Connection
    driver: Any
    engine: str
    session: OrmSession | None

    async def fetch(self, name: str, values: Mapping[str, Any]) -> Found:
        return self.rows_of(name, values)

    async def run(self, sql: str) -> Found:
        return self.rows(sql)

    def after_commit(self, announce: Announce) -> bool:
        """Only sessions say when they have committed; a session on somebody's connection does not commit itself."""
        from sqlalchemy import Connection

        if self.session is None or isinstance(self.session.get_bind(), Connection):
            return False
        _listeners.setdefault(self.session, _Listener(self.session)).waiting.append(announce)
        return True

    def rows_of(self, name: str, values: Mapping[str, Any]) -> Found:
        """The rows of a named query."""
        if self.engine == "sqlite":
            result = self.connection.exec_driver_sql(DIALECT.statement(name).sql, dict(values))
        else:
            from sqlalchemy import text

            result = self.connection.execute(text(_named().statement(name).sql), dict(values))
        return _as_dicts(result)

    def rows(self, sql: str) -> Found:
        """The rows of a statement, if it has any."""
        return _as_dicts(self.connection.exec_driver_sql(sql))


def _as_dicts(result: Any) -> Found:
    return [dict(row) for row in result.mappings()] if result.returns_rows else []


@dataclass(frozen=True)
class AsyncSqlalchemySession:
    """The same on a connection that is awaited."""

    connection: AsyncConnection
    blocking: SqlalchemySession

    @property
    def engine(self) -> str:
        return self.blocking.engine

    @property
    def driver(self) -> object:
        return self.blocking.driver

    async def fetch(self, name: str, values: Mapping[str, Any]) -> Found:
        return await self.connection.run_sync(lambda _: self.blocking.rows_of(name, values))

    async def run(self, sql: str) -> Found:
        return await self.connection.run_sync(lambda _: self.blocking.rows(sql))

    def after_commit(self, announce: Announce) -> bool:
        return self.blocking.after_commit(announce)


class _Listener:
    """Passes on what waits for the commit of one session."""

    def __init__(self, session: OrmSession) -> None:
        from sqlalchemy import event

        self.waiting: list[Announce] = []
        event.listen(session, "after_commit", self._committed)
        event.listen(session, "after_rollback", self._rolled_back)

    def _committed(self, session: OrmSession) -> None:
        # A savepoint that is released counts as a commit here, but nobody else sees its rows yet.
        if session.in_nested_transaction():
            return
        waiting, self.waiting = self.waiting, []
        for announce in waiting:
            announce()

    def _rolled_back(self, session: OrmSession) -> None:
        if not session.in_nested_transaction():
            self.waiting = []


_listeners: WeakKeyDictionary[OrmSession, _Listener] = WeakKeyDictionary()


@cache
def _named() -> Dialect:
    """Statements with their values by name, which SQLAlchemy renders for whichever driver it has."""
    plain = joined_dialect()
    return Dialect(plain.name, plain.tables, plain.macros, numbered=False, wall_clock=plain.wall_clock)
