"""What can go wrong, as exceptions a caller can act on.

BackstayError
├── InvalidJob                 the caller's data is refused; nothing was stored
│   ├── InvalidPayload         arguments or result cannot be kept as JSON
│   ├── InvalidArguments       arguments do not fit the handler's signature
│   ├── FieldRefused           a promoted field's value does not fit its column, or points at nothing
│   ├── InvalidFlow            a flow's jobs and what they wait for do not fit together
│   ├── QuotaExceeded          the tenant has as many jobs waiting as its quota allows; try again later
│   ├── UnknownKind            no such kind is registered or known to the database
│   └── IdempotencyMismatch    the key was used for a different job
├── InvalidSchedule            an expression, time zone or option that no schedule can have
├── ScheduleNotFound           no schedule has this name
├── InvalidPolicy              a number or option outside its range
├── InvalidSettings            configuration that cannot work
├── WrongState                 the job's state does not allow what was asked
├── DeadLetterChanged          somebody else has changed the dead letter since it was read
├── KeyTaken                   another active job holds the unique key
├── Forbidden                  the one who acts has not the right for it
├── JobNotFound                no job has this id
├── FlowNotFound               no flow has this id
├── NotFound                   no API key, webhook or alert has this name
├── InvalidCursor              the search cursor was altered or is not ours
├── ClaimLost                  another worker holds the job now; nothing was written
│   └── LeaseUncertain         the lease could not be renewed; another worker may hold the job soon
├── AlreadySettled             the handler's transaction has completed the job; it can say no more
├── TransactionTooLong         the handler's transaction kept SQLite's writer for too long; it is undone
├── InvalidStep                a step's name or result cannot be used; its job is dead
├── InvalidSignal              a wait that cannot be, or a payload that is not what it waits for; its job is dead
├── SignalRefused              the job has ended, or has received too much: the signal was not stored
├── SignalTimeout              what the handler waited for did not come in time; its job is dead unless it catches this
├── JobFailed                  a waited-for job ended without a result
│   ├── JobDead
│   └── JobCancelled
├── ResultTimeout              the job did not finish in the time the caller gave
├── OutcomeUnknown             the connection broke and the outcome could not be learnt
├── WrongDatabase              the caller's transaction belongs to another database
├── StoreError                 the database refused or failed
│   ├── StoreUnavailable       it cannot be reached now; trying again may help
│   ├── StoreBusy              a lock or a conflict; trying again may help
│   ├── StoreConflict          a unique index refused a row
│   ├── SchemaMismatch         tables missing, older or newer than this release
│   └── MigrationFailed        the database refused a migration; nothing of it was kept
├── NoLoop                     something that needs an event loop was used where none runs
└── SyncOnLoop                 a blocking call was made on a running event loop

Handlers raise these to say how an attempt ended:

EndOfAttempt
├── Retry(after=…)             failed; run again, if given after this delay
├── Hopeless                   failed; another attempt cannot help
├── Snooze(delay)              not failed; look again later, no attempt is spent
│   └── LockTaken              somebody else holds the lock that was asked for
└── Cancel(reason)             stop for good, nothing is wrong
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from backstay.model.control import Cancel as Cancel
from backstay.model.control import EndOfAttempt as EndOfAttempt
from backstay.model.control import Hopeless as Hopeless
from backstay.model.control import LockTaken as LockTaken
from backstay.model.control import Retry as Retry
from backstay.model.control import Snooze as Snooze

_ID_CHARACTERS, _ID_DIGITS = 36, 32


class BackstayError(Exception):
    """Root of every error that Backstay raises."""


class InvalidJob(BackstayError):
    """The job was refused before anything was stored."""


class InvalidPayload(InvalidJob):
    """A value cannot be kept as JSON; `pointer` says where (RFC 6901)."""

    def __init__(self, problem: str, *, pointer: str = "") -> None:
        super().__init__(f"{problem} at {pointer or '/'}" if pointer else problem)
        self.problem, self.pointer = problem, pointer


class InvalidArguments(InvalidJob):
    """The arguments do not fit the handler's signature; `field` names the first that does not."""

    def __init__(self, kind: str, problem: str, *, field: str = "") -> None:
        super().__init__(f"job {kind!r} refused: {problem}" + (f" (field {field!r})" if field else ""))
        self.kind, self.problem, self.field = kind, problem, field


class InvalidBatch(InvalidJob):
    """Several jobs of a batch are bad; none was stored. `problems` maps index to message, the first hundred."""

    def __init__(self, problems: Mapping[int, str], *, total: int) -> None:
        at, problem = next(iter(problems.items()))
        bad = "one job of the batch is" if total == 1 else f"{total} jobs of the batch are"
        super().__init__(f"{bad} invalid; job {at}: {problem}")
        self.problems, self.total = dict(problems), total


class InvalidFlow(InvalidJob):
    """A flow cannot be stored: a circle, an unknown parent, too many of them, or an invalid place for a result."""


class UnknownKind(InvalidJob):
    """No handler or declaration has this kind."""

    def __init__(self, kind: str, *, known: Iterable[str] = ()) -> None:
        names = sorted(known)
        hint = f"; known kinds: {', '.join(names[:20])}" if names else ""
        super().__init__(
            f"unknown kind {kind!r}: register a handler with @app.job, or declare it with app.declare({kind!r}){hint}"
        )
        self.kind, self.known = kind, tuple(names)


class IdempotencyMismatch(InvalidJob):
    """The idempotency key already stands for a job with other arguments or options."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"idempotency key {key!r} was already used for a different job: use a new key, or send the same job again"
        )
        self.key = key


class InvalidSchedule(BackstayError):
    """A schedule that cannot be; `position` counts the characters of its expression from 1."""

    def __init__(self, expression: str, problem: str, *, position: int | None = None) -> None:
        where = "" if position is None else f", at position {position}"
        super().__init__(f"cannot schedule {expression!r}{where}: {problem}")
        self.expression, self.problem, self.position = expression, problem, position


class QuotaExceeded(InvalidJob):
    """The tenant has as many jobs waiting as it may; enqueueing again works when some have run."""

    def __init__(self, tenant: str, *, queue: str | None, most: int) -> None:
        where = f" in the queue {queue!r}" if queue else ""
        super().__init__(
            f"tenant {tenant!r} may have {most:,} jobs waiting{where}, and these would be more: "
            "enqueue again when some have run, or raise the quota with 'backstay quotas set'"
        )
        self.tenant, self.queue, self.most = tenant, queue, most


class ScheduleNotFound(BackstayError):
    """No schedule has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no schedule {name!r}: see 'backstay schedules list' for those there are")
        self.name = name


class InvalidPolicy(BackstayError):
    """A policy field has a value outside its range."""

    def __init__(self, field: str, value: object, *, needs: str) -> None:
        super().__init__(f"{field} cannot be {value!r}: it needs {needs}")
        self.field, self.value, self.needs = field, value, needs


class InvalidSettings(BackstayError):
    """The configuration cannot work; the message names the setting, its value and what is allowed."""


class WrongState(BackstayError):
    """The job's state does not allow what was asked."""

    def __init__(self, job_id: object, *, asked: str, state: str, needs: Iterable[str]) -> None:
        allowed = " or ".join(sorted(needs))
        super().__init__(f"cannot {asked} job {job_id}: it is {state}, not {allowed}")
        self.job_id, self.asked, self.state, self.needs = job_id, asked, state, tuple(sorted(needs))


class DeadLetterChanged(BackstayError):
    """A dead letter is not as it was when the caller looked; nothing was written."""

    def __init__(self, job_id: object, *, status: str, by: str | None, at: datetime | None) -> None:
        when = "" if at is None else f" at {at:%Y-%m-%d %H:%M:%S} UTC"
        super().__init__(
            f"the dead letter of job {job_id} was changed by {by or 'somebody'}{when}"
            f" and is {status} now: look at it again before you decide"
        )
        self.job_id, self.status, self.by, self.at = job_id, status, by, at


class KeyTaken(BackstayError):
    """A dead job cannot come back while another active job holds its unique key."""

    def __init__(self, job_id: object) -> None:
        super().__init__(
            f"cannot retry job {job_id}: another active job has its unique key; wait for that one, or cancel it"
        )
        self.job_id = job_id


class JobNotFound(BackstayError):
    """No job has this id; it may have been removed by retention."""

    def __init__(self, job_id: object) -> None:
        is_part = isinstance(job_id, str) and len(job_id.replace("-", "")) < _ID_DIGITS
        super().__init__(
            f"no job {job_id}: an id has {_ID_CHARACTERS} characters, write it in full"
            if is_part
            else f"no job {job_id}: the id is wrong, its transaction has not committed yet, "
            "or retention has removed it"
        )
        self.job_id = job_id


class FlowNotFound(BackstayError):
    """No flow has this id; it may have gone with the last of its jobs."""

    def __init__(self, flow_id: object) -> None:
        super().__init__(f"no flow {flow_id}: the id is wrong, or retention has removed its jobs")
        self.flow_id = flow_id


class NotFound(BackstayError):
    """Nothing of this sort has this name: `what` is an API key, a webhook or an alert."""

    def __init__(self, what: str, name: object) -> None:
        super().__init__(f"no {what} {name}: the name is wrong, or it was removed")
        self.what, self.name = what, name


class InvalidCursor(BackstayError):
    """The cursor was altered, belongs to another search, or is not one of ours."""

    def __init__(self) -> None:
        super().__init__("the cursor is not valid for this search: start again without a cursor")


class SearchTooLong(BackstayError):
    """A search did not find its page in time; `within` is how long it was given."""

    def __init__(self, within: timedelta) -> None:
        super().__init__(
            f"the search found no page within {within.total_seconds():g} s, so next to no job fits it: ask for what "
            "an index answers (correlation_id, parent_id, a promoted field, or one of the states available, scheduled, "
            "held, running and dead), or give it a longer timeout"
        )
        self.within = within


class ClaimLost(BackstayError):
    """The job is no longer held under this claim; nothing was written."""

    def __init__(self, job_ids: Sequence[object]) -> None:
        super().__init__(
            f"claim lost on {', '.join(map(str, job_ids))}: another worker holds it or it was settled"
        )
        self.job_ids = tuple(job_ids)


class LeaseUncertain(ClaimLost):
    """The lease could not be renewed for so long that the job may be taken away soon, if it is not already."""

    def __init__(self, job_id: object, *, silent_for: float, lease: timedelta) -> None:
        BackstayError.__init__(
            self,
            f"the lease of job {job_id} is {lease.total_seconds():g} s and was last renewed {silent_for:.0f} s ago: "
            "another worker may take the job, so do nothing that must not be done twice",
        )
        self.job_ids, self.silent_for, self.lease = (job_id,), silent_for, lease


class AlreadySettled(BackstayError):
    """The job has its ending, by its handler's transaction or as an item of a batch: nothing more can be said of it."""

    def __init__(self, job_id: object, problem: str | None = None) -> None:
        super().__init__(
            f"job {job_id} "
            + (problem or "was completed by ctx.transaction(): do this before the block, or inside of it")
        )
        self.job_id = job_id


class ItemFailed(BackstayError):
    """An item of a batch that its handler said has failed, or said nothing of."""


class TransactionTooLong(BackstayError):
    """A handler's transaction kept SQLite's only writer for too long; it was rolled back."""

    def __init__(self, job_id: object, *, limit: timedelta) -> None:
        super().__init__(
            f"the transaction of job {job_id} took longer than {limit.total_seconds():g} s, while nobody else could "
            "write to SQLite: do the slow work before the block, or raise transaction_limit"
        )
        self.job_id, self.limit = job_id, limit


class InvalidStep(BackstayError):
    """A step cannot be run or remembered; no other attempt would change that, so its job is dead."""

    def __init__(self, name: object, problem: str) -> None:
        super().__init__(f"step {name!r}: {problem}")
        self.name, self.problem = name, problem


class InvalidSignal(BackstayError):
    """A wait for a signal cannot be, or its payload cannot be used; no other attempt would change that."""

    def __init__(self, name: object, problem: str) -> None:
        super().__init__(f"signal {name!r}: {problem}")
        self.name, self.problem = name, problem


class SignalRefused(BackstayError):
    """The job takes no such signal; nothing was stored."""

    def __init__(self, job_id: object, name: str, *, ended: str | None = None, most: int = 0) -> None:
        if ended == "dead":
            problem = "it is dead: retry it first, and signal it then"
        elif ended is not None:
            problem = f"it is {ended} and waits for nothing any more: check the id, or enqueue a new job"
        else:
            problem = (
                f"it has received {most:,} signals of this name already: has its handler stopped waiting?"
            )
        super().__init__(f"cannot send the signal {name!r} to job {job_id}: {problem}")
        self.job_id, self.name, self.ended = job_id, name, ended


class SignalTimeout(BackstayError):
    """The signal did not come in the time that the handler gave; the same in every later run of the job."""

    def __init__(self, name: str, timeout: timedelta | None) -> None:
        limit = "in time" if timeout is None else f"within {timeout.total_seconds():g} s"
        super().__init__(
            f"the signal {name!r} did not arrive {limit}: catch SignalTimeout to go on without it"
        )
        self.name, self.timeout = name, timeout


class JobFailed(BackstayError):
    """A job that was waited for ended without a result."""

    def __init__(self, job_id: object, problem: str) -> None:
        super().__init__(f"job {job_id} {problem}")
        self.job_id = job_id


class JobDead(JobFailed):
    """The job is out of attempts or hopeless; `error` is its last error."""

    def __init__(self, job_id: object, error: Mapping[str, object] | None) -> None:
        error = error or {}
        super().__init__(job_id, f"is dead: {error.get('type', 'error')}: {error.get('message', 'unknown')}")
        self.error = dict(error)


class JobCancelled(JobFailed):
    """The job was cancelled or expired."""

    def __init__(self, job_id: object, reason: str | None) -> None:
        super().__init__(job_id, f"was cancelled: {reason or 'no reason given'}")
        self.reason = reason


class ResultTimeout(BackstayError):
    """The job did not finish within the time given; it goes on regardless."""

    def __init__(self, job_id: object, *, waited: timedelta, state: str, last_error: str = "") -> None:
        super().__init__(
            f"job {job_id} is still {state} after {waited.total_seconds():g} s; it goes on without you"
            + (f"; {last_error}" if last_error else "")
        )
        self.job_id, self.waited, self.state, self.last_error = job_id, waited, state, last_error


class OutcomeUnknown(BackstayError):
    """The connection broke while committing and the outcome could not be learnt in time."""

    def __init__(self, what: str, ids: Sequence[object], *, because: object = "") -> None:
        shown = ", ".join(map(str, ids[:3])) + (" …" if len(ids) > 3 else "")
        last = f" (last: {because})" if because else ""
        super().__init__(
            f"the connection broke during {what} of {shown}{last}: it may or may not have happened; look it up"
        )
        self.what, self.ids, self.because = what, tuple(ids), str(because)


class WrongDatabase(BackstayError):
    """The transaction handed in belongs to another database than this store."""


class Forbidden(BackstayError):
    """The one who acts has not the right for what was asked."""

    def __init__(self, actor: str, right: str, *, why: str = "") -> None:
        super().__init__(f"{actor!r} may not do this: it takes the right {right!r}{why and f' {why}'}")
        self.actor, self.right = actor, right


class StoreError(BackstayError):
    """The database refused or failed; the driver's error is the cause."""


class StoreUnavailable(StoreError):
    """The database cannot be reached now; `was_sent` tells whether the statement may have been carried out."""

    def __init__(self, message: str, *, was_sent: bool = True) -> None:
        super().__init__(message)
        self.was_sent = was_sent


class StoreBusy(StoreError):
    """A lock could not be had in time, or two transactions collided."""


class StoreConflict(StoreError):
    """A unique index refused a row."""


class FieldRefused(InvalidJob, StoreError):
    """The database refused a promoted field, and with it the job; `field` names it."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"job refused: promoted field {field!r} {problem}")
        self.field, self.problem = field, problem


class ArchiveFailed(BackstayError):
    """An archive cannot be written or read, or is not what was written; no job was removed."""


class SchemaMismatch(StoreError):
    """The tables are missing, older or newer than this release understands."""

    @classmethod
    def of_place(cls, told: str) -> SchemaMismatch:
        """What is raised for a lane or category that the database does not know."""
        remedy = "after a change of the profile run 'backstay db migrate --app module:app', or app.migrate()"
        return cls(f"{told}: {remedy}")


class MigrationFailed(StoreError):
    """The database refused a statement of a migration; nothing of that migration was kept."""

    def __init__(self, migration: str, problem: str) -> None:
        super().__init__(f"migration {migration} failed, and nothing of it was kept: {problem}")
        self.migration, self.problem = migration, problem


class NoLoop(BackstayError, RuntimeError):
    """Something that needs an event loop was used where none runs."""

    def __init__(self, call: str) -> None:
        super().__init__(
            f"{call} needs a running event loop: use it in async code; app.sync has the blocking twins"
        )
        self.call = call


class SyncOnLoop(BackstayError):
    """A blocking call was made where an event loop is running."""

    def __init__(self, call: str) -> None:
        super().__init__(f"{call} would block the running event loop: await the asynchronous twin instead")
        self.call = call
