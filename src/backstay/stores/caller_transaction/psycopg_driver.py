"""Transactions on connections and cursors of psycopg 3, blocking or not."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from backstay.stores.caller_transaction.sessions import Announce, Found, Opener, autocommit_error
from backstay.stores.database.postgres import joined_dialect

if TYPE_CHECKING:
    import psycopg


def recognise(transaction: object) -> Opener | None:
    """The way in, if this is one of psycopg's."""
    if "psycopg" not in sys.modules:
        return None
    import psycopg

    if isinstance(transaction, psycopg.Cursor | psycopg.AsyncCursor):
        transaction = transaction.connection
    if isinstance(transaction, psycopg.Connection):
        return Opener(is_sync=True, open=_Opening(transaction))
    if isinstance(transaction, psycopg.AsyncConnection):
        return Opener(is_sync=False, open=_Opening(transaction))
    return None


@dataclass(frozen=True)
class _Opening:
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]

    async def __call__(self) -> PsycopgSession | AsyncPsycopgSession:
        import psycopg

        idle = self.connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        # Without autocommit our statement opens the transaction, as any statement of the caller's would.
        if idle and self.connection.autocommit:
            raise autocommit_error(
                "this psycopg connection is in autocommit and no transaction is open on it",
                "enqueue inside 'with connection.transaction():'",
            )
        if isinstance(self.connection, psycopg.AsyncConnection):
            return AsyncPsycopgSession(self.connection)
        return PsycopgSession(self.connection)


@dataclass(frozen=True)
class PsycopgSession:
    """Statements on a blocking connection."""

    driver: psycopg.Connection[Any]
    engine: str = "postgresql"

    async def fetch(self, name: str, values: Mapping[str, Any]) -> Found:
        return self._rows(pyformat(name), values)

    async def run(self, sql: str) -> Found:
        return self._rows(sql, None)

    def after_commit(self, announce: Announce) -> bool:
        return False

    def _rows(self, sql: str, values: Mapping[str, Any] | None) -> Found:
        import psycopg
        from psycopg.rows import dict_row

        # Not the connection's own kind of cursor, which may want another style of values or return other rows.
        with psycopg.Cursor(self.driver, row_factory=dict_row) as cursor:
            cursor.execute(sql.encode(), values)
            return cursor.fetchall() if cursor.description else []


@dataclass(frozen=True)
class AsyncPsycopgSession:
    """Statements on a connection that is awaited."""

    driver: psycopg.AsyncConnection[Any]
    engine: str = "postgresql"

    async def fetch(self, name: str, values: Mapping[str, Any]) -> Found:
        return await self._rows(pyformat(name), values)

    async def run(self, sql: str) -> Found:
        return await self._rows(sql, None)

    def after_commit(self, announce: Announce) -> bool:
        return False

    async def _rows(self, sql: str, values: Mapping[str, Any] | None) -> Found:
        import psycopg
        from psycopg.rows import dict_row

        async with psycopg.AsyncCursor(self.driver, row_factory=dict_row) as cursor:
            await cursor.execute(sql.encode(), values)
            return await cursor.fetchall() if cursor.description else []


@cache
def pyformat(name: str) -> str:
    """A named query of PostgreSQL with its values written as Python's database drivers expect them."""
    numbered = joined_dialect().statement(name)
    sql = numbered.sql.replace("%", "%%")
    for number, value in enumerate(numbered.values, start=1):
        sql = re.sub(rf"\${number}\b", f"%({value})s", sql)
    return sql
