"""Transactions of Django: `atomic` blocks, found without being handed in."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from backstay.stores.caller_transaction.psycopg_driver import pyformat
from backstay.stores.caller_transaction.sessions import Announce, Found, Opener, autocommit_error
from backstay.stores.caller_transaction.sqlite3_driver import Sqlite3Session

T = TypeVar("T")
Run = Callable[[Callable[[], Any]], Awaitable[Any]]


def is_in_use() -> bool:
    """Tell whether this program has Django's database layer loaded and configured."""
    if "django.db" not in sys.modules:
        return False
    from django.conf import settings

    return bool(settings.configured)


@dataclass(frozen=True)
class Block:
    """An open `atomic` block, and how to get into the thread where it is open."""

    connection: Any
    run: Run


def open_blocks() -> Iterator[DjangoSession]:
    """The `atomic` blocks that are open in this thread, on databases we can store jobs in."""
    from django.db import connections

    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block and connection.vendor in ("postgresql", "sqlite"):
            yield DjangoSession(connection)


def way_to_blocks() -> Run | None:
    """How coroutines reach the thread whose blocks they are part of; None where there can be none.

    Django's transactions block, so they are open in a thread that waits for this coroutine (`async_to_sync`), or
    right here, if the program insists on blocking its loop.
    """
    from asgiref.sync import AsyncToSync, sync_to_async

    if getattr(AsyncToSync.executors, "current", None) is not None:
        return lambda act: sync_to_async(act, thread_sensitive=True)()
    if next(open_blocks(), None) is not None:
        return _here
    return None


async def _here(act: Callable[[], T]) -> T:
    return act()


def recognise(transaction: object) -> Opener | None:
    """The way in, if this is a connection of Django's, as `django.db.connection` is."""
    if not is_in_use():
        return None
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.utils.connection import ConnectionProxy

    if isinstance(transaction, ConnectionProxy):
        transaction = transaction._connections[transaction._alias]
    if not isinstance(transaction, BaseDatabaseWrapper):
        return None
    connection = transaction

    async def opened() -> DjangoSession:
        if not connection.in_atomic_block:
            raise autocommit_error(
                f"no atomic block is open on Django's database {connection.alias!r}",
                "enqueue inside 'with transaction.atomic():'",
            )
        return DjangoSession(connection)

    return Opener(is_sync=True, open=opened)


@dataclass(frozen=True)
class DjangoSession:
    """Statements on a connection of Django's."""

    connection: Any

    @property
    def engine(self) -> str:
        return str(self.connection.vendor)

    @property
    def driver(self) -> object:
        return self.connection.connection

    async def fetch(self, name: str, values: Mapping[str, Any]) -> Found:
        if self.engine == "sqlite":
            return await self._sqlite().fetch(name, values)
        return self._rows(pyformat(name), values)

    async def run(self, sql: str) -> Found:
        if self.engine == "sqlite":
            return await Sqlite3Session(self.connection.connection).run(sql)
        return self._rows(sql, None)

    def after_commit(self, announce: Announce) -> bool:
        from django.db import transaction

        transaction.on_commit(announce, using=self.connection.alias, robust=True)
        return True

    def _sqlite(self) -> Sqlite3Session:
        # Django's own cursor knows values by place only; a block that failed is refused as it would refuse it.
        self.connection.validate_no_broken_transaction()
        return Sqlite3Session(self.connection.connection)

    def _rows(self, sql: str, values: Mapping[str, Any] | None) -> Found:
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
