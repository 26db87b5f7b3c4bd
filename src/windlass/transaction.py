"""The transaction in which a handler ends its job: what it writes and that it is done become true together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from windlass import codec
from windlass.errors import SyncOnLoop

if TYPE_CHECKING:
    from windlass.desk import Desk

T = TypeVar("T")


class Ending(Protocol):
    """A transaction that completes one job; of a blocking one, the coroutines never wait."""

    @property
    def home(self) -> str:
        """The database it is in."""
        ...

    @property
    def joined(self) -> object:
        """What jobs that are enqueued inside are stored through."""
        ...

    @property
    def connection(self) -> Any:
        """What the handler writes through."""
        ...

    async def begin(self) -> None:
        """Open it; raises InvalidSettings or WrongDatabase for what cannot be used."""
        ...

    async def execute(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        """Run a statement of the handler's in it."""
        ...

    async def finish(self, result: str | None) -> None:
        """Complete the job and commit; raises ClaimLost, and then nothing is written."""
        ...

    async def abandon(self) -> None:
        """Undo everything."""
        ...


class OpenTransaction:
    """The transaction that the code here is part of, so that what it enqueues can join."""

    __slots__ = ("home", "is_open", "joined")

    def __init__(self, home: str, joined: object) -> None:
        self.home, self.joined, self.is_open = home, joined, True


_open: ContextVar[OpenTransaction | None] = ContextVar("windlass_transaction", default=None)


def joined_here(home: str) -> object | None:
    """What to enqueue through, where a handler's transaction is open on this database; else None."""
    own = _open.get()
    # A task that was started inside may live longer than the transaction.
    return own.joined if own is not None and own.is_open and own.home == home else None


def is_open_here() -> bool:
    """Tell whether a handler's transaction is open here, on whichever database."""
    own = _open.get()
    return own is not None and own.is_open


class Transaction:
    """What `async with ctx.transaction() as tx` gives."""

    def __init__(self, ending: Ending, *, result_limit: int) -> None:
        self._ending, self._limit = ending, result_limit
        self._result: str | None = None

    @property
    def connection(self) -> Any:
        """What was handed in, or else the connection of asyncpg; None on SQLite, where `execute` is the way."""
        return self._ending.connection

    async def execute(self, sql: str, *values: Any) -> list[Any]:
        """Run a statement and return its rows; values are `$1` on PostgreSQL and `?` on SQLite."""
        return await self._ending.execute(sql, values)

    def result(self, value: object) -> None:
        """Set the job's result; raises InvalidPayload for what JSON cannot hold."""
        self._result = _encoded(value, self._limit)


class SyncTransaction:
    """What `with ctx.transaction() as tx` gives, in a handler that is not async."""

    def __init__(self, ending: Ending, *, result_limit: int) -> None:
        self._ending, self._limit = ending, result_limit
        self._result: str | None = None

    @property
    def connection(self) -> Any:
        """What was handed in, or else the connection of psycopg; None on SQLite, where `execute` is the way."""
        return self._ending.connection

    def execute(self, sql: str, *values: Any) -> list[Any]:
        """Run a statement and return its rows; values are `%s` on PostgreSQL and `?` on SQLite."""
        return finished(self._ending.execute(sql, values))

    def result(self, value: object) -> None:
        """Set the job's result; raises InvalidPayload for what JSON cannot hold."""
        self._result = _encoded(value, self._limit)


class Transacting:
    """Opens the transaction where it is entered, and completes the job where it is left without an error."""

    def __init__(self, desk: Desk, given: object) -> None:
        self._desk, self._given = desk, given
        self._tx: Transaction | SyncTransaction | None = None
        self._here: OpenTransaction | None = None
        self._token: Token[OpenTransaction | None] | None = None

    async def __aenter__(self) -> Transaction:
        self._ending = self._desk.transact(self._given, is_sync=False)
        try:
            await self._ending.begin()
        except BaseException:
            self._desk.transaction_is_over()
            raise
        self._enter()
        self._tx = Transaction(self._ending, result_limit=self._desk.result_limit)
        return self._tx

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave()
        await to_the_end(self._end(error))

    def __enter__(self) -> SyncTransaction:
        if asyncio._get_running_loop() is not None:
            raise SyncOnLoop("'with ctx.transaction()'")
        self._ending = self._desk.transact(self._given, is_sync=True)
        try:
            finished(self._ending.begin())
        except BaseException:
            self._desk.transaction_is_over()
            raise
        self._enter()
        self._tx = SyncTransaction(self._ending, result_limit=self._desk.result_limit)
        return self._tx

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave()
        finished(self._end(error))

    def _enter(self) -> None:
        self._here = OpenTransaction(self._ending.home, self._ending.joined)
        self._token = _open.set(self._here)

    def _leave(self) -> None:
        assert self._here is not None
        assert self._token is not None
        self._here.is_open = False
        _open.reset(self._token)

    async def _end(self, error: BaseException | None) -> None:
        assert self._tx is not None
        try:
            if error is not None:
                await self._ending.abandon()
            else:
                # Also where its process is told to end: what is committed must be known to be.
                with self._desk.undisturbed():
                    await self._ending.finish(self._tx._result)
                    self._desk.settled(self._tx._result)
        finally:
            self._desk.transaction_is_over()


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Do this whole, even where the task is cancelled meanwhile; the cancellation is raised afterwards."""
    task = asyncio.ensure_future(work)
    interruption: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            interruption = error
    if interruption is not None and task.exception() is None:
        raise interruption
    return task.result()


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits, because everything it awaits blocks instead."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise AssertionError("a blocking driver was awaited")


def _encoded(value: object, limit: int) -> str | None:
    return None if value is None else codec.encode(value, limit_bytes=limit, what="result")
