"""A job as a value: before it is stored, as it is stored, and while a worker holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, NewType, overload
from uuid import UUID

from backstay.model.signals import Wait
from backstay.model.states import FINISHED, State

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

JobId = NewType("JobId", UUID)
WorkerId = NewType("WorkerId", str)
Guard = tuple[JobId, int]
"""A job and the epoch under which it is held: what every write about an attempt names."""


class NewJob(NamedTuple):
    """A job that is checked and ready to be stored.

    `args`, `metadata`, `policy` and `tags` are JSON texts that passed the validator; None stands for empty.
    `is_plain` promises that nothing below `ageing_step` is set.
    A tuple, because thousands are made every second.
    """

    id: JobId
    kind: str
    queue: str
    args: str
    priority: int = 5
    ageing_step: timedelta = timedelta(hours=1)
    is_plain: bool = False
    delay: timedelta | None = None
    run_at: datetime | None = None
    held_for: str | None = None
    wait: Wait | None = None
    tenant: str = ""
    name: str | None = None
    description: str | None = None
    tags: str | None = None
    metadata: str | None = None
    policy: str | None = None
    max_attempts: int | None = None
    timeout: timedelta | None = None
    lease: timedelta | None = None
    parent_id: JobId | None = None
    correlation_id: str | None = None
    created_by: str | None = None
    expires_in: timedelta | None = None
    expires_at: datetime | None = None
    deadline_in: timedelta | None = None
    deadline: datetime | None = None
    idempotency_key: str | None = None
    unique_key: str | None = None
    unique_for: timedelta | None = None
    debounce_key: str | None = None
    longest_debounce: timedelta | None = None
    fingerprint: str | None = None
    order_key: str | None = None
    profile: str | None = None
    """The profile whose lanes and categories hold for it."""
    category: str | None = None
    postpone: tuple[int, timedelta] | None = None
    """From how many waiting jobs of its queue on it is due later, and by how much each time that number waits."""

    @property
    def is_keyed(self) -> bool:
        """Whether storing it may find that the job exists already."""
        return not (self.idempotency_key is self.unique_key is self.debounce_key is None)


class AlikeJobs(Sequence[NewJob]):
    """Plain jobs that differ in their ids and arguments only, as those of most batches do.

    Each is made when somebody looks at it: thousands are stored every second, and hardly anybody does.
    """

    def __init__(self, first: NewJob, ids: Sequence[JobId], args: Sequence[str]) -> None:
        self.first, self.ids, self.args = first, ids, args

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> NewJob: ...
    @overload
    def __getitem__(self, index: slice) -> AlikeJobs: ...
    def __getitem__(self, index: int | slice) -> NewJob | AlikeJobs:
        if isinstance(index, slice):
            return AlikeJobs(self.first, self.ids[index], self.args[index])
        return self.first._replace(id=self.ids[index], args=self.args[index])


class Stored(NamedTuple):
    """What became of one enqueue: the job's id, and whether it is the one just handed in."""

    id: JobId
    is_new: bool = True


class Claim(NamedTuple):
    """The right to run one attempt of one job; every write about the attempt needs it.

    It holds until the lease runs out and somebody else takes the job, which raises `epoch`.
    A tuple, because thousands are made every second.
    """

    id: JobId
    epoch: int
    kind: str
    queue: str
    args: str
    attempt: int
    max_attempts: int
    run: int
    crashes: int
    is_suspect: bool
    timeout: timedelta
    lease: timedelta
    tenant: str = ""
    policy: str | None = None
    correlation_id: str | None = None
    deadline: datetime | None = None
    worker: str = ""
    limits: tuple[str, ...] = ()
    """The limits of which it holds permits."""
    turn_microseconds: int | None = None
    """Its place in the line, where that is known: a number, because hardly any is looked at as a time."""
    crashes_in_row: int = 0
    """How many runs before this one ended by a crash of their worker; only who takes a job over knows it."""
    created_by: str | None = None
    tags: str | None = None
    metadata: str | None = None
    """These as JSON texts, because hardly any handler looks at them; who takes a job over does not know them."""
    waited_ms: int = 0
    """How long it had been due when it was claimed, by the database's clock; who takes a job over does not know it."""

    @property
    def turn(self) -> datetime | None:
        """Its place in the line as a time, where that is known."""
        given = self.turn_microseconds
        return None if given is None else _EPOCH + timedelta(microseconds=given)

    @property
    def guard(self) -> Guard:
        """What tells this claim from all others, those of the same job as well."""
        return self.id, self.epoch

    @property
    def is_last_attempt(self) -> bool:
        return self.attempt >= self.max_attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One run of a job; what it used is known where it ran in a process of its own."""

    job_id: JobId
    epoch: int
    attempt: int
    run: int
    status: str
    started_at: datetime
    finished_at: datetime | None
    duration_ms: int | None
    worker: str | None
    error: dict[str, Any] | None = None
    cpu_ms: int | None = None
    peak_rss_mb: int | None = None


@dataclass(frozen=True, slots=True)
class NewStep:
    """A step that its handler has just finished; `result` is JSON text that passed the validator."""

    name: str
    position: int
    result: str | None
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A part of a job that is done and not repeated; `attempt` and `run` tell when it was."""

    job_id: JobId
    name: str
    position: int
    result: Any
    attempt: int
    run: int
    worker: str | None
    duration_ms: int
    finished_at: datetime


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job has come, as its handler tells it."""

    current: float
    total: float | None = None
    message: str | None = None
    updated_at: datetime | None = None

    @property
    def percent(self) -> float | None:
        """The part that is done, 0 to 100; None without a total."""
        return None if self.total is None else min(100.0, 100 * self.current / self.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A stored job, as the database has it now."""

    id: JobId
    kind: str
    queue: str
    state: State
    reason: str | None
    priority: int
    tenant: str
    args: dict[str, Any]
    result: Any
    error: dict[str, Any] | None
    attempt: int
    max_attempts: int | None
    run: int
    crashes: int
    is_suspect: bool
    lease_epoch: int
    run_at: datetime
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    heartbeat_at: datetime | None
    lease_expires_at: datetime | None
    duration_ms: int | None
    worker: str | None
    name: str | None
    description: str | None
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    policy: dict[str, Any]
    parent_id: JobId | None
    correlation_id: str | None
    created_by: str | None
    idempotency_key: str | None
    expires_at: datetime | None
    deadline: datetime | None
    cancel_requested_at: datetime | None
    settled_epoch: int | None
    settled_by: str | None
    progress: Progress | None = None
    category: str | None = None

    @property
    def is_finished(self) -> bool:
        """Whether no worker will touch it any more."""
        return self.state in FINISHED

    @property
    def is_retrying(self) -> bool:
        """Whether it waits for another attempt after a failed one."""
        return self.state is State.SCHEDULED and self.attempt > 0
