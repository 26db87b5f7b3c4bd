"""SQLite: one writer and one reader connection per process and file, transactions, error translation."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from backstay.errors import (
    FieldRefused,
    MigrationFailed,
    SchemaMismatch,
    StoreBusy,
    StoreConflict,
    StoreError,
    StoreUnavailable,
)
from backstay.stores.database.interface import Columns, Connection, Lane, Migration, Row, Values
from backstay.stores.database.queries import Dialect, Statement, columns
from backstay.stores.database.sqlite_file import SqliteFile

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
MOST_AT_ONCE = 1000


def _each(body: str) -> str:
    # All sets of values at once, as JSON: a statement for each would take three times as long, and hand the
    # interpreter to another thread and back every time.
    taken = (f"json_extract(value, '$[{at}]') AS {name}" for at, (name, _) in enumerate(columns(body)))
    return "(SELECT " + ", ".join(taken) + " FROM json_each(:rows))"


def _any_of(body: str) -> str:
    column, value, _ = body.split()
    return f"{column} IN (SELECT value FROM json_each({value}))"


def _has_tag(body: str) -> str:
    column, value = body.split()
    return f"EXISTS (SELECT 1 FROM json_each({column}) AS tag WHERE tag.value = {value})"


# SQLite goes by parts of these names ("text", "int", "double"); the rest tells people and the doctor what is meant.
_COLUMNS = {"uuid": "uuid_text", "date": "date_text", "timestamp": "timestamp_int", "number": "double"}

_MACROS: Mapping[str, Callable[[str], str]] = {
    "clock": lambda _: ":clock",
    "now": lambda _: ":clock",
    "started": lambda _: "0",
    "each": _each,
    "lock": lambda _: "",
    "keep": lambda _: "",
    "skip_locked": lambda _: "",
    "skip_used": lambda _: "",
    "share": lambda _: "",
    "milliseconds": lambda body: f"(({body}) / 1000)",
    "microseconds": lambda body: body,
    "greatest": lambda _: "max",
    "least": lambda _: "min",
    "any_of": _any_of,
    "has_tag": _has_tag,
    "error_class": lambda body: f"json_extract({body}, '$.error_class')",
    "object": lambda body: f"json_object({body})",
    "word": lambda _: "text",
    "uuid": lambda _: "text",
    "json": lambda _: "text",
    "jsonb": lambda _: "text",
    "timestamp": lambda _: "integer",
    "interval": lambda _: "integer",
    "serial": lambda _: "integer PRIMARY KEY AUTOINCREMENT",
    "column": lambda body: _COLUMNS.get(body, body),
}

DIALECT = Dialect(
    "sqlite",
    "backstay_",
    _MACROS,
    numbered=False,
    wall_clock="CAST(strftime('%s', 'now') AS integer) * 1000000",
)


def translate(error: BaseException) -> StoreError:
    """The driver's error in our words; the caller raises it `from` the original."""
    text = str(error)
    if isinstance(error, StoreError):
        return error
    if text.startswith("promoted field "):
        field, _, problem = text.removeprefix("promoted field ").partition(" ")
        return FieldRefused(field, problem)
    if text.startswith("known place "):
        return SchemaMismatch.of_place(f"the {text.removeprefix('known place ')}")
    if "no such table" in text or "no such column" in text:
        return SchemaMismatch(f"the file lacks Backstay's tables ({text}): run 'backstay db migrate'")
    if "UNIQUE constraint" in text:
        return StoreConflict(f"SQLite refused a row that is there already: {text}")
    if "locked" in text or "busy" in text:
        return StoreBusy(f"another process kept the SQLite file locked: {text}")
    if "unable to open" in text or "disk" in text or "readonly" in text or "closed" in text:
        # These are refusals: SQLite has rolled back. After an error of the disk nobody knows.
        is_refused = "unable to open" in text or "is full" in text or "readonly" in text
        return StoreUnavailable(f"the SQLite file cannot be used: {text}", was_sent=not is_refused)
    return StoreError(f"SQLite refused a statement: {text}")


_PLAIN = frozenset({type(None), str, int, float, bool})


def adapt(value: Any) -> Any:
    """A Python value as SQLite keeps it: times and spans in microseconds, ids as text, lists as JSON."""
    if type(value) in _PLAIN:
        return value
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
            return json.dumps([adapt(item) for item in value])
        case str() | int() | float():
            return value
        case _:
            raise TypeError(f"cannot bind {type(value).__name__} to an SQLite statement")


class Sqlite:
    """One SQLite file (or `:memory:`), as seen from one event loop; loops of a process share its connections."""

    def __init__(self, file: SqliteFile, *, clock: Callable[[], datetime] | None = None) -> None:
        self.file = file
        self.dialect = DIALECT
        self.reconnections = 0
        self._clock = clock

    def lane(self, purpose: str, *, size: int = 1) -> Lane:
        return SqliteLane(self)

    async def bootstrap(self) -> None:
        script = split_script(self.dialect.statement("schema/bootstrap").sql)
        await self._done(self.file.write(lambda connection: _run_all(connection, script)))

    async def apply(self, migration: Migration) -> bool:
        name, values = migration.note
        note = _work(self.dialect.statement(name), [values], self.clock)

        def run(connection: sqlite3.Connection) -> bool:
            noted = note(connection)
            if noted:
                try:
                    _run_all(connection, split_script(migration.sql))
                except sqlite3.Error as error:
                    raise MigrationFailed(str(migration), str(error)) from error
            return bool(noted)

        return bool(await self._done(self.file.write(run)))

    async def describe(self) -> list[str]:
        return [row["line"] for row in await self.lane("health").fetch("schema/describe")]

    async def close(self) -> None:
        self.file.release()

    def clock(self) -> int:
        """The time of this host in microseconds: the clock of this database."""
        if self._clock is not None:
            return int(adapt(self._clock()))
        return time.time_ns() // 1000

    async def _done(self, future: Future[Any]) -> Any:
        # The work goes on in its thread whatever becomes of the waiting task, so nothing is ever half done.
        try:
            return await asyncio.shield(asyncio.wrap_future(future))
        except sqlite3.Error as error:
            raise translate(error) from error


class SqliteLane:
    """Queries on the shared connections: reads on the reader, writes on the writer, one transaction each."""

    def __init__(self, database: Sqlite) -> None:
        self._database = database

    async def fetch(self, name: str, /, **values: Any) -> Sequence[Row]:
        statement = self._database.dialect.statement(name)
        return await self._run(statement, [values])

    async def fetch_each(self, name: str, rows: Sequence[Values], /, **same: Any) -> Sequence[Row]:
        if not rows:
            return []
        return await self._run(self._database.dialect.statement(name), rows, same)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        file = self._database.file
        ticket = file.turnstile.enter()
        try:
            await asyncio.wrap_future(ticket)
        except asyncio.CancelledError:
            file.turnstile.leave(ticket)
            raise
        try:
            await self._begin()
            try:
                yield SqliteTransaction(self._database)
            except BaseException:
                await self._database._done(file.rollback())
                raise
            await self._database._done(file.commit())
        finally:
            file.turnstile.leave(ticket)

    async def _begin(self) -> None:
        opening = self._database.file.begin()
        try:
            await self._database._done(opening)
        except asyncio.CancelledError:
            # The thread opens it all the same, and nobody would ever close it.
            self._database.file.rollback()
            raise

    async def _run(
        self, statement: Statement, rows: Sequence[Values], same: Values | None = None
    ) -> Sequence[Row]:
        work = _work(statement, rows, self._database.clock, same)
        file = self._database.file
        future = file.read(work) if statement.is_read else file.write(work)
        result: list[Row] = await self._database._done(future)
        return result


class SqliteTransaction:
    """Queries on the writer while a transaction is open on it."""

    def __init__(self, database: Sqlite) -> None:
        self._database = database

    async def fetch(self, name: str, /, **values: Any) -> Sequence[Row]:
        return await self.fetch_each(name, [values])

    async def fetch_each(self, name: str, rows: Sequence[Values], /, **same: Any) -> Sequence[Row]:
        if not rows:
            return []
        work = _work(self._database.dialect.statement(name), rows, self._database.clock, same)
        result: list[Row] = await self._database._done(self._database.file.in_transaction(work))
        return result


def bindings(
    statement: Statement, rows: Sequence[Values], known: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """What to bind for one run of the statement after another: many sets of values at once where it takes them."""
    if not statement.columns:
        for row in rows:
            yield {name: known[name] if name in known else adapt(row[name]) for name in statement.values}
        return
    for first in range(0, len(rows), MOST_AT_ONCE):
        sets = _sets(statement, rows[first : first + MOST_AT_ONCE])
        given = {**known, "rows": msgspec.json.encode(sets).decode()}
        yield {name: given[name] for name in statement.values}


def _sets(statement: Statement, rows: Sequence[Values]) -> Sequence[Sequence[Any]]:
    if not isinstance(rows, Columns):
        return [[adapt(row[name]) for name in statement.columns] for row in rows]
    columns = ([adapt(value) for value in rows.columns[name]] for name in statement.columns)
    return list(zip(*columns, strict=True))


def _work(
    statement: Statement, rows: Sequence[Values], clock: Callable[[], int], same: Values | None = None
) -> Callable[[sqlite3.Connection], list[Row]]:
    known = {name: adapt(value) for name, value in (same or {}).items()}

    def run(connection: sqlite3.Connection) -> list[Row]:
        found: list[Row] = []
        for bound in bindings(statement, rows, {**known, "clock": clock()}):
            cursor = connection.execute(statement.sql, bound)
            if cursor.description is not None:
                # RETURNING rows must all be read, or the statement does not finish.
                cursor.row_factory = None
                names = [column[0] for column in cursor.description]
                found.extend(dict(zip(names, record, strict=True)) for record in cursor)
        return found

    return run


def _run_all(connection: sqlite3.Connection, script: Sequence[str]) -> None:
    for statement in script:
        connection.execute(statement)


def split_script(sql: str) -> list[str]:
    """The single statements of a script."""
    statements, current = [], ""
    for part in sql.split(";")[:-1]:
        current += f"{part};"
        if sqlite3.complete_statement(current):
            statements.append(current.strip())
            current = ""
    return [statement for statement in [*statements, (current + sql.rpartition(";")[2]).strip()] if statement]
