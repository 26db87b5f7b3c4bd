"""A database server for simulations: real SQLite without threads, behind a wire that delays, cuts and forgets."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from functools import cache
from typing import Any

from backstay.errors import StoreBusy, StoreUnavailable
from backstay.stores.database import sqlite
from backstay.stores.database.interface import Migration, Row, Values
from backstay.stores.database.migrate import migrations
from backstay.stores.database.queries import Dialect, Statement
from simulation.virtual_loop import Process, Strand, VirtualLoop, context_of

BUSY_SECONDS = 5.0
IDLE_SECONDS = 4.0
"""How long a frozen client may keep a transaction open."""

Work = Callable[[], list[Row]]


class Fault(Enum):
    """What the wire does to one request."""

    NOT_SENT = "not sent"
    CUT_BEFORE = "cut before the database had it"
    LOST_REPLY = "reply lost"
    LATE = "reply lost, carried out later"


@dataclass(eq=False)
class Request:
    """One statement, or the beginning of a transaction, that has reached the server."""

    process: Process
    perform: Callable[[], Any]
    reply: asyncio.Future[Any]
    opens: Transaction | None = None
    patience: asyncio.TimerHandle | None = None

    def answer(self, result: Any) -> None:
        """Tell the client, if it still waits."""
        if not self.reply.done():
            self.reply.set_result(result)

    def refuse(self, error: Exception) -> None:
        """Tell the client what went wrong."""
        if not self.reply.done():
            self.reply.set_exception(error)


@dataclass(eq=False)
class Wire:
    """What can go wrong between clients and server; the nemesis turns these, a seed decides the rest."""

    delay: Callable[[], float]
    fault: Callable[[Process, str], Fault | None]
    is_cut: Callable[[Process], bool]


class Server:
    """One SQLite connection and a queue in front of it: one transaction at a time, as on a file with one writer."""

    def __init__(self, loop: VirtualLoop, wire: Wire, start: datetime, dialect: Dialect) -> None:
        self.loop, self.wire, self._start, self.dialect = loop, wire, start, dialect
        self.strand = Strand("server", Process("server"))
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.row_factory = sqlite3.Row
        self.connection.execute("PRAGMA foreign_keys = ON")
        self.clock_skew = 0.0
        self.started_at = -3600.0
        self.is_down = False
        self.stalled_at = -1.0
        """When it was last freed from a transaction of a process that stands still."""
        self.committed: Callable[[Process, str], None] = lambda process, name: None
        self._queue: deque[Request] = deque()
        self._open: Transaction | None = None

    def now(self) -> datetime:
        """The database's time, which may jump."""
        return self._start + timedelta(seconds=self.loop.time() + self.clock_skew)

    def run(self, statement: Statement, rows: Sequence[Values], same: Values) -> list[Row]:
        """Carry a statement out, inside whatever transaction is open."""
        known = {name: sqlite.adapt(value) for name, value in same.items()}
        known["clock"] = sqlite.adapt(self.now())
        known["started"] = sqlite.adapt(self._start + timedelta(seconds=self.started_at))
        found: list[Row] = []
        for bound in sqlite.bindings(statement, rows, known):
            found.extend(dict(record) for record in self.connection.execute(statement.sql, bound))
        return found

    @contextmanager
    def transaction(self, process: Process, name: str) -> Iterator[None]:
        """Everything or nothing, at one moment."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")
        self.committed(process, name)

    def submit(self, request: Request) -> None:
        """Take a request; it is carried out when those before it are done, whatever becomes of its sender."""
        self._queue.append(request)
        self._serve()
        if request in self._queue:
            request.patience = self.loop.call_later(
                BUSY_SECONDS, self._lose_patience, request, context=context_of(self.strand)
            )

    def release(self, transaction: Transaction) -> None:
        """A transaction is over."""
        if self._open is transaction:
            self._open = None
            self._serve()

    def hang_up(self, process: Process) -> None:
        """A process is gone, and its transaction with it."""
        if self._open is not None and self._open.process is process:
            self._open.abort()

    def freeze(self, process: Process) -> None:
        """A process stands still; what it had locked is freed after a while."""
        if self._open is not None and self._open.process is process:
            self.loop.call_later(IDLE_SECONDS, self._break_off, self._open, context=context_of(self.strand))

    def _break_off(self, transaction: Transaction) -> None:
        if self._open is transaction:
            self.stalled_at = self.loop.time()
        transaction.abort()

    def go_down(self) -> None:
        """Drop every connection."""
        self.is_down = True
        if self._open is not None:
            self._open.abort()
        while self._queue:
            self._queue.popleft().refuse(StoreUnavailable("the database was shut down"))

    def come_up(self, *, restarted: bool) -> None:
        """Accept connections again."""
        self.is_down = False
        if restarted:
            self.started_at = self.loop.time() + self.clock_skew

    def _serve(self) -> None:
        while self._queue and self._open is None:
            request = self._queue.popleft()
            if request.patience is not None:
                request.patience.cancel()
            if request.opens is not None and (request.opens.is_given_up or not request.process.is_alive):
                continue
            try:
                result = request.perform()
            except sqlite3.Error as error:
                request.refuse(sqlite.translate(error))
            else:
                request.answer(result)

    def begin(self, transaction: Transaction) -> None:
        """Open a transaction; the queue waits until it is released."""
        self.connection.execute("BEGIN IMMEDIATE")
        self._open = transaction
        if transaction.process.is_paused:
            self.freeze(transaction.process)

    def _lose_patience(self, request: Request) -> None:
        if request in self._queue:
            self._queue.remove(request)
            request.refuse(StoreBusy(f"another transaction was open for more than {BUSY_SECONDS:g} s"))


@dataclass(eq=False)
class InlineDatabase:
    """The server as one process sees it."""

    server: Server
    process: Process
    reconnections: int = 0
    is_lost: bool = field(default=False, init=False)

    @property
    def dialect(self) -> Dialect:
        return self.server.dialect

    def lane(self, purpose: str, *, size: int = 1) -> InlineLane:
        return InlineLane(self)

    async def bootstrap(self) -> None:
        """The server makes its tables itself."""

    async def apply(self, migration: Migration) -> bool:
        return False

    async def describe(self) -> list[str]:
        return []

    async def close(self) -> None:
        """There is nothing to close."""

    async def send(self, request: Request, fault: Fault | None) -> Any:
        """Let a request travel, be carried out, and its reply travel back."""
        await self.travel(fault)
        if fault is Fault.LATE:
            pause = 0.1 + self.server.wire.delay() * 20
            context = context_of(self.server.strand)
            self.server.loop.call_later(pause, self.server.submit, request, context=context)
            raise self.lost("no answer came in time")
        self.server.submit(request)
        try:
            result = await request.reply
        except StoreUnavailable:
            self.is_lost = True
            raise
        await asyncio.sleep(self.server.wire.delay())
        if fault is Fault.LOST_REPLY:
            raise self.lost("the connection was cut before the reply")
        return result

    async def travel(self, fault: Fault | None) -> None:
        """Reach the server, or not."""
        await asyncio.sleep(self.server.wire.delay())
        if self.server.is_down or self.server.wire.is_cut(self.process):
            raise self.lost("the database cannot be reached", was_sent=False)
        if fault is Fault.NOT_SENT:
            raise self.lost("the connection was cut", was_sent=False)
        if fault is Fault.CUT_BEFORE:
            raise self.lost("the connection was cut", was_sent=True)
        if self.is_lost:
            self.is_lost = False
            self.reconnections += 1

    def lost(self, message: str, *, was_sent: bool = True) -> StoreUnavailable:
        """The connection is gone; the next use opens another."""
        self.is_lost = True
        return StoreUnavailable(message, was_sent=was_sent)

    def request(self, perform: Callable[[], Any], opens: Transaction | None = None) -> Request:
        return Request(self.process, perform, self.server.loop.create_future(), opens)


@dataclass(frozen=True)
class InlineLane:
    """Queries of one process, each in a transaction of its own."""

    database: InlineDatabase

    async def fetch(self, name: str, /, **values: Any) -> Sequence[Row]:
        return await self.fetch_each(name, [values])

    async def fetch_each(self, name: str, rows: Sequence[Values], /, **same: Any) -> Sequence[Row]:
        if not rows:
            return []
        database = self.database
        server, statement = database.server, database.dialect.statement(name)

        def perform() -> list[Row]:
            with server.transaction(database.process, name):
                return server.run(statement, rows, same)

        fault = server.wire.fault(database.process, name)
        return await database.send(database.request(perform), fault)

    def transaction(self) -> Transaction:
        return Transaction(self.database)


class Transaction:
    """Several queries together; whoever else comes has to wait."""

    def __init__(self, database: InlineDatabase) -> None:
        self.database, self.process, self._server = database, database.process, database.server
        self._is_open = False
        self.is_given_up = False
        self._names: list[str] = []

    async def __aenter__(self) -> Transaction:
        request = self.database.request(self._begin, opens=self)
        try:
            await self.database.send(request, self._server.wire.fault(self.process, "begin"))
        except BaseException:
            self.abort()
            raise
        return self

    async def fetch(self, name: str, /, **values: Any) -> Sequence[Row]:
        return await self.fetch_each(name, [values])

    async def fetch_each(self, name: str, rows: Sequence[Values], /, **same: Any) -> Sequence[Row]:
        if not rows:
            return []
        await self._reach(self._server.wire.fault(self.process, name))
        self._names.append(name)
        try:
            found = self._server.run(self.database.dialect.statement(name), rows, same)
        except sqlite3.Error as error:
            raise sqlite.translate(error) from error
        await asyncio.sleep(self._server.wire.delay())
        return found

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None:
            self.abort()
            return
        fault = self._server.wire.fault(self.process, "commit")
        await self._reach(None if fault in (Fault.LOST_REPLY, Fault.LATE) else fault)
        self._server.connection.execute("COMMIT")
        self._is_open = False
        self._server.committed(self.process, "+".join(self._names))
        self._server.release(self)
        await asyncio.sleep(self._server.wire.delay())
        if fault in (Fault.LOST_REPLY, Fault.LATE):
            raise self.database.lost("the connection was cut before the reply to the commit")

    def abort(self) -> None:
        """Undo everything, whoever asks: the client, or the server that gave it up."""
        self.is_given_up = True
        if self._is_open:
            self._is_open = False
            self._server.connection.execute("ROLLBACK")
            self._server.release(self)

    def _begin(self) -> None:
        self._server.begin(self)
        self._is_open = True

    async def _reach(self, fault: Fault | None) -> None:
        try:
            await self.database.travel(fault)
        except BaseException:
            self.abort()
            raise
        if not self._is_open:
            raise self.database.lost("the database ended the transaction")


def dialect_of(mutate: Callable[[Dialect], None] | None = None) -> Dialect:
    """SQLite's own words, with a start of the database that can be told, and maybe a planted mistake."""
    dialect = _sound_dialect()
    if mutate is not None:
        dialect = replace(dialect, _statements={})
        mutate(dialect)
    return dialect


@cache
def _sound_dialect() -> Dialect:
    macros = {**sqlite.DIALECT.macros, "started": lambda _: ":started"}
    return replace(sqlite.DIALECT, macros=macros, _statements={})


def filled(connection: sqlite3.Connection) -> None:
    """Make the tables, as they are after every migration."""
    _template().backup(connection)


@cache
def _template() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    dialect = sqlite.DIALECT
    scripts = [dialect.statement("schema/bootstrap").sql]
    for migration in migrations(dialect):
        note = dialect.statement("schema/note")
        values = {
            "clock": 0,
            "number": migration.number,
            "name": migration.name,
            "checksum": migration.checksum,
        }
        for script in scripts:
            connection.executescript(script)
        connection.execute(note.sql, {name: values[name] for name in note.values}).fetchall()
        scripts = [migration.sql]
    for script in scripts:
        connection.executescript(script)
    return connection
