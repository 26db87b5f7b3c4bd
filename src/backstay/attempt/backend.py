"""What a context needs of what runs the handler, so that a handler works the same wherever that is."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

import msgspec

from backstay.attempt.transaction import Ending
from backstay.errors import InvalidPayload, InvalidSettings
from backstay.handlers import codec
from backstay.model.database_role import DatabaseRole
from backstay.model.job import NewStep, Progress
from backstay.model.outcome import Outcome
from backstay.model.schedules.records import Lock, LockAnswer
from backstay.model.settlement import Settlement
from backstay.model.signals import Mail
from backstay.runtime.env import SYSTEM

T = TypeVar("T")


class AttemptBackend(Protocol):
    """Keeps what one attempt remembers and tells; every method may be called from any thread."""

    result_limit: int
    """How many bytes of JSON one result may have."""

    def results(self) -> Future[dict[str, str | None]]:
        """What the steps that earlier runs have finished came to, as JSON text."""
        ...

    def save(self, step: NewStep) -> Future[None]:
        """Remember a finished step; raises ClaimLost if another worker has the job."""
        ...

    def tell(self, progress: Progress) -> None:
        """Show how far the job has come, sooner or later."""
        ...

    def note(self, facts: dict[str, Any]) -> None:
        """Keep facts that belong to the error, if the attempt fails."""
        ...

    def note_partial(self, result: str) -> None:
        """Keep what was reached, as JSON text, if the attempt fails."""
        ...

    def ensure_lease(self) -> None:
        """Raise ClaimLost unless the job is still this attempt's, as far as is known here."""
        ...

    def refuse_steps(self, name: str) -> None:
        """Raise AlreadySettled or InvalidStep where no step can be done."""
        ...

    def mail(self) -> Future[Mail]:
        """What the job has received by now, and which of its waits ran out of time."""
        ...

    def refuse_waits(self, name: str) -> None:
        """Raise AlreadySettled or InvalidSignal where the run cannot end by waiting."""
        ...

    def lock(self, lock_id: str, ttl: timedelta) -> Future[LockAnswer]:
        """Take a lock for this job; the answer tells who has it."""
        ...

    def unlock(self, lock: Lock) -> Future[bool]:
        """Give a lock back; False when it was no longer held."""
        ...

    def transact(self, given: object, *, is_sync: bool, role: DatabaseRole | None = None) -> Ending:
        """A transaction that ends the job, on what was given; raises AlreadySettled, or if one is open."""
        ...

    def undisturbed(self) -> AbstractContextManager[None]:
        """Let nothing end the process while this lasts, as far as that can be put off."""
        ...

    def outcome_of(self, error: Exception) -> Outcome:
        """What the attempt would come to if its handler raised this."""
        ...

    def decide(self, outcome: Outcome) -> Settlement:
        """What is to be written because of an outcome."""
        ...

    def settled(self, outcome: Outcome) -> None:
        """The job has this ending; nothing that the handler does from here on changes that."""
        ...

    def transaction_is_over(self) -> None:
        """The transaction was committed or undone."""
        ...

    def now(self) -> datetime:
        """The time that the job is to take for now."""
        ...

    def monotonic(self) -> float:
        """Seconds that only rise, for measuring."""
        ...

    def elapsed(self) -> float:
        """For how many seconds the handler has run."""
        ...


class NoBackend:
    """For a context that nobody runs, as a test may make one: steps are run, and nothing is kept."""

    result_limit = codec.MAX_BYTES

    def results(self) -> Future[dict[str, str | None]]:
        return at_once({})

    def save(self, step: NewStep) -> Future[None]:
        return at_once(None)

    def tell(self, progress: Progress) -> None: ...

    def note(self, facts: dict[str, Any]) -> None: ...

    def note_partial(self, result: str) -> None: ...

    def ensure_lease(self) -> None: ...

    def refuse_steps(self, name: str) -> None: ...

    def mail(self) -> Future[Mail]:
        return at_once(Mail())

    def refuse_waits(self, name: str) -> None:
        raise InvalidSettings(
            f"nobody runs this job, so it cannot wait for the signal {name!r}: "
            "use backstay.testing to run the handler"
        )

    def lock(self, lock_id: str, ttl: timedelta) -> Future[LockAnswer]:
        now = SYSTEM.wall()
        held = Lock(
            id=lock_id, tenant="", holder="nobody", job_id=None, fence=1, locked_at=now, expires_at=now + ttl
        )
        return at_once(LockAnswer(held, is_ours=True))

    def unlock(self, lock: Lock) -> Future[bool]:
        return at_once(True)

    def transact(self, given: object, *, is_sync: bool, role: DatabaseRole | None = None) -> Ending:
        raise InvalidSettings(
            "nobody runs this job, so no transaction can complete it: use backstay.testing to run the handler"
        )

    def undisturbed(self) -> AbstractContextManager[None]:
        return nullcontext()

    def outcome_of(self, error: Exception) -> Outcome:
        raise AssertionError("there is no transaction to say it in")

    def decide(self, outcome: Outcome) -> Settlement:
        raise AssertionError("there is no transaction to write it in")

    def settled(self, outcome: Outcome) -> None: ...

    def transaction_is_over(self) -> None: ...

    def now(self) -> datetime:
        return SYSTEM.wall()

    def monotonic(self) -> float:
        return SYSTEM.monotonic()

    def elapsed(self) -> float:
        return 0.0


def at_once(value: T) -> Future[T]:
    """A future that has its value already."""
    future: Future[T] = Future()
    future.set_result(value)
    return future


def reference_time(args: str, otherwise: datetime) -> datetime:
    """The time that a job's arguments name as theirs, if they do; raises InvalidPayload for one without a zone."""
    if '"reference_time"' not in args:
        return otherwise
    named = codec.decode(args).get("reference_time")
    try:
        moment = None if named is None else msgspec.convert(named, datetime)
    except msgspec.ValidationError as error:
        raise InvalidPayload(
            f"arguments: the reference time is not a valid time: {error}", pointer="/reference_time"
        ) from error
    if moment is not None and moment.tzinfo is None:
        raise InvalidPayload("arguments: a reference time without a time zone", pointer="/reference_time")
    return otherwise if moment is None else moment
