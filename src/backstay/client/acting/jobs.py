"""Jobs, their dead letters and their signals, for somebody who acts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from backstay.client.acting.scope import Scope
from backstay.errors import JobFailed, JobNotFound, ResultTimeout
from backstay.handle import JobHandle
from backstay.handler import JobArgs
from backstay.model.job import Attempt, Job, JobId, Step
from backstay.model.records import (
    AuditEntry,
    BulkDecision,
    DeadLetter,
    DeadLetterFilter,
    DeadLetterGroup,
    DeadLetterHour,
    Erased,
    JobFilter,
    Page,
    QueueCount,
)
from backstay.model.rights import PAYLOADS
from backstay.model.signals import Signal
from backstay.model.states import State
from backstay.model.text.durations import Duration
from backstay.options import NO_OPTIONS, JobOptions


@dataclass(frozen=True, slots=True)
class ActingJobs:
    """The jobs that somebody may see, and what they may do with them."""

    scope: Scope

    async def enqueue(
        self, kind: str, args: Mapping[str, Any] | None = None, options: JobOptions = NO_OPTIONS
    ) -> JobHandle[Any]:
        """Store a job by the name of its kind, for the tenant and in the actor's name."""
        self.scope.need("jobs.enqueue")
        self.scope.check_kind(kind, "jobs.enqueue")
        return await self.scope.app.jobs.enqueue_by_name(kind, args, self._own(options))

    async def enqueue_many(
        self, calls: Sequence[tuple[str, Mapping[str, Any], JobOptions]]
    ) -> list[JobHandle[Any]]:
        """Store many jobs by the names of their kinds, all or none; the handles come in the order given."""
        self.scope.need("jobs.enqueue")
        kinds = sorted({one[0] for one in calls})
        for kind in kinds:
            self.scope.check_kind(kind, "jobs.enqueue")
        known = {kind: await self.scope.app._enqueuer.spec_of(kind) for kind in kinds}
        return await self.scope.app.jobs.enqueue_many(
            [
                JobArgs(known[kind], known[kind].bind((), args), self._own(options))
                for kind, args, options in calls
            ]
        )

    def _own(self, options: JobOptions) -> JobOptions:
        """The options of a job that belongs to the tenant and is signed by the actor."""
        own = replace(options, created_by=self.scope.actor)
        return own if self.scope.only_tenant is None else replace(own, tenant=self.scope.tenant)

    async def get(self, job_id: UUID | str) -> Job:
        """The job as it is now; raises JobNotFound."""
        return await self.scope.job(job_id, "jobs.read")

    async def wait(self, job_id: UUID | str, *, timeout: timedelta | float) -> Job:
        """The job when it has ended, or as it is after `timeout`."""
        job = await self.get(job_id)
        with suppress(ResultTimeout, JobFailed):
            await self.scope.app.jobs.result(job.id, timeout=timeout)
        return await self.get(job.id)

    async def search(
        self, filters: JobFilter | None = None, *, cursor: str | None = None, limit: int = 50
    ) -> Page:
        """A page of jobs, newest first."""
        self.scope.need("jobs.read")
        asked = filters or JobFilter()
        if self.scope.only_tenant is not None:
            if asked.tenant not in (None, self.scope.tenant):
                return Page([], None)
            asked = replace(asked, tenant=self.scope.tenant)
        return await self.scope.app.jobs.search(asked, cursor=cursor, limit=limit)

    async def counts(self) -> list[QueueCount]:
        """How many jobs there are of each queue, kind and state."""
        self.scope.need("jobs.read")
        return await self.scope.app.jobs.counts(tenant=self.scope.only_tenant)

    async def attempts(self, job_id: UUID | str) -> list[Attempt]:
        """The finished attempts that did not complete the job, in order."""
        return await self.scope.app.jobs.attempts((await self.get(job_id)).id)

    async def runs(self, job_id: UUID | str) -> list[Attempt]:
        """Every run of the job in order."""
        return await self.scope.app.jobs.runs((await self.get(job_id)).id)

    async def steps(self, job_id: UUID | str) -> list[Step]:
        """The steps of the job that are done, in order."""
        return await self.scope.app.jobs.steps((await self.get(job_id)).id)

    async def history(self, job_id: UUID | str) -> list[AuditEntry]:
        """What was done to the job and by whom, in order."""
        return await self.scope.app.jobs.history((await self.get(job_id)).id)

    async def erase(self, filters: JobFilter, *, reason: str) -> Erased:
        """Remove all jobs of the tenant that fit for good; a right of its own, which operators do not have."""
        self.scope.need("tenants.erase")
        if self.scope.only_tenant is not None:
            filters = replace(filters, tenant=self.scope.tenant)
        return await self.scope.app.jobs.erase(filters, by=self.scope.actor, reason=reason)

    async def cancel(self, job_id: UUID | str, *, reason: str) -> State:
        """Cancel a waiting job, or ask for a running one to stop."""
        job = await self.scope.job(job_id, "jobs.cancel")
        return await self.scope.app.jobs.cancel(job.id, reason=reason, by=self.scope.actor)

    async def reschedule(self, job_id: UUID | str, run_at: datetime) -> None:
        """Move a waiting job to another time."""
        job = await self.scope.job(job_id, "jobs.reschedule")
        await self.scope.app.jobs.reschedule(job.id, run_at, by=self.scope.actor)

    async def run_now(self, job_id: UUID | str) -> None:
        """Let a job that is scheduled for later run as soon as a worker is free."""
        job = await self.scope.job(job_id, "jobs.reschedule")
        await self.scope.app.jobs.run_now(job.id, by=self.scope.actor)

    async def set_priority(
        self, job_id: UUID | str, priority: int | str, *, reason: str | None = None
    ) -> None:
        """Give a waiting job another priority."""
        job = await self.scope.job(job_id, "jobs.set_priority")
        await self.scope.app.jobs.set_priority(job.id, priority, reason=reason, by=self.scope.actor)

    async def clone(
        self,
        job_id: UUID | str,
        *,
        args: Mapping[str, Any] | None = None,
        delay: Duration | None = None,
        reason: str | None = None,
    ) -> JobId:
        """Store a new job like this one; returns its id."""
        job = await self.scope.job(job_id, "jobs.clone")
        if args is not None:
            self.scope.check_kind(job.kind, "jobs.clone")
        return await self.scope.app.jobs.clone(
            job.id, args=args, delay=delay, reason=reason, by=self.scope.actor
        )

    async def hold(self, job_id: UUID | str, *, reason: str) -> None:
        """Put a waiting job aside until it is released."""
        job = await self.scope.job(job_id, "jobs.hold")
        await self.scope.app.jobs.hold(job.id, reason=reason, by=self.scope.actor)

    async def release(self, job_id: UUID | str) -> None:
        """Let a held job go on."""
        job = await self.scope.job(job_id, "jobs.release")
        await self.scope.app.jobs.release(job.id, by=self.scope.actor)


@dataclass(frozen=True, slots=True)
class ActingDeadLetters:
    """The dead letters that somebody may see and decide about."""

    scope: Scope

    async def open(
        self,
        *,
        kind: str | None = None,
        queue: str | None = None,
        fingerprint: str | None = None,
        owner: str | None = None,
        limit: int = 100,
    ) -> list[DeadLetter]:
        """Dead letters nobody has closed, newest first."""
        self.scope.need("dead_letters.read")
        return await self.scope.app.dead_letters.open(
            kind=kind,
            queue=queue,
            tenant=self.scope.only_tenant,
            fingerprint=fingerprint,
            owner=owner,
            limit=limit,
        )

    async def groups(
        self, *, kind: str | None = None, queue: str | None = None, limit: int = 100
    ) -> list[DeadLetterGroup]:
        """Dead letters nobody has closed, by their cause, the most frequent first."""
        self.scope.need("dead_letters.read")
        return await self.scope.app.dead_letters.groups(
            kind=kind, queue=queue, tenant=self.scope.only_tenant, limit=limit
        )

    async def by_hour(self, last: timedelta | float | str = timedelta(days=1)) -> list[DeadLetterHour]:
        """How many letters that nobody has closed each cause has from each hour of the last while."""
        self.scope.need("dead_letters.read")
        return await self.scope.app.dead_letters.by_hour(last, tenant=self.scope.only_tenant)

    async def of_job(self, job_id: UUID | str) -> list[DeadLetter]:
        """Every death of one job, newest first."""
        job = await self.scope.job(job_id, "dead_letters.read")
        return await self.scope.app.dead_letters.of_job(job.id)

    async def arguments(self, job_id: UUID | str) -> list[dict[str, Any] | None]:
        """The arguments that a job died with each time, newest first; for those who may see payloads."""
        job = await self.scope.job(job_id, "dead_letters.read")
        self.scope.need(PAYLOADS)
        return await self.scope.app.dead_letters.arguments(job.id)

    async def investigate(
        self, job_id: UUID | str, *, note: str | None = None, version: int | None = None
    ) -> int:
        """Say that the actor looks into a dead job; returns the version of its letter."""
        job = await self.scope.job(job_id, "dead_letters.investigate")
        return await self.scope.app.dead_letters.investigate(
            job.id, by=self.scope.actor, note=note, version=version
        )

    async def retry(
        self,
        job_id: UUID | str,
        *,
        reason: str,
        delay: timedelta | float | str = 0,
        version: int | None = None,
        args: Mapping[str, Any] | None = None,
        as_new: bool = False,
    ) -> JobId:
        """Run a dead job again; returns the id of the job that will run."""
        job = await self.scope.job(job_id, "dead_letters.retry")
        if args is not None:
            self.scope.check_kind(job.kind, "dead_letters.retry")
        return await self.scope.app.dead_letters.retry(
            job.id,
            by=self.scope.actor,
            reason=reason,
            delay=delay,
            version=version,
            args=args,
            as_new=as_new,
        )

    async def resolve(self, job_id: UUID | str, *, reason: str, version: int | None = None) -> None:
        """Close a dead job without running it, because the matter is settled."""
        job = await self.scope.job(job_id, "dead_letters.resolve")
        await self.scope.app.dead_letters.resolve(job.id, by=self.scope.actor, reason=reason, version=version)

    async def ignore(self, job_id: UUID | str, *, reason: str, version: int | None = None) -> None:
        """Close a dead job without running it, because it does not matter."""
        job = await self.scope.job(job_id, "dead_letters.resolve")
        await self.scope.app.dead_letters.ignore(job.id, by=self.scope.actor, reason=reason, version=version)

    async def count(self, filters: DeadLetterFilter) -> int:
        """How many open letters `retry_all` or `resolve_all` would be about."""
        self.scope.need("dead_letters.read")
        return await self.scope.app.dead_letters.count(self._own(filters))

    async def retry_all(
        self, filters: DeadLetterFilter, *, reason: str, limit: int | None = None, pace: float | None = None
    ) -> BulkDecision:
        """Retry every dead job the filter lets through, oldest first."""
        self.scope.need("dead_letters.retry")
        return await self.scope.app.dead_letters.retry_all(
            self._own(filters), by=self.scope.actor, reason=reason, limit=limit, pace=pace
        )

    async def resolve_all(
        self, filters: DeadLetterFilter, *, reason: str, limit: int | None = None, pace: float | None = None
    ) -> BulkDecision:
        """Close every dead job the filter lets through without running it."""
        self.scope.need("dead_letters.resolve")
        return await self.scope.app.dead_letters.resolve_all(
            self._own(filters), by=self.scope.actor, reason=reason, limit=limit, pace=pace
        )

    def _own(self, filters: DeadLetterFilter) -> DeadLetterFilter:
        if self.scope.only_tenant is None:
            return filters
        if filters.tenant not in (None, self.scope.tenant):
            raise JobNotFound(f"dead letters of {filters.tenant}")
        return replace(filters, tenant=self.scope.tenant)


@dataclass(frozen=True, slots=True)
class ActingSignals:
    """The signals that somebody may send."""

    scope: Scope

    async def send(
        self, job_id: UUID | str, name: str, payload: Any = None, *, key: str | None = None
    ) -> bool:
        """Send a job what its handler waits for; False when it was there already under this key."""
        job = await self.scope.job(job_id, "signals.send")
        return await self.scope.app.signals.send(job.id, name, payload, key=key, by=self.scope.actor)

    async def of_job(self, job_id: UUID | str) -> list[Signal]:
        """What a job has received, in the order in which it came."""
        job = await self.scope.job(job_id, "signals.read")
        return await self.scope.app.signals.of_job(job.id)
