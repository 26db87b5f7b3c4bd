"""What can go wrong, as exceptions a caller can act on.

WindlassError
├── InvalidJob                 the caller's data is refused; nothing was stored
│   ├── InvalidPayload         arguments or result cannot be kept as JSON
│   ├── InvalidArguments       arguments do not fit the handler's signature
│   ├── FieldRefused           a promoted field's value does not fit its column, or points at nothing
│   ├── UnknownKind            no such kind is registered or known to the database
│   └── IdempotencyMismatch    the key was used for a different job
├── InvalidPolicy              a number or option outside its range
├── InvalidSettings            configuration that cannot work
├── WrongState                 the job's state does not allow what was asked
├── LetterChanged              somebody else has changed the dead letter since it was read
├── KeyTaken                   another active job holds the unique key
├── JobNotFound                no job has this id
├── InvalidCursor              the search cursor was altered or is not ours
├── ClaimLost                  another worker holds the job now; nothing was written
│   └── LeaseUncertain         the lease could not be renewed; another worker may hold the job soon
├── AlreadySettled             the handler's transaction has completed the job; it can say no more
├── TransactionTooLong         the handler's transaction kept SQLite's writer for too long; it is undone
├── InvalidStep                a step's name or result cannot be used; its job is dead
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
│   └── SchemaMismatch         tables missing, older or newer than this release
└── SyncOnLoop                 a blocking call was made on a running event loop

Handlers raise these to say how an attempt ended:

EndOfAttempt
├── Retry(after=…)             failed; run again, if given after this delay
├── Hopeless                   failed; another attempt cannot help
├── Snooze(delay)              not failed; look again later, no attempt is spent
└── Cancel(reason)             stop for good, nothing is wrong
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta


class WindlassError(Exception):
    """Root of every error that Windlass raises."""


class InvalidJob(WindlassError):
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
        first = next(iter(problems.items()))
        super().__init__(f"{total} of the batch's jobs are invalid; first, job {first[0]}: {first[1]}")
        self.problems, self.total = dict(problems), total


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


class InvalidPolicy(WindlassError):
    """A policy field has a value outside its range."""

    def __init__(self, field: str, value: object, *, needs: str) -> None:
        super().__init__(f"{field} cannot be {value!r}: it needs {needs}")
        self.field, self.value, self.needs = field, value, needs


class InvalidSettings(WindlassError):
    """The configuration cannot work; the message names the setting, its value and what is allowed."""


class WrongState(WindlassError):
    """The job's state does not allow what was asked."""

    def __init__(self, job_id: object, *, asked: str, state: str, needs: Iterable[str]) -> None:
        allowed = " or ".join(sorted(needs))
        super().__init__(f"cannot {asked} job {job_id}: it is {state}, not {allowed}")
        self.job_id, self.asked, self.state, self.needs = job_id, asked, state, tuple(sorted(needs))


class LetterChanged(WindlassError):
    """A dead letter is not as it was when the caller looked; nothing was written."""

    def __init__(self, job_id: object, *, status: str, by: str | None, at: datetime | None) -> None:
        when = "" if at is None else f" at {at:%Y-%m-%d %H:%M:%S} UTC"
        super().__init__(
            f"the dead letter of job {job_id} was changed by {by or 'somebody'}{when}"
            f" and is {status} now: look at it again before you decide"
        )
        self.job_id, self.status, self.by, self.at = job_id, status, by, at


class KeyTaken(WindlassError):
    """A dead job cannot come back while another active job holds its unique key."""

    def __init__(self, job_id: object) -> None:
        super().__init__(
            f"cannot retry job {job_id}: another active job has its unique key; wait for that one, or cancel it"
        )
        self.job_id = job_id


class JobNotFound(WindlassError):
    """No job has this id; it may have been removed by retention."""

    def __init__(self, job_id: object) -> None:
        super().__init__(f"no job {job_id}: the id is wrong, or retention has removed it")
        self.job_id = job_id


class InvalidCursor(WindlassError):
    """The cursor was altered, belongs to another search, or is not one of ours."""

    def __init__(self) -> None:
        super().__init__("the cursor is not valid for this search: start again without a cursor")


class ClaimLost(WindlassError):
    """The job is no longer held under this claim; nothing was written."""

    def __init__(self, job_ids: Sequence[object]) -> None:
        super().__init__(
            f"claim lost on {', '.join(map(str, job_ids))}: another worker holds it or it was settled"
        )
        self.job_ids = tuple(job_ids)


class LeaseUncertain(ClaimLost):
    """The lease could not be renewed for so long that the job may be taken away soon, if it is not already."""

    def __init__(self, job_id: object, *, silent_for: float, lease: timedelta) -> None:
        WindlassError.__init__(
            self,
            f"the lease of job {job_id} is {lease.total_seconds():g} s and was last renewed {silent_for:.0f} s ago: "
            "another worker may take the job, so do nothing that must not be done twice",
        )
        self.job_ids, self.silent_for, self.lease = (job_id,), silent_for, lease


class AlreadySettled(WindlassError):
    """The job is completed by its handler's transaction: nothing can be written about it any more."""

    def __init__(self, job_id: object) -> None:
        super().__init__(
            f"job {job_id} was completed by ctx.transaction(): do this before the block, or inside of it"
        )
        self.job_id = job_id


class TransactionTooLong(WindlassError):
    """A handler's transaction kept SQLite's only writer for too long; it was rolled back."""

    def __init__(self, job_id: object, *, limit: timedelta) -> None:
        super().__init__(
            f"the transaction of job {job_id} took longer than {limit.total_seconds():g} s, while nobody else could "
            "write to SQLite: do the slow work before the block, or raise transaction_limit"
        )
        self.job_id, self.limit = job_id, limit


class InvalidStep(WindlassError):
    """A step cannot be run or remembered; no other attempt would change that, so its job is dead."""

    def __init__(self, name: object, problem: str) -> None:
        super().__init__(f"step {name!r}: {problem}")
        self.name, self.problem = name, problem


class JobFailed(WindlassError):
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


class ResultTimeout(WindlassError):
    """The job did not finish within the time given; it goes on regardless."""

    def __init__(self, job_id: object, *, waited: timedelta, state: str) -> None:
        super().__init__(
            f"job {job_id} is still {state} after {waited.total_seconds():g} s; it goes on without you"
        )
        self.job_id, self.waited, self.state = job_id, waited, state


class OutcomeUnknown(WindlassError):
    """The connection broke while committing and the outcome could not be learnt in time."""

    def __init__(self, what: str, ids: Sequence[object]) -> None:
        shown = ", ".join(map(str, ids[:3])) + (" …" if len(ids) > 3 else "")
        super().__init__(
            f"the connection broke during {what} of {shown}: it may or may not have happened; look it up"
        )
        self.what, self.ids = what, tuple(ids)


class WrongDatabase(WindlassError):
    """The transaction handed in belongs to another database than this store."""


class StoreError(WindlassError):
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


class SchemaMismatch(StoreError):
    """The tables are missing, older or newer than this release understands."""


class SyncOnLoop(WindlassError):
    """A blocking call was made where an event loop is running."""

    def __init__(self, call: str) -> None:
        super().__init__(f"{call} would block the running event loop: await the asynchronous twin instead")
        self.call = call


class EndOfAttempt(Exception):
    """Raised by handlers to end an attempt in another way than returning or failing."""


class Retry(EndOfAttempt):
    """The attempt failed; run it again, after `after` if given, otherwise by the policy's backoff."""

    def __init__(self, message: str = "retry asked for", *, after: timedelta | None = None) -> None:
        super().__init__(message)
        self.after = after


class RetryAfter(Retry):
    """The attempt failed; run it again after this delay, as a server's Retry-After asks."""

    def __init__(self, after: timedelta | float, message: str = "asked to retry later") -> None:
        super().__init__(message, after=after if isinstance(after, timedelta) else timedelta(seconds=after))


class Hopeless(EndOfAttempt):
    """The attempt failed and no other attempt can help: the job is dead at once."""


class Snooze(EndOfAttempt):
    """Nothing failed: run again after `delay`, without spending an attempt."""

    def __init__(self, delay: timedelta | float) -> None:
        super().__init__("snoozed")
        self.delay = delay if isinstance(delay, timedelta) else timedelta(seconds=delay)


class Cancel(EndOfAttempt):
    """Stop this job for good; nothing is wrong with it."""

    def __init__(self, reason: str = "cancelled by its handler") -> None:
        super().__init__(reason)
        self.reason = reason
