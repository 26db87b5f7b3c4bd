"""Transactions on asyncpg's connections, also on those that a pool lends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import asyncpg

from backstay.stores.caller_transaction.sessions import Announce, Found, Opener, autocommit_error
from backstay.stores.database.postgres import joined_dialect
from backstay.stores.database.queries import Dialect


def recognise(transaction: object) -> Opener | None:
    """The way in, if this is one of asyncpg's."""
    if not isinstance(transaction, asyncpg.Connection | asyncpg.pool.PoolConnectionProxy):
        return None

    async def opened() -> AsyncpgSession:
        return _opened(transaction)

    return Opener(is_sync=False, open=opened)


@dataclass(frozen=True)
class AsyncpgSession:
    """Statements on a connection of asyncpg."""

    connection: Any
    driver: object
    engine: str = "postgresql"

    async def fetch(self, name: str, values: Mapping[str, Any]) -> Found:
        statement = _numbered().statement(name)
        found: Found = await self.connection.fetch(
            statement.sql, *[values[value] for value in statement.values]
        )
        return found

    async def run(self, sql: str) -> Found:
        found: Found = await self.connection.fetch(sql)
        return found

    def after_commit(self, announce: Announce) -> bool:
        return False


def _opened(connection: Any) -> AsyncpgSession:
    if not connection.is_in_transaction():
        raise autocommit_error(
            "no transaction is open on this asyncpg connection",
            "enqueue inside 'async with connection.transaction():'",
        )
    # A pool lends the same connection through ever new proxies.
    return AsyncpgSession(connection, getattr(connection, "_con", connection))


@cache
def _numbered() -> Dialect:
    return joined_dialect()
