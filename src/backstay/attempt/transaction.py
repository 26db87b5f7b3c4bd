"""The transaction in which a handler ends its job: what it writes and that it is done become true together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from backstay.errors import AlreadySettled, Retry, Snooze, SyncOnLoop
from backstay.handlers import codec
from backstay.model.database_role import DatabaseRole
from backstay.model.outcome import Complete, Outcome
from backstay.model.settlement import Settlement
from backstay.model.text.durations import Duration

if TYPE_CHECKING:
    from backstay.attempt.backend import AttemptBackend

T = TypeVar("T")


class Ending(Protocol):
    """A transaction that ends one job; of a blocking one, the coroutines never wait."""

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

    async def finish(self, settlement: Settlement) -> None:
        """End the job in this way and commit; raises ClaimLost, and then nothing is written."""
        ...

    async def abandon(self) -> None:
        """Undo everything."""
        ...


class OpenTransaction:
    """The transaction that the code here is part of, so that what it enqueues can join."""

    __slots__ = ("home", "is_open", "joined")

    def __init__(self, home: str, joined: object) -> None:
        self.home, self.joined, self.is_open = home, joined, True


_open: ContextVar[OpenTransaction | None] = ContextVar("backstay_transaction", default=None)


def joined_here(home: str) -> object | None:
    """What to enqueue through, where a handler's transaction is open on this database; else None."""
    own = _open.get()
    # A task that was started inside may live longer than the transaction.
    return own.joined if own is not None and own.is_open and own.home == home else None


def is_open_here() -> bool:
    """Tell whether a handler's transaction is open here, on whichever database."""
    own = _open.get()
    return own is not None and own.is_open


class Verdict:
    """How the job is to end when its transaction is left: completed, unless something else was said, once."""

    def __init__(self, backend: AttemptBackend, job_id: object) -> None:
        self._backend, self._job_id = backend, job_id
        self._result: str | None = None
        self._said: Outcome | None = None

    @property
    def outcome(self) -> Outcome:
        """What was said."""
        return Complete(self._result) if self._said is None else self._said

    def result(self, value: object) -> None:
        """Completed, with this result."""
        self._refuse_second()
        limit = self._backend.result_limit
        self._result = None if value is None else codec.encode(value, limit_bytes=limit, what="result")

    def raised(self, error: Exception) -> None:
        """Whatever it would be had the handler raised this."""
        if not isinstance(error, Exception):
            raise TypeError(
                f"tx.fail takes an exception, not {type(error).__name__}: tx.fail(ValueError('…'))"
            )
        self._refuse_second()
        self._said = self._backend.outcome_of(error)

    def _refuse_second(self) -> None:
        if self._said is not None:
            raise AlreadySettled(
                self._job_id,
                "has its ending by this transaction: it can be said once, and has no result beside it",
            )


class Transaction:
    """What `async with ctx.transaction() as tx` gives."""

    def __init__(self, ending: Ending, verdict: Verdict) -> None:
        self._ending, self._verdict = ending, verdict

    @property
    def connection(self) -> Any:
        """What was handed in, or else the connection of asyncpg; None on SQLite, where `execute` is the way."""
        return self._ending.connection

    async def execute(self, sql: str, *values: Any) -> list[Any]:
        """Run a statement and return its rows; values are `$1` on PostgreSQL and `?` on SQLite."""
        return await self._ending.execute(sql, values)

    def result(self, value: object) -> None:
        """Set the job's result; raises InvalidPayload for what JSON cannot hold."""
        self._verdict.result(value)

    def fail(self, error: Exception) -> None:
        """Commit, and end the attempt as if the handler had raised this; raises AlreadySettled the second time."""
        self._verdict.raised(error)

    def retry(self, after: Duration | None = None, *, message: str = "retry asked for") -> None:
        """Commit, and run the job again at the cost of an attempt, after this long or by the policy's backoff."""
        self._verdict.raised(Retry(message, after=after))

    def snooze(self, delay: Duration) -> None:
        """Commit, and run the job again after this long, at no cost."""
        self._verdict.raised(Snooze(delay))


class SyncTransaction:
    """What `with ctx.transaction() as tx` gives, in a handler that is not async."""

    def __init__(self, ending: Ending, verdict: Verdict) -> None:
        self._ending, self._verdict = ending, verdict

    @property
    def connection(self) -> Any:
        """What was handed in, or else the connection of psycopg; None on SQLite, where `execute` is the way."""
        return self._ending.connection

    def execute(self, sql: str, *values: Any) -> list[Any]:
        """Run a statement and return its rows; values are `%s` on PostgreSQL and `?` on SQLite."""
        return finished(self._ending.execute(sql, values))

    def result(self, value: object) -> None:
        """Set the job's result; raises InvalidPayload for what JSON cannot hold."""
        self._verdict.result(value)

    def fail(self, error: Exception) -> None:
        """Commit, and end the attempt as if the handler had raised this; raises AlreadySettled the second time."""
        self._verdict.raised(error)

    def retry(self, after: Duration | None = None, *, message: str = "retry asked for") -> None:
        """Commit, and run the job again at the cost of an attempt, after this long or by the policy's backoff."""
        self._verdict.raised(Retry(message, after=after))

    def snooze(self, delay: Duration) -> None:
        """Commit, and run the job again after this long, at no cost."""
        self._verdict.raised(Snooze(delay))


class Transacting:
    """Opens the transaction where it is entered, and ends the job where it is left without an error."""

    def __init__(
        self, backend: AttemptBackend, given: object, job_id: object, role: DatabaseRole | None = None
    ) -> None:
        self._backend, self._given, self._role = backend, given, role
        self._verdict = Verdict(backend, job_id)
        self._here: OpenTransaction | None = None
        self._token: Token[OpenTransaction | None] | None = None

    async def __aenter__(self) -> Transaction:
        self._ending = self._backend.transact(self._given, is_sync=False, role=self._role)
        try:
            await self._ending.begin()
        except BaseException:
            self._backend.transaction_is_over()
            raise
        self._enter()
        return Transaction(self._ending, self._verdict)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave()
        await to_the_end(self._end(error))

    def __enter__(self) -> SyncTransaction:
        if asyncio._get_running_loop() is not None:
            raise SyncOnLoop("'with ctx.transaction()'")
        self._ending = self._backend.transact(self._given, is_sync=True, role=self._role)
        try:
            finished(self._ending.begin())
        except BaseException:
            self._backend.transaction_is_over()
            raise
        self._enter()
        return SyncTransaction(self._ending, self._verdict)

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
        try:
            if error is not None:
                await self._ending.abandon()
            else:
                # Also where its process is told to end: what is committed must be known to be.
                with self._backend.undisturbed():
                    outcome = self._verdict.outcome
                    await self._ending.finish(self._backend.decide(outcome))
                    self._backend.settled(outcome)
        finally:
            self._backend.transaction_is_over()


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
