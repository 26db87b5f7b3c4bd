"""Enqueueing jobs, looking at them and acting on them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from backstay.client import cursor as cursors
from backstay.client.arguments import job_id as to_id
from backstay.client.arguments import who, why
from backstay.client.cloning import clone_of, known_spec
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.client.erasing import Eraser
from backstay.client.retry_until_known import until_certain
from backstay.client.waiting import Waiter
from backstay.errors import InvalidPolicy, JobNotFound, SearchTooLong, UnknownKind
from backstay.handle import JobHandle
from backstay.handler import JobArgs
from backstay.handlers import codec
from backstay.model.job import Attempt, Job, JobId, Step
from backstay.model.records import AuditEntry, Erased, JobFilter, Page, QueueCount
from backstay.model.states import State
from backstay.model.text.durations import Duration, duration
from backstay.options import NO_OPTIONS, JobOptions
from backstay.wakeups.contract import CANCEL, LATER, queue_hint

LARGEST_PAGE = 200
MOST_PROMOTED = 1000


@dataclass(frozen=True)
class Jobs:
    """The jobs of one application, from one event loop."""

    _enqueuer: Enqueuer
    _waiter: Waiter
    _secret: Callable[[], Awaitable[bytes]]

    async def enqueue_by_name(
        self, kind: str, args: Mapping[str, Any] | None = None, options: JobOptions = NO_OPTIONS
    ) -> JobHandle[Any]:
        """Store one job by the name of its kind, which may live in another program."""
        spec = await self._enqueuer.spec_of(kind)
        return await self._enqueuer.enqueue(spec, spec.bind((), dict(args or {})), options)

    async def enqueue_many(self, calls: Sequence[JobArgs[Any]], *, tx: object = None) -> list[JobHandle[Any]]:
        """Store many jobs in one statement, all or none; the handles come in the order given.

        Raises InvalidBatch that names every bad job (the first hundred), and then nothing was stored.
        """
        return await self._enqueuer.enqueue_many(calls, tx=tx)

    async def get(self, job_id: UUID | str) -> Job:
        """The job as it is now; raises JobNotFound."""
        job = await self._enqueuer.stores.jobs.get(to_id(job_id))
        if job is None:
            raise JobNotFound(job_id)
        return job

    async def search(
        self,
        filters: JobFilter | None = None,
        *,
        cursor: str | None = None,
        limit: int = 50,
        timeout: Duration = "5s",
    ) -> Page:
        """A page of jobs, newest first; raises InvalidPolicy for a state that the profile has no word for.

        SearchTooLong where the page is not found in time, as it may be among millions where hardly any fits.
        """
        filters = check_filter(filters or JobFilter())
        state = filters.state
        is_plain = state is None or isinstance(state, State)
        match = None if is_plain or state is None else self._enqueuer.builder.profile.match(state)
        limit = max(1, min(limit, LARGEST_PAGE))
        search = self._enqueuer.stores.jobs.search
        if filters.promoted:
            table, values = await self._enqueuer.promoted._located(filters.promoted)
            filters, search = (
                replace(filters, promoted=values),
                partial(self._enqueuer.stores.promoted.search, table),
            )
        # A search that fits on one page only reads: the secret is written when it is first asked for.
        before = None if cursor is None else cursors.read(await self._secret(), filters, cursor)
        within = duration(timeout, field="timeout")
        try:
            async with asyncio.timeout(within.total_seconds()):
                found = await search(filters, before=before, limit=limit + 1, match=match)
        except TimeoutError:
            raise SearchTooLong(within) from None
        page = found[:limit]
        more = cursors.write(await self._secret(), filters, page[-1].id) if len(found) > limit else None
        return Page(page, more)

    async def counts(self, *, tenant: str | None = None) -> list[QueueCount]:
        """How many jobs there are of each queue, kind and state, of one tenant or of all.

        Each state is counted up to 10,000, and what has ended among the newest 10,000 jobs; beyond that `is_capped`
        tells that there are more.
        """
        return await self._enqueuer.stores.jobs.counts(tenant=tenant)

    async def erase(self, filters: JobFilter, *, by: str, reason: str) -> Erased:
        """Remove all jobs that fit for good, with all that belongs to them: steps, signals, dead letters, keys.

        The filter needs a tenant or promoted fields. What waits is cancelled first, what runs is asked to stop and
        stays: call again until `running` and `awaited` are 0. The audit trail keeps who did it, why, how many, and
        hashes of the values asked for.
        """
        eraser = Eraser(self, self._enqueuer.stores, self._secret)
        return await eraser.erase(filters, actor=who(by), reason=why(reason))

    async def attempts(self, job_id: UUID | str) -> list[Attempt]:
        """The finished attempts that did not complete the job, in order."""
        return await self._enqueuer.stores.jobs.attempts(to_id(job_id))

    async def runs(self, job_id: UUID | str) -> list[Attempt]:
        """Every run of the job in order, the one that completed it and the one under way included."""
        return await self._enqueuer.stores.jobs.runs(to_id(job_id))

    async def steps(self, job_id: UUID | str) -> list[Step]:
        """The steps of the job that are done and will not be repeated, in order."""
        return await self._enqueuer.stores.steps.of_job(to_id(job_id))

    async def history(self, job_id: UUID | str) -> list[AuditEntry]:
        """What was done to the job and by whom, in order."""
        return await self._enqueuer.stores.audit.of_job(to_id(job_id))

    async def cancel(self, job_id: UUID | str, *, reason: str = "cancelled", by: str = "client") -> State:
        """Cancel a waiting job, or ask for a running one to stop; returns `cancelled` or `running`.

        Raises WrongState when the job has ended, or when it runs and its policy refuses to stop running jobs.
        """
        job = await self.get(job_id)
        running = await self._may_cancel_running(job)
        state = await self._enqueuer.stores.jobs.cancel(job.id, actor=by, reason=reason, running=running)
        self._enqueuer.wakeups.send(CANCEL)
        return state

    async def reschedule(self, job_id: UUID | str, run_at: datetime, *, by: str = "client") -> None:
        """Move a waiting job to another time."""
        await self._enqueuer.stores.jobs.reschedule(to_id(job_id), run_at=run_at, actor=by)
        self._enqueuer.wakeups.send(LATER)

    async def run_now(self, job_id: UUID | str, *, by: str = "client") -> None:
        """Let a job that is scheduled for later, or waits for another attempt, run as soon as a worker is free."""
        stores = self._enqueuer.stores
        await stores.jobs.reschedule(to_id(job_id), run_at=(await stores.insights.engine()).now, actor=by)
        # At once, not when the leader looks: the caller waits for it.
        queues = await stores.upkeep.promote(limit=MOST_PROMOTED)
        self._enqueuer.wakeups.send(*(queue_hint(queue) for queue in sorted(set(queues))), LATER)

    async def set_priority(
        self, job_id: UUID | str, priority: int | str, *, reason: str | None = None, by: str = "client"
    ) -> None:
        """Give a waiting job another priority, as if it had been stored with it: what it waited still counts."""
        rank = self._enqueuer.builder.profile.rank(priority)
        job = await self.get(job_id)
        policy = self._enqueuer.builder.policy_of(await known_spec(self._enqueuer, job.kind), job.queue)
        queue = await self._enqueuer.stores.jobs.change_priority(
            job.id,
            priority=rank,
            ageing_step=policy.ageing_step,
            actor=who(by),
            reason=None if reason is None else why(reason),
        )
        self._enqueuer.wakeups.send(queue_hint(queue))

    async def clone(
        self,
        job_id: UUID | str,
        *,
        args: Mapping[str, Any] | None = None,
        delay: Duration | None = None,
        reason: str | None = None,
        by: str = "client",
    ) -> JobId:
        """Store a new job like this one, whatever has become of it; returns the id of the new job.

        It has the same arguments, or the `args` given, and the same queue, priority, tenant, tags and policy. Keys,
        deadline and parent stay with the first, which the new job's metadata names as `cloned_from`.
        """
        actor, job = who(by), await self.get(job_id)
        because = None if reason is None else why(reason)
        new = await clone_of(self._enqueuer, job, args=args, delay=delay, by=actor)
        await until_certain(
            lambda: self._enqueuer.stores.jobs.clone(job.id, new, actor=actor, reason=because),
            what="clone",
            ids=[new.id],
            env=self._enqueuer.env,
        )
        self._enqueuer.announce([new])
        return new.id

    async def hold(self, job_id: UUID | str, *, reason: str, by: str = "client") -> None:
        """Put a waiting job aside until it is released."""
        await self._enqueuer.stores.jobs.hold(to_id(job_id), reason=reason, actor=by)

    async def release(self, job_id: UUID | str, *, by: str = "client") -> None:
        """Let a held job go on."""
        await self._enqueuer.stores.jobs.release(to_id(job_id), actor=by)
        job = await self.get(job_id)
        self._enqueuer.wakeups.send(queue_hint(job.queue), LATER)

    async def result(self, job_id: UUID | str, *, timeout: timedelta | float | None = None) -> Any:
        """Wait for a job's end and return its result, typed if its kind is registered here."""
        limit = None if timeout is None else duration(timeout, field="timeout")
        job = await self.get(job_id)
        text = await self._waiter.result_text(job.id, timeout=limit)
        known = job.kind in self._enqueuer.registry
        return (
            self._enqueuer.registry.get(job.kind).decode_result(text)
            if known
            else codec.decode(text or "null")
        )

    async def _may_cancel_running(self, job: Job) -> bool:
        if job.state is not State.RUNNING and job.kind not in self._enqueuer.registry:
            return True
        try:
            spec = await self._enqueuer.spec_of(job.kind)
        except UnknownKind:
            return True
        policy = self._enqueuer.builder.policy_of(spec, job.queue)
        own: bool = job.policy.get("cancel_running", policy.cancel_running)
        return own


def check_filter(filters: JobFilter) -> JobFilter:
    """The filter; raises InvalidPolicy for an unknown order."""
    if filters.order not in (None, "newest", "oldest"):
        raise InvalidPolicy("order", filters.order, needs="'newest' or 'oldest'")
    if filters.order == "oldest" and filters.promoted:
        raise InvalidPolicy("order", "oldest", needs="'newest' where jobs are sought by promoted fields")
    return filters
