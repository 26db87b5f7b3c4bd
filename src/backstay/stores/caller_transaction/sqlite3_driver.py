"""Transactions on plain connections of the standard library's sqlite3."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backstay.stores.caller_transaction.sessions import Announce, Found, Opener, autocommit_error
from backstay.stores.database.sqlite import DIALECT


def recognise(transaction: object) -> Opener | None:
    """The way in, if this is one of sqlite3's."""
    if isinstance(transaction, sqlite3.Cursor):
        transaction = transaction.connection
    if not isinstance(transaction, sqlite3.Connection):
        return None
    connection = transaction

    async def opened() -> Sqlite3Session:
        return _opened(connection)

    return Opener(is_sync=True, open=opened)


@dataclass(frozen=True)
class Sqlite3Session:
    """Statements on a connection of sqlite3."""

    driver: sqlite3.Connection
    engine: str = "sqlite"

    async def fetch(self, name: str, values: Mapping[str, Any]) -> Found:
        return self._rows(DIALECT.statement(name).sql, values)

    async def run(self, sql: str) -> Found:
        return self._rows(sql, {})

    def after_commit(self, announce: Announce) -> bool:
        return False

    def _rows(self, sql: str, values: Mapping[str, Any]) -> Found:
        # A cursor of our own, because the caller's rows may be anything.
        cursor = sqlite3.Cursor(self.driver)
        cursor.row_factory = None
        found = cursor.execute(sql, values).fetchall()
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found]


def _opened(connection: sqlite3.Connection) -> Sqlite3Session:
    if not connection.in_transaction:
        how = way_to_begin(connection)
        if how is None:
            raise autocommit_error(
                "this sqlite3 connection is in autocommit and no transaction is open on it",
                "begin one with BEGIN first",
            )
        connection.execute(how)
    return Sqlite3Session(connection)


def way_to_begin(connection: Any) -> str | None:
    """How the driver itself would open a transaction before the next INSERT; None where it would not."""
    # Only the first word of a statement tells the driver that it is one that needs a transaction.
    if connection.isolation_level is None or getattr(connection, "autocommit", None) is True:
        return None
    return f"BEGIN {connection.isolation_level}"
