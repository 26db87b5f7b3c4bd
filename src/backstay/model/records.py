"""What stores take and give besides jobs themselves: plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from backstay.model.job import Claim, Job, JobId
from backstay.model.limits.declared import UNLIMITED, PairLimits
from backstay.model.limits.fairness import Fair
from backstay.model.schedules.records import ScheduleLook
from backstay.model.states import State


@dataclass(frozen=True, slots=True)
class Wanted:
    """A kind that a worker can run, in one queue, with the numbers its policy came to."""

    queue: str
    kind: str
    lease: timedelta
    timeout: timedelta
    max_attempts: int
    limits: PairLimits = UNLIMITED
    fair: Fair | None = None
    """How the tenants of the queue take turns; None where jobs go by their turn alone."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a batch of settlements; `locked` rows are in another transaction's hands for now."""

    done: frozenset[JobId] = frozenset()
    lost: frozenset[JobId] = frozenset()
    locked: frozenset[JobId] = frozenset()
    awaited: frozenset[JobId] = frozenset()
    freed: frozenset[str] = frozenset()
    """The queues where jobs can go on that waited for a permit of these; "*" for all."""


@dataclass(frozen=True, slots=True)
class Renewed:
    """What became of a batch of renewals; `cancel` are those somebody wants stopped, with the reason."""

    held: frozenset[JobId]
    lost: frozenset[JobId]
    locked: frozenset[JobId] = frozenset()
    cancel: Mapping[JobId, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one attempt has used."""

    cpu_ms: int
    peak_rss_mb: int


@dataclass(frozen=True, slots=True)
class Seized:
    """A claim taken over from a worker that is gone, or whose handler overran."""

    claim: Claim
    ran_out: bool
    missed_deadline: bool


@dataclass(frozen=True, slots=True)
class Reported:
    """How an attempt ended that was worked from SQL, as it was said there."""

    claim: Claim
    outcome: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ending:
    """A job's state, and what belongs to it once it has ended; `result` is JSON text."""

    state: State
    result: str | None
    reason: str | None
    error: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class MaintenanceLook:
    """What there is to do for maintenance, and what the database knows of time."""

    now: datetime
    started_at: datetime
    due_in: timedelta | None
    has_expired: bool
    has_unstarted: bool
    has_late: bool
    has_paused: bool = False
    """Whether a paused tenant has jobs that could run."""
    has_waiting_children: bool = False
    has_parked: bool = False
    has_reports: bool = False
    """Whether attempts ended that were worked from SQL."""
    has_misfits: bool = False
    """Whether jobs are held because their arguments did not fit a worker's code."""
    has_operations: bool = False
    """Whether an action on many jobs is under way."""
    has_webhooks: bool = False
    """Whether somebody is to be told of ends."""
    has_unchained: bool = False
    """Whether the audit trail has lines that no chain has."""
    token_in: timedelta | None = None
    silence: timedelta = timedelta(0)
    """For how long the quietest worker that should live has not been heard of."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another worker of the same machine; `process_started` as `process_facts` has it."""

    id: str
    pid: int
    process_started: datetime | None


@dataclass(frozen=True, slots=True)
class TickInfo:
    """Where jobs are sent besides their own queues, who else works on this machine, and what operators changed.

    `has_competitors` tells whether another worker, on whichever machine, takes jobs of the same kinds and queues;
    `told` is what somebody told this worker to do last.
    """

    routes: frozenset[tuple[str, str]] = frozenset()
    neighbours: tuple[Neighbour, ...] = ()
    has_competitors: bool = False
    overrides: tuple[Override, ...] = ()
    told: str | None = None
    other_code: frozenset[str] = frozenset()
    """The kinds that a living worker of another release takes, too."""


@dataclass(frozen=True, slots=True)
class Tick:
    """What a worker learns from its sign of life: the database's time `now` if it lives, a `look` only as leader."""

    is_alive: bool
    is_leader: bool
    now: datetime | None = None
    tick_info: TickInfo = TickInfo()
    look: MaintenanceLook | None = None
    schedules: ScheduleLook | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs a search is about; every field left out lets all through.

    `state` is a state, a word of the application's profile, or several of them.
    """

    state: State | str | Sequence[State | str] | None = None
    kind: str | None = None
    queue: str | None = None
    tenant: str | None = None
    category: str | None = None
    worker: str | None = None
    tag: str | None = None
    correlation_id: str | None = None
    created_by: str | None = None
    error_class: str | None = None
    """The class of its last error, such as `timeout`."""
    parent_id: JobId | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    finished_from: datetime | None = None
    finished_to: datetime | None = None
    text: str | None = None
    """What name, description or last error contain, in any case."""
    order: Literal["newest", "oldest"] | None = None
    """Which come first, by when they were stored; the newest if left out."""
    promoted: Mapping[str, Any] | None = None
    """Values of promoted fields by their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What an erasure came to; where the last two are not 0, call again later."""

    jobs: int = 0
    letters: int = 0
    running: int = 0
    """Jobs that were asked to stop."""
    awaited: int = 0
    """Jobs whose result or end another job still waits for."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the jobs a search found; `cursor` leads to the next ones, None when these were the last."""

    jobs: list[Job]
    cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """One death of a job: why, after how many runs, and what a person decided.

    `version` rises with every change; hand it back when closing, and a decision made on old facts is refused.
    """

    job_id: JobId
    epoch: int
    tenant: str
    kind: str
    queue: str
    reason: str
    fingerprint: str
    error: dict[str, Any] | None
    attempts: int
    first_attempted_at: datetime | None
    died_at: datetime
    status: str
    owner: str | None
    note: str | None
    resolution: str | None
    resolved_by: str | None
    resolved_at: datetime | None
    changed_by: str | None
    changed_at: datetime | None
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterFilter:
    """Which open dead letters a decision is about; every field left out lets all through."""

    kind: str | None = None
    queue: str | None = None
    tenant: str | None = None
    fingerprint: str | None = None
    older_than: timedelta | None = None


@dataclass(frozen=True, slots=True)
class LetterMark:
    """Where a walk through open dead letters, oldest first, has come to."""

    died_at: datetime
    job_id: JobId


@dataclass(frozen=True, slots=True)
class BulkDecision:
    """What came of a decision about many dead letters; skipped are those that others decided, or whose key is taken."""

    done: int
    skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterGroup:
    """Open dead letters that have most likely the same cause; `job_id` and `message` are of the newest."""

    fingerprint: str
    kind: str
    error_type: str
    message: str
    letters: int
    first_died_at: datetime
    last_died_at: datetime
    job_id: JobId
    last_closed_at: datetime | None = None
    """When somebody last decided about a letter of this cause; None if nobody ever has."""
    is_capped: bool = False
    """True if there are more letters than were counted."""

    @property
    def is_regressed(self) -> bool:
        """True if it struck again after somebody had decided about it."""
        return self.last_closed_at is not None and self.last_died_at > self.last_closed_at


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterHour:
    """How many open dead letters of one cause are from the hour that begins at `at`."""

    fingerprint: str
    at: datetime
    letters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """Who did what, when and why."""

    at: datetime
    tenant: str
    actor: str
    action: str
    job_id: JobId | None
    from_state: str | None
    to_state: str | None
    reason: str | None
    details: dict[str, Any] | None
    source: str | None = None
    """From where it was asked for, such as an address with the prefix of an API key; None if nobody has said."""
    id: int = 0
    """Its place in the trail: later lines have larger numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which lines of the audit trail a search is about; every field left out lets all through."""

    tenant: str | None = None
    actor: str | None = None
    action: str | None = None
    job_id: JobId | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRecord:
    """A worker's entry in the database."""

    id: str
    state: str
    host: str
    boot_id: str | None
    pid: int
    version: str
    kinds: tuple[str, ...]
    queues: tuple[str, ...]
    concurrency: int
    running: int
    started_at: datetime
    heartbeat_at: datetime
    silent_for: timedelta
    type: str = "general"
    settled: int = 0
    tainted: int = 0
    cpu_percent: float | None = None
    rss_mb: int | None = None
    loop_lag_ms: int | None = None
    told: str | None = None
    """What somebody told it to do last: `drain`, `resume` or `stop`."""
    told_by: str | None = None
    told_at: datetime | None = None

    @property
    def standing(self) -> str:
        """Its state in a word: `draining` is a living one that was told to claim no more."""
        return "draining" if self.state == "alive" and self.told == "drain" else self.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """How a worker fares; `tainted` handlers ignore that their time is over and keep their slots.

    `loop_lag_ms` is how long the handlers' event loop takes to answer; the rest is what the process uses.
    """

    running: int = 0
    settled: int = 0
    tainted: int = 0
    cpu_percent: float | None = None
    rss_mb: int | None = None
    loop_lag_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWorker:
    """A worker about to start."""

    id: str
    host: str
    boot_id: str | None
    pid: int
    process_started: datetime | None
    version: str
    kinds: tuple[str, ...]
    queues: tuple[str, ...]
    concurrency: int
    type: str = "general"
    signatures: Mapping[str, str] = field(default_factory=dict)
    """What it reads the arguments of each kind by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRecord:
    """What the database knows of a kind, for processes that do not have its handler."""

    kind: str
    queue: str
    policy: dict[str, Any]
    arguments: dict[str, Any] | None
    fingerprint: str
    description: str | None = None
    declared_by: str | None = None
    updated_at: datetime | None = None
    conflict: dict[str, Any] | None = None
    promoted: dict[str, Any] | None = None
    ordered_by: str | None = None
    reactions: dict[str, Any] | None = None
    is_limited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What became of the promoted fields of some jobs; `last` is where to go on, None at the end."""

    filled: int
    problems: dict[JobId, str]
    last: JobId | None


@dataclass(frozen=True, slots=True)
class TableHealth:
    """How many rows, or pages of a file, are in use and how many are dead and not given back."""

    name: str
    live: int
    dead: int


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that somebody has open."""

    pid: int
    application: str
    open_for: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a database fares."""

    tables: tuple[TableHealth, ...] = ()
    oldest: OpenTransaction | None = None


OverrideScope = Literal["queue", "kind"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A number of a queue or a kind that an operator has changed; `change` is the policy layer as JSON."""

    scope: OverrideScope
    name: str
    field: str
    change: str
    set_at: datetime
    set_by: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCount:
    """How many jobs share a queue, kind and state; where it `is_capped` there are more that were not counted."""

    queue: str
    kind: str
    state: State
    jobs: int
    oldest_run_at: datetime | None
    is_capped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Jobs of one queue and kind that could run now, and how long the first of them could have."""

    queue: str
    kind: str
    jobs: int
    oldest_for: timedelta


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule about ended jobs that some of them break, with one of them as an example."""

    rule: str
    jobs: int
    example: JobId


@dataclass(frozen=True, slots=True)
class Engine:
    """Which database it is, `postgres` or `sqlite`, and what its clock says."""

    name: str
    version: str
    now: datetime
