"""What a worker and the processes of its handlers say to each other: JSON texts with their length in front."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from backstay.model.classify import ErrorRules
from backstay.model.job import Claim, JobId, NewStep, Progress
from backstay.model.outcome import (
    Complete,
    Crashed,
    ErrorInfo,
    Fail,
    Misfit,
    Outcome,
    Released,
    Snoozed,
    Stopped,
    Waiting,
)
from backstay.model.records import Measured
from backstay.model.schedules.records import Lock, LockAnswer
from backstay.model.settlement import Settlement
from backstay.model.signals import Mail, Wait

_T = TypeVar("_T")
_LENGTH_BYTES = 4


class Task(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """One attempt: where the handler is found, what it is called with, and what its context says."""

    module: str
    name: str
    args: str
    rules: ErrorRules
    result_limit: int
    job_id: UUID
    kind: str
    queue: str
    attempt: int
    max_attempts: int
    run: int
    tenant: str
    correlation_id: str | None
    deadline: datetime | None
    lease_epoch: int
    lease: timedelta
    timeout: timedelta
    worker: str
    created_by: str | None
    tags: str | None
    metadata: str | None
    home: str
    transaction_limit: timedelta
    log_level: int

    @property
    def claim(self) -> Claim:
        """The claim under which the attempt runs, as far as its process needs to know it."""
        return Claim(
            id=JobId(self.job_id),
            epoch=self.lease_epoch,
            kind=self.kind,
            queue=self.queue,
            args=self.args,
            attempt=self.attempt,
            max_attempts=self.max_attempts,
            run=self.run,
            crashes=0,
            is_suspect=False,
            timeout=self.timeout,
            lease=self.lease,
            tenant=self.tenant,
            correlation_id=self.correlation_id,
            deadline=self.deadline,
            worker=self.worker,
        )


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What came of the request of this number."""

    number: int
    results: dict[str, str | None] = {}
    mail: Mail | None = None
    lock: LockAnswer | None = None
    settlement: Settlement | None = None
    is_lost: bool = False
    silent_for: float | None = None
    error: str | None = None


Order = Task | Answer
"""What a worker says."""


class BegunMessage(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The handler is imported, or could not be, and its time begins.

    `cpu_before` is what the process had computed, in seconds, when it was given the attempt.
    """

    cpu_before: float
    peak_rss_mb: int


class OutcomeMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An outcome; exactly one of the first five says which, none of them means completed without a result.

    An error with a signature means that the arguments did not fit.
    """

    error: ErrorInfo | None = None
    snooze: timedelta | None = None
    wait: Wait | None = None
    cancel: str | None = None
    result: str | None = None
    hopeless: bool = False
    retry_after: timedelta | None = None
    signature: str | None = None
    queue: str | None = None

    @classmethod
    def of(cls, outcome: Outcome) -> OutcomeMessage:
        """Put an outcome into words."""
        match outcome:
            case Fail():
                return cls(
                    error=outcome.error,
                    hopeless=outcome.hopeless,
                    retry_after=outcome.retry_after,
                    queue=outcome.queue,
                )
            case Snoozed(delay):
                return cls(snooze=delay)
            case Waiting(wait):
                return cls(wait=wait)
            case Stopped(reason):
                return cls(cancel=reason)
            case Complete(result):
                return cls(result=result)
            case Misfit(error, signature):
                return cls(error=error, signature=signature)
            case Released() | Crashed():
                raise AssertionError(f"no handler can bring about {outcome}")

    @property
    def outcome(self) -> Outcome:
        """The outcome that was put into these words."""
        if self.error is not None and self.signature is not None:
            return Misfit(self.error, self.signature)
        if self.error is not None:
            return Fail(self.error, hopeless=self.hopeless, retry_after=self.retry_after, queue=self.queue)
        if self.snooze is not None:
            return Snoozed(self.snooze)
        if self.wait is not None:
            return Waiting(self.wait)
        if self.cancel is not None:
            return Stopped(self.cancel)
        return Complete(self.result)


class Report(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """How an attempt ended, and what it has used."""

    words: OutcomeMessage
    measured: Measured

    @classmethod
    def of(cls, outcome: Outcome, measured: Measured) -> Report:
        """Tell of an outcome."""
        return cls(words=OutcomeMessage.of(outcome), measured=measured)

    @property
    def outcome(self) -> Outcome:
        """The outcome that the message describes."""
        return self.words.outcome


class StepsAsked(msgspec.Struct, frozen=True, tag=True):
    """The handler has come to its first step: which are done?"""

    number: int


class StepDone(msgspec.Struct, frozen=True, tag=True):
    """A step is done and to be remembered."""

    number: int
    step: NewStep


class MailAsked(msgspec.Struct, frozen=True, tag=True):
    """The handler waits for a signal: what has come?"""

    number: int


class LockAsked(msgspec.Struct, frozen=True, tag=True):
    """The handler wants a lock."""

    number: int
    lock_id: str
    ttl: timedelta


class UnlockAsked(msgspec.Struct, frozen=True, tag=True):
    """The handler gives a lock back."""

    number: int
    lock: Lock


class LeaseAsked(msgspec.Struct, frozen=True, tag=True):
    """Does the attempt still hold its job?"""

    number: int


class ProgressMessage(msgspec.Struct, frozen=True, tag=True):
    """How far the handler has come."""

    progress: Progress


class NoteMade(msgspec.Struct, frozen=True, tag=True):
    """Facts that belong to the error, if the attempt fails, or what was reached until then."""

    facts: dict[str, Any] = {}
    partial_result: str | None = None


class Logged(msgspec.Struct, frozen=True, tag=True):
    """A line for the log."""

    level: int
    event: str
    facts: dict[str, Any]


class SettlementAsked(msgspec.Struct, frozen=True, tag=True):
    """The handler's own transaction is to end the job in this way: what is to be written?"""

    number: int
    words: OutcomeMessage


class Settled(msgspec.Struct, frozen=True, tag=True):
    """The handler's own transaction has ended the job."""

    words: OutcomeMessage


Request = (
    StepsAsked
    | StepDone
    | MailAsked
    | LockAsked
    | UnlockAsked
    | LeaseAsked
    | ProgressMessage
    | NoteMade
    | Logged
    | SettlementAsked
    | Settled
)
Word = BegunMessage | Report | Request
"""What a process says."""


def refuse_unsayable(outcome: Outcome) -> None:
    """Raise if the other side would not understand an outcome as it is meant; what is raised says why."""
    unpacking = Unpacking()
    unpacking.add(packed(Report.of(outcome, Measured(cpu_ms=0, peak_rss_mb=0))))
    report: Report | None = unpacking.next(Report)
    if report is None or report.outcome != outcome:
        raise ValueError(f"{type(outcome).__name__} is not understood as it is meant")


def packed(message: msgspec.Struct) -> bytes:
    """A message as it is sent."""
    text = msgspec.json.encode(message)
    return len(text).to_bytes(_LENGTH_BYTES, "big") + text


class Unpacking:
    """Puts messages together from the bytes that come in."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, received: bytes) -> None:
        """Take what was received."""
        self._bytes += received

    def next(self, kind: type[_T] | Any) -> _T | None:
        """The next message, None until all of it is there; raises msgspec.DecodeError for anything else."""
        end = _LENGTH_BYTES + int.from_bytes(self._bytes[:_LENGTH_BYTES], "big")
        if len(self._bytes) < max(end, _LENGTH_BYTES + 1):
            return None
        text = bytes(self._bytes[_LENGTH_BYTES:end])
        del self._bytes[:end]
        message: Any = msgspec.json.decode(text, type=kind)
        return message  # type: ignore[no-any-return]  # the decoder is typed by `kind`
