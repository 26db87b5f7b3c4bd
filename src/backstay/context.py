"""What a handler can ask about the job it is running, and what it can do for it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar, Token
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar, cast, overload

from backstay.attempt.backend import AttemptBackend, NoBackend
from backstay.attempt.locks import Locking
from backstay.attempt.phases import Phase
from backstay.attempt.transaction import Transacting
from backstay.errors import BackstayError, Cancel, InvalidPayload, InvalidSignal, InvalidStep, SyncOnLoop
from backstay.handlers import codec
from backstay.model.database_role import DatabaseRole
from backstay.model.job import JobId, Progress
from backstay.model.text.durations import Duration
from backstay.model.text.error_facts import facts as kept_facts
from backstay.model.text.error_text import safe_text
from backstay.settings.job_logs import job_log

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

    from backstay.attempt.signal_waits import SignalWaits
    from backstay.attempt.steps import StepBook

P = ParamSpec("P")
R = TypeVar("R")

MAX_MESSAGE_BYTES = 1000
MAX_PARTIAL_BYTES = 65_536


class Context:
    """The running attempt, as its handler sees it."""

    __backstay_context__: ClassVar[bool] = True

    __slots__ = (
        "_backend",
        "_book",
        "_log",
        "_now",
        "_signal_waits",
        "attempt",
        "correlation_id",
        "created_by",
        "deadline",
        "home",
        "job_id",
        "kind",
        "lease_epoch",
        "max_attempts",
        "metadata",
        "queue",
        "run",
        "tags",
        "tenant",
        "timeout",
        "worker_id",
    )
    _book: StepBook
    _backend: AttemptBackend
    _log: BoundLogger
    _signal_waits: SignalWaits
    _now: datetime

    def __init__(
        self,
        *,
        job_id: JobId,
        kind: str,
        queue: str,
        attempt: int = 1,
        max_attempts: int = 1,
        run: int = 1,
        tenant: str = "",
        correlation_id: str | None = None,
        deadline: datetime | None = None,
        lease_epoch: int = 1,
        home: str | None = None,
        worker_id: str = "",
        created_by: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        timeout: timedelta = timedelta(hours=1),
        backend: AttemptBackend | None = None,
    ) -> None:
        self.job_id, self.kind, self.queue = job_id, kind, queue
        self.attempt, self.max_attempts, self.run = attempt, max_attempts, run
        self.tenant, self.correlation_id, self.deadline = tenant, correlation_id, deadline
        self.lease_epoch, self.home, self.worker_id = lease_epoch, home, worker_id
        self.created_by, self.tags, self.metadata = created_by, tuple(tags), dict(metadata or {})
        self.timeout = timeout
        self._backend = backend or NoBackend()

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this job: hand it to services that deduplicate requests."""
        return str(self.job_id)

    @property
    def time_left(self) -> timedelta:
        """How much is left of this run's time limit, never less than nothing; see also `deadline`, the whole job's."""
        return max(self.timeout - timedelta(seconds=self._backend.elapsed()), timedelta())

    @property
    def now(self) -> datetime:
        """The time to reckon with, the same however often it is asked in one run.

        It is the argument `reference_time` of the job if it has one, otherwise the time when it is first asked.
        """
        return self._now

    @property
    def log(self) -> BoundLogger:
        """A logger whose lines carry the job's id, kind, queue and attempt, and its tenant if it has one."""
        return self._log

    def is_cancelled(self) -> bool:
        """Whether somebody has asked this job to stop."""
        return False

    def check(self) -> None:
        """Raise Cancel if somebody has asked this job to stop; call it between parts of long work."""
        if self.is_cancelled():
            raise Cancel("stopped on request")

    def ensure_lease(self) -> None:
        """Raise ClaimLost unless this attempt still holds the job; call it before an effect that must not be doubled.

        It also raises, LeaseUncertain, when the lease could not be renewed for so long that it may be lost soon.
        """
        self._backend.ensure_lease()

    def progress(self, current: float, total: float | None = None, message: str | None = None) -> None:
        """Show how far the job has come; call it as often as you like.

        At most one value a second is written, and the last one always. Raises InvalidPayload for what is no count.
        """
        _check_progress_number("current", current, least=0)
        if total is not None:
            _check_progress_number("total", total, least=math.nextafter(0, 1))
        text = None if message is None else safe_text(str(message), max_bytes=MAX_MESSAGE_BYTES)
        self._backend.tell(Progress(current, total, text))

    def note(self, **facts: Any) -> None:
        """Remember facts that belong to the error, if this attempt fails: `ctx.note(page=7, provider="eu-2")`.

        They are kept in the job's error, its attempts and dead letters, and in events, without what looks like a
        secret; the newest of each name, 8 KiB in all. An exception may bring facts of its own, as its `details`.
        """
        self._backend.note(kept_facts(facts))

    def note_partial(self, result: object) -> None:
        """Remember what was reached so far, to be kept with the error if this attempt fails; the newest counts.

        Raises InvalidPayload for what JSON cannot hold, and for more than 64 KiB.
        """
        self._backend.note_partial(codec.encode(result, limit_bytes=MAX_PARTIAL_BYTES, what="partial result"))

    @overload
    def step(
        self, name: str, function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]: ...

    @overload
    def step(
        self, name: str, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]: ...

    def step(
        self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Coroutine[Any, Any, Any]:
        """Do a part of the job once: `await ctx.step("charge", charge, cents)`.

        When it is done, its result is stored; a later run gets that result instead of doing it again, in the type that
        the function is annotated to return. Raises InvalidStep for a name used before in this run and for a result
        that JSON cannot hold, ClaimLost if another worker has the job.
        """
        if _loop_runs():
            return self._book.run(name, function, args, kwargs)
        raise InvalidStep(
            name, "no event loop runs here: use 'ctx.step_sync(…)' in a handler that is not async"
        )

    def step_sync(self, name: str, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Do what `step` does, blocking, in a handler that is not async."""
        if _loop_runs():
            raise SyncOnLoop("ctx.step_sync")
        return cast(R, self._book.run_sync(name, function, args, kwargs))

    @overload
    def wait_for(
        self, name: str, *, timeout: Duration | None = None, type: type[R]
    ) -> Coroutine[Any, Any, R]: ...

    @overload
    def wait_for(
        self, name: str, *, timeout: Duration | None = None, type: Any = Any
    ) -> Coroutine[Any, Any, Any]: ...

    def wait_for(
        self,
        name: str,
        *,
        timeout: Duration | None = None,
        type: Any = Any,  # noqa: A002  # the word that people know it by
    ) -> Coroutine[Any, Any, Any]:
        """Wait for something from outside: `await ctx.wait_for("approval", timeout="3d", type=Approval)`.

        Returns the payload of a signal that has come. Otherwise the run ends here: the job is held without a slot, a
        lease or a spent attempt, and when the signal comes, the handler starts from the top. Finished steps and
        received signals then return what they returned before, so what must not repeat goes into a step.
        Raises SignalTimeout when the time is over, InvalidSignal inside a step or a transaction and for a payload of
        another type.
        """
        if _loop_runs():
            return self._signal_waits.wait_for(name, timeout, type)
        raise InvalidSignal(
            name, "no event loop runs here: use 'ctx.wait_for_sync(…)' in a handler that is not async"
        )

    def wait_for_sync(
        self,
        name: str,
        *,
        timeout: Duration | None = None,
        type: Any = Any,  # noqa: A002  # the word that people know it by
    ) -> Any:
        """Do what `wait_for` does in a handler that is not async; its thread is free while the job waits."""
        if _loop_runs():
            raise SyncOnLoop("ctx.wait_for_sync")
        return self._signal_waits.wait_for_sync(name, timeout, type)

    def transaction(
        self, session: object = None, *, role: str | None = None, claims: Mapping[str, Any] | None = None
    ) -> Transacting:
        """End the job in the transaction that also holds what the handler writes: both or neither.

        >>> async with ctx.transaction() as tx: await tx.execute("UPDATE …"); tx.result("done")

        `session` is a session or connection of the same database, of SQLAlchemy, asyncpg, psycopg or sqlite3; without
        one a connection of our own is used. Leaving the block completes the job and commits, unless `tx.fail`,
        `tx.retry` or `tx.snooze` has said how it ends instead; any exception in it undoes everything. Jobs enqueued
        inside belong to it. With a `role` of PostgreSQL, what the handler does inside is done as that role, under its
        row security, which finds the `claims` in `current_setting('request.jwt.claims')`.
        Afterwards every write of the context raises AlreadySettled. Raises ClaimLost if another worker has the job,
        TransactionTooLong on SQLite when the block takes too long, OutcomeUnknown when the connection broke and the
        outcome could not be learnt.
        """
        return Transacting(self._backend, session, self.job_id, DatabaseRole.of(role, claims))

    def lock(self, lock_id: str, ttl: Duration, *, keep: bool = False) -> Locking:
        """Hold a lock while a block lasts: `async with ctx.lock("poll", ttl="10m")`, or `with` where nothing is async.

        It is given back at the end; with `keep` only if the block fails, so that nobody does the same again until the
        lock runs out. Raises LockTaken if somebody else holds it: let through, the job looks again later, and no
        attempt is spent. A later attempt of the same job gets the lock that an earlier one left behind.
        """
        return Locking(self._backend, self.log, lock_id, ttl, keep=keep)

    def phase(self, name: str, timeout: Duration) -> Phase:
        """Give a part of the work a time limit of its own: `async with ctx.phase("ocr", "2m"): …`.

        When it is over, TimeoutError is raised there, which a handler may catch; let through, it fails the attempt as
        any timeout does. Whatever goes wrong inside is told with the phase's name, in the error's details.
        """
        return Phase(self._backend, name, timeout)

    def failed_in(self, error: BaseException) -> str | None:
        """The step out of which this error came; None if no step did."""
        return self._book.failed_in(error)

    def __getattr__(self, name: str) -> Any:
        # Filled when first asked for: most handlers never do, and making a context must cost next to nothing.
        match name:
            case "_book":
                from backstay.attempt.steps import StepBook

                self._book = StepBook(self._backend, is_first_run=self.run == 1)
            case "_signal_waits":
                from backstay.attempt.signal_waits import SignalWaits

                self._signal_waits = SignalWaits(self._backend, running_step=lambda: self._book.running)
            case "_now":
                self._now = self._backend.now()
            case "_log":
                facts = {"job_id": str(self.job_id), "kind": self.kind, "queue": self.queue}
                if self.tenant:
                    facts["tenant"] = self.tenant
                self._log = job_log(**facts, attempt=self.attempt, run=self.run)
            case _:
                raise AttributeError(f"a context has no {name!r}")
        return object.__getattribute__(self, name)


def _check_progress_number(field: str, value: object, *, least: float) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(cast(float, value)) or cast(float, value) < least:
        needs = "a number above 0" if least else "a number of 0 or more"
        raise InvalidPayload(f"progress: {field} cannot be {value!r}, it needs {needs}", pointer=f"/{field}")


def _loop_runs() -> bool:
    return asyncio._get_running_loop() is not None


_current: ContextVar[Context] = ContextVar("backstay_context")


def is_running_here() -> bool:
    """Whether a handler is running here."""
    return _current.get(None) is not None


def running_here(home: str) -> Context | None:
    """The context of the handler that is running here, if its job is stored in this database; else None."""
    context = _current.get(None)
    return context if context is not None and context.home == home else None


def current() -> Context:
    """The context of the handler that is running here; raises BackstayError outside of one."""
    try:
        return _current.get()
    except LookupError:
        raise BackstayError("no job is running here: current() works only inside a handler") from None


def enter(context: Context) -> Token[Context]:
    """Make `context` the current one and return what `leave` needs to undo it."""
    return _current.set(context)


def leave(token: Token[Context]) -> None:
    """Put back the context that was current before `enter`."""
    _current.reset(token)
