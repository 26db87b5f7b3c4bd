"""A third database, as somebody else might add one: the least that the stores ask for, on Python's own sqlite3.

It shares no code with the SQLite of Backstay but the spelling of SQL. One connection, one statement at a time, no
threads: good for nothing but showing that the seam holds.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from backstay.errors import FieldRefused, StoreConflict, StoreError
from backstay.stores.database.interface import Connection, Lane, Migration, Row, Values
from backstay.stores.database.sqlite import DIALECT

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class Ledger:
    """One database of the third sort; its tables are called ledger_jobs, ledger_workers, and so on."""

    def __init__(self, *, clock: Callable[[], datetime]) -> None:
        self.dialect = replace(DIALECT, tables="ledger_", _statements={})
        self.reconnections = 0
        self._clock = clock
        self._turn = asyncio.Lock()
        self._driver = sqlite3.connect(":memory:", isolation_level=None)
        self._driver.row_factory = sqlite3.Row
        self._driver.execute("PRAGMA foreign_keys = ON")

    def lane(self, purpose: str, *, size: int = 1) -> Lane:
        return LedgerLane(self)

    async def bootstrap(self) -> None:
        self._driver.executescript(self.dialect.statement("schema/bootstrap").sql)

    async def apply(self, migration: Migration) -> bool:
        noted = await self.lane("schema").fetch(
            "schema/note", number=migration.number, name=migration.name, checksum=migration.checksum
        )
        if noted:
            self._driver.executescript(migration.sql)
        return bool(noted)

    async def describe(self) -> list[str]:
        return [row["line"] for row in await self.lane("health").fetch("schema/describe")]

    async def close(self) -> None:
        self._driver.close()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        async with self._turn:
            self._driver.execute("BEGIN")
            try:
                yield LedgerConnection(self)
            except BaseException:
                self._driver.execute("ROLLBACK")
                raise
            self._driver.execute("COMMIT")

    def run(self, name: str, rows: Sequence[Values]) -> Sequence[Row]:
        """Run a query for every set of values; one that takes sets as `{each}` wants them as JSON."""
        statement = self.dialect.statement(name)
        found: list[Row] = []
        try:
            # What takes sets of values takes all of them at once: some statements are about the whole of them.
            sets = [rows] if statement.columns and rows else [[row] for row in rows]
            for together in sets:
                each = json.dumps([[stored(row[column]) for column in statement.columns] for row in together])
                given = {**together[0], "clock": self._clock(), "rows": each}
                bound = {value: stored(given[value]) for value in statement.values}
                found += [dict(record) for record in self._driver.execute(statement.sql, bound).fetchall()]
        except sqlite3.IntegrityError as error:
            if str(error).startswith("promoted field "):
                _, _, field, problem = str(error).split(" ", 3)
                raise FieldRefused(field, problem) from error
            raise (StoreConflict if "UNIQUE" in str(error) else StoreError)(f"refused: {error}") from error
        except sqlite3.Error as error:
            raise StoreError(f"refused: {error}") from error
        return found


class LedgerConnection:
    """Queries inside an open transaction."""

    def __init__(self, database: Ledger) -> None:
        self._database = database

    async def fetch(self, name: str, /, **values: Any) -> Sequence[Row]:
        return self._database.run(name, [values])

    async def fetch_each(self, name: str, rows: Sequence[Values], /, **same: Any) -> Sequence[Row]:
        return self._database.run(name, [{**same, **row} for row in rows])


class LedgerLane:
    """Queries that are transactions of their own."""

    def __init__(self, database: Ledger) -> None:
        self._database = database

    async def fetch(self, name: str, /, **values: Any) -> Sequence[Row]:
        return await self.fetch_each(name, [values])

    async def fetch_each(self, name: str, rows: Sequence[Values], /, **same: Any) -> Sequence[Row]:
        async with self._database.transaction() as connection:
            return await connection.fetch_each(name, rows, **same)

    def transaction(self) -> Any:
        return self._database.transaction()


def stored(value: Any) -> Any:
    """A Python value as this database keeps it."""
    match value:
        case UUID():
            return str(value)
        case timedelta():
            return value // MICROSECOND
        case datetime():
            return (value - EPOCH) // MICROSECOND
        case date():
            return value.isoformat()
        case list() | tuple():
            return json.dumps([stored(item) for item in value])
        case _:
            return value
