"""What services ask of a store: a small protocol a noun, a sentence a method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from backstay.model.job import Attempt, Claim, Job, JobId, NewJob, Stored
from backstay.model.limits.admission import Claimed
from backstay.model.records import (
    Ending,
    JobFilter,
    KindRecord,
    Measured,
    NewWorker,
    QueueCount,
    Renewed,
    Reported,
    Seized,
    Settled,
    Tick,
    TickInfo,
    Vitals,
    Wanted,
    WorkerRecord,
)
from backstay.model.settlement import Settlement
from backstay.model.state_match import StateMatch
from backstay.model.states import State
from backstay.stores.contract.archive import Archive as Archive
from backstay.stores.contract.dead_letters import DeadLetters as DeadLetters
from backstay.stores.contract.erasing import Erasing
from backstay.stores.contract.figures import FigureCounts as FigureCounts
from backstay.stores.contract.flows import Flows as Flows
from backstay.stores.contract.handlers import Signals as Signals
from backstay.stores.contract.handlers import Steps as Steps
from backstay.stores.contract.handlers import Telling as Telling
from backstay.stores.contract.limits import Limits as Limits
from backstay.stores.contract.operators import AuditTrail as AuditTrail
from backstay.stores.contract.operators import Insights as Insights
from backstay.stores.contract.operators import Overrides as Overrides
from backstay.stores.contract.profiles import Profiles
from backstay.stores.contract.promoted_fields import PromotedFields
from backstay.stores.contract.queues import Queues as Queues
from backstay.stores.contract.queues import Quotas as Quotas
from backstay.stores.contract.schedules import Locks as Locks
from backstay.stores.contract.schedules import Schedules as Schedules
from backstay.stores.contract.service import ServiceStores as ServiceStores


class Enqueuing(Protocol):
    """Storing new jobs."""

    async def enqueue(self, jobs: Sequence[NewJob], *, hint: str | None = None) -> None:
        """Store jobs without keys, all or none; sending the same ones again changes nothing.

        A hint goes out with the commit of a single plain job, where the database has a way for that.
        """
        ...

    async def enqueue_keyed(self, jobs: Sequence[NewJob]) -> list[Stored]:
        """Store jobs, all or none, except those whose key stands for a job already, which is then returned.

        Raises IdempotencyMismatch when the key was used for something else.
        """
        ...


class Claims(Protocol):
    """The life of a claim."""

    async def claim(
        self,
        wanted: Sequence[Wanted],
        *,
        worker: str,
        claim_id: UUID,
        limit: int,
        suspects: int,
        since: datetime | None = None,
    ) -> list[Claim]:
        """Hand up to `limit` available jobs, in order of turn, and up to `suspects` suspects to a live worker.

        With `since`, jobs with an earlier turn are left out, but for suspects and where tenants take turns.
        """
        ...

    async def claim_limited(
        self,
        limited: Sequence[Wanted],
        plain: Sequence[Wanted],
        *,
        worker: str,
        claim_id: UUID,
        limit: int,
        limited_limit: int,
        suspects: int,
    ) -> Claimed:
        """Hand over up to `limit` jobs of both sorts in order of turn, with limits as far as those allow.

        Jobs that have to wait for a key are put aside, with the reason.
        """
        ...

    async def renew(self, claims: Sequence[Claim]) -> Renewed:
        """Extend the leases still held."""
        ...

    async def complete(
        self, finished: Sequence[tuple[Claim, str | None]], *, reacts: bool = False, skip_locked: bool = False
    ) -> Settled:
        """Record success and result of the claims still held; rows that others keep locked are left for later.

        With `reacts` it stores what follows from each, where its kind has declared a reaction; without, it does not
        ask. With `skip_locked` it does not wait for locks at all.
        """
        ...

    async def settle(
        self, settlements: Sequence[tuple[Claim, Settlement]], *, skip_locked: bool = False
    ) -> Settled:
        """Record any other outcome of the claims still held, with attempt, dead letter and audit line."""
        ...

    async def measure(self, measured: Sequence[tuple[Claim, Measured]]) -> None:
        """Keep what attempts have used."""
        ...

    async def cancel_requests(self, worker: str) -> dict[JobId, tuple[int, str]]:
        """The jobs of this worker that somebody wants stopped: their epoch and the reason."""
        ...

    async def has_work(self, wanted: Sequence[Wanted]) -> bool:
        """Tell whether jobs of these can run, do run or wait for a permit, wherever, or a schedule of theirs is due.

        What is due later, or paused, does not count.
        """
        ...

    async def strays(self, worker: str, *, unanswered: Sequence[UUID]) -> list[Claim]:
        """Claims stored for this worker in requests whose reply never came."""
        ...

    async def seize(
        self, *, limit: int, hold_for: timedelta, overrun: timedelta, as_of: datetime | None = None
    ) -> list[Seized]:
        """Take over claims that ran out or overran, by `as_of` and by the time now, whichever is earlier."""
        ...

    async def seize_worker(self, worker: str, *, limit: int, hold_for: timedelta) -> list[Seized]:
        """Take over everything that a worker known to be gone still holds."""
        ...

    async def reported(self, *, limit: int) -> list[Reported]:
        """Attempts that were worked from SQL and have ended; each is returned until it is settled."""
        ...

    async def forget_reports(self) -> None:
        """Remove what was said of attempts that are settled."""
        ...


class Jobs(Protocol):
    """Looking at jobs and acting on waiting ones."""

    async def get(self, job_id: JobId) -> Job | None:
        """The job, or None."""
        ...

    async def search(
        self, filters: JobFilter, *, before: JobId | None, limit: int, match: StateMatch | None = None
    ) -> list[Job]:
        """A page of jobs, newest first; a match says by an application's words what the filter's state cannot."""
        ...

    async def counts(self, *, tenant: str | None = None, most: int = ...) -> list[QueueCount]:
        """How many jobs there are of each queue, kind and state, of one tenant or of all, counted up to `most`."""
        ...

    async def attempts(self, job_id: JobId) -> list[Attempt]:
        """The finished attempts that did not complete the job."""
        ...

    async def runs(self, job_id: JobId) -> list[Attempt]:
        """Every run, the one that completed the job and the one under way included."""
        ...

    async def cancel(self, job_id: JobId, *, actor: str, reason: str, running: bool) -> State:
        """Cancel a waiting job, or ask for a running one to be stopped; returns the state it is in now.

        Raises WrongState when the job has ended, or runs and `running` is False.
        """
        ...

    async def reschedule(self, job_id: JobId, *, run_at: datetime, actor: str) -> None:
        """Move a waiting job to another time."""
        ...

    async def hold(self, job_id: JobId, *, reason: str, actor: str) -> None:
        """Put a waiting job aside."""
        ...

    async def release(self, job_id: JobId, *, actor: str) -> None:
        """Let a held job go on."""
        ...

    async def change_priority(
        self, job_id: JobId, *, priority: int, ageing_step: timedelta, actor: str, reason: str | None
    ) -> str:
        """Give a waiting job another place in the line, as if it had been stored so; returns its queue."""
        ...

    async def clone(self, job_id: JobId, new: NewJob, *, actor: str, reason: str | None) -> None:
        """Store a new job that was made from this one, whatever has become of it; sent again, it changes nothing.

        Raises QuotaExceeded where the tenant has too many waiting.
        """
        ...

    async def ending(self, job_id: JobId) -> Ending | None:
        """How the job ended or where it stands; None when there is no such job."""
        ...

    async def note_waiter(self, job_id: JobId) -> str | None:
        """Have the end of this job announced.

        Returns the queue of a job that can be claimed now: a claim at the same moment may have passed over it.
        """
        ...


class Upkeep(Protocol):
    """What keeps the tables in order."""

    async def promote(self, *, limit: int) -> list[str]:
        """Make due jobs available; returns the queue of each."""
        ...

    async def next_due(self) -> timedelta | None:
        """How long until the next scheduled job is due, or the next wait for a signal runs out."""
        ...

    async def expire(self, *, limit: int) -> int:
        """Cancel jobs that were not started in time."""
        ...

    async def miss_deadlines(self, *, limit: int) -> int:
        """Give up waiting jobs whose deadline has passed."""
        ...

    async def tend_misfits(self, *, limit: int) -> list[str]:
        """Release jobs whose arguments a living worker may fit, and give up those that have waited long enough.

        Returns the queue of each job released.
        """
        ...

    async def delete_finished(
        self, keep: Mapping[State, timedelta], *, after: UUID, limit: int
    ) -> UUID | None:
        """Look at the next `limit` jobs by age and remove those that ended longer ago than their state is kept.

        States that are not named stay. Returns where to go on, None at the end.
        """
        ...

    async def forget_letters(self, *, keep: timedelta) -> None:
        """Forget closed dead letters that are older, of jobs that are gone."""
        ...

    async def forget_keys(self) -> None:
        """Drop idempotency and unique keys that have served their time, and flows without jobs."""
        ...

    async def forget_unused(self, *, fires: timedelta, locks: timedelta, workers: timedelta) -> None:
        """Drop limits of keys that nobody uses, and the fires, locks and workers that ended longer ago than this."""
        ...


class Kinds(Protocol):
    """What is known of kinds across processes."""

    async def declare(self, kinds: Sequence[KindRecord]) -> None:
        """Remember these kinds; the newest word wins and a disagreement is kept."""
        ...

    async def add_routes(self, routes: Sequence[tuple[str, str]]) -> None:
        """Remember (queue, kind) pairs that jobs are sent to besides the kind's own queue."""
        ...

    async def all(self) -> list[KindRecord]:
        """Every kind known."""
        ...


class Workers(Protocol):
    """The register of workers, and who leads."""

    async def tick(self, worker: str, *, vitals: Vitals, lease: timedelta, overrun: timedelta) -> Tick:
        """Give a sign of life, take or keep the leadership, and look what there is to do, in one transaction."""
        ...

    async def tick_info(self, worker: str) -> TickInfo:
        """What a tick tells of routes and neighbours, without writing anything."""
        ...

    async def register(self, worker: NewWorker) -> None:
        """Enter a worker that starts."""
        ...

    async def retire(self, worker: str, *, state: str) -> None:
        """Note that a worker is stopping, or has stopped."""
        ...

    async def tell(self, worker: str, told: str, *, actor: str, reason: str | None) -> bool:
        """Tell a living worker to `drain`, `resume` or `stop`; False when there is none with this id."""
        ...

    async def declare_dead(self, *, silence: timedelta) -> list[str]:
        """Give up workers not heard of for this long."""
        ...

    async def declare_one_dead(self, worker: str) -> bool:
        """Give up one worker whose process is gone; False when somebody did so before."""
        ...

    async def all(self, *, limit: int = 200) -> list[WorkerRecord]:
        """Workers, the living first."""
        ...

    async def resign(self, worker: str) -> None:
        """Give the leadership up."""
        ...


@dataclass(frozen=True, slots=True)
class Stores:
    """One store a noun, on the connections of one purpose."""

    enqueuing: Enqueuing
    claims: Claims
    jobs: Jobs
    upkeep: Upkeep
    dead_letters: DeadLetters
    erasing: Erasing
    kinds: Kinds
    workers: Workers
    queues: Queues
    quotas: Quotas
    audit: AuditTrail
    insights: Insights
    figures: FigureCounts
    overrides: Overrides
    profiles: Profiles
    promoted: PromotedFields
    steps: Steps
    progress: Telling
    flows: Flows
    limits: Limits
    schedules: Schedules
    locks: Locks
    signals: Signals
    service: ServiceStores
    archive: Archive
