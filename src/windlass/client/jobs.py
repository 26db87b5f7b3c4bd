"""Enqueueing jobs, looking at them and acting on them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from windlass import codec
from windlass.all_or_none import make_all
from windlass.client import cursor as cursors
from windlass.client.arguments import job_id as to_id
from windlass.client.arguments import who, why
from windlass.client.building import Builder
from windlass.client.certainty import until_certain
from windlass.client.coalescer import Coalescer
from windlass.client.joining import Joinable, Joiner
from windlass.client.promoted import PromotedFields
from windlass.client.waiting import Waiter
from windlass.durations import duration
from windlass.env import Env
from windlass.errors import InvalidPayload, JobNotFound, UnknownKind
from windlass.handle import JobHandle, Lookup
from windlass.handler import JobArgs
from windlass.job import AlikeJobs, Attempt, Job, JobId, NewJob, Step, Stored
from windlass.options import NO_OPTIONS, JobOptions
from windlass.policy import PolicyChange, from_json
from windlass.records import AuditEntry, JobFilter, QueueCount
from windlass.registry import HandlerSpec, Registry
from windlass.states import State
from windlass.stores.contract import Stores
from windlass.wakeups.contract import CANCEL, LATER, ROUTES, Wakeups, pair_hint, queue_hint

LARGEST_PAGE = 200


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the jobs a search found; `cursor` leads to the next ones, None when these were the last."""

    jobs: list[Job]
    cursor: str | None


@dataclass(frozen=True)
class Jobs:
    """The jobs of one application, from one event loop."""

    stores: Stores
    registry: Registry
    builder: Builder
    coalescer: Coalescer
    wakeups: Wakeups
    waiter: Waiter
    lookup: Lookup
    joiner: Joiner
    promoted: PromotedFields
    secret: Callable[[], Awaitable[bytes]]
    env: Env
    routes: set[tuple[str, str]] = field(default_factory=set)

    async def enqueue(
        self, spec: HandlerSpec, args_text: str, options: JobOptions = NO_OPTIONS
    ) -> JobHandle[Any]:
        """Store one job of a registered kind; committed when this returns, or with the caller's transaction."""
        tx = await self._transaction(options.tx)
        if tx is None:
            return await self.enqueue_alone(spec, args_text, options)
        ready = await self.to_join([spec], [self.builder.build(spec, args_text, options)])
        [stored] = await self._join(tx, ready)
        return self.handle(spec, stored.id, stored.is_new)

    async def enqueue_alone(
        self, spec: HandlerSpec, args_text: str, options: JobOptions = NO_OPTIONS
    ) -> JobHandle[Any]:
        """Store one job outside of any transaction of the caller's."""
        job = self.builder.build(spec, args_text, options)
        if job.queue != spec.queue:
            await self.add_routes([(job.queue, spec)])
        if spec.promoted:
            await self.promoted.require([spec])
        if job.is_keyed:
            [stored] = await self._certainly_keyed([job])
            self.announce([job])
            return self.handle(spec, stored.id, stored.is_new)
        if job.is_plain and self.coalescer.is_free and self.wakeups.may_ride():
            await self.coalescer.enqueue(job, pair_hint(job.queue, job.kind))
        else:
            await self.coalescer.enqueue(job)
            self.announce([job])
        return self.handle(spec, job.id)

    async def enqueue_by_name(
        self, kind: str, args: Mapping[str, Any] | None = None, options: JobOptions = NO_OPTIONS
    ) -> JobHandle[Any]:
        """Store one job by the name of its kind, which may live in another program."""
        spec = await self.spec_of(kind)
        return await self.enqueue(spec, spec.bind((), dict(args or {})), options)

    async def enqueue_many(self, calls: Sequence[JobArgs[Any]], *, tx: object = None) -> list[JobHandle[Any]]:
        """Store many jobs in one statement, all or none; the handles come in the order given.

        Raises InvalidBatch that names every bad job (the first hundred), and then nothing was stored.
        """
        tx = await self._transaction(tx)
        if tx is None:
            return await self.enqueue_many_alone(calls)
        ready = await self.to_join([call.spec for call in calls], self.build_all(calls))
        stored = await self._join(tx, ready)
        return [self.handle(call.spec, one.id, one.is_new) for call, one in zip(calls, stored, strict=True)]

    async def enqueue_each(
        self, spec: HandlerSpec, args_texts: Sequence[str], options: JobOptions = NO_OPTIONS
    ) -> list[JobHandle[Any]]:
        """Store a job of one registered kind for each of these arguments, all or none."""
        tx = await self._transaction(options.tx)
        if tx is None and options is NO_OPTIONS and (alike := self.builder.build_alike(spec, args_texts)):
            return await self._enqueue_alike(spec, alike)
        calls = [JobArgs[Any](spec, args_text, options) for args_text in args_texts]
        return await self.enqueue_many(calls, tx=False if tx is None else tx)

    async def enqueue_many_alone(self, calls: Sequence[JobArgs[Any]]) -> list[JobHandle[Any]]:
        """Store many jobs outside of any transaction of the caller's."""
        if calls and all(call.spec is calls[0].spec and call.options is NO_OPTIONS for call in calls):
            alike = self.builder.build_alike(calls[0].spec, [call.args_text for call in calls])
            if alike is not None:
                return await self._enqueue_alike(calls[0].spec, alike)
        jobs = self.build_all(calls)
        await self.add_routes([(job.queue, call.spec) for job, call in zip(jobs, calls, strict=True)])
        await self.promoted.require([call.spec for call in calls if call.spec.promoted])
        if any(job.is_keyed for job in jobs):
            stored = await self._certainly_keyed(jobs)
        else:
            await self._certainly(jobs, [job.id for job in jobs])
            stored = [Stored(job.id) for job in jobs]
        self.announce(jobs)
        return [self.handle(call.spec, one.id, one.is_new) for call, one in zip(calls, stored, strict=True)]

    async def _enqueue_alike(self, spec: HandlerSpec, jobs: AlikeJobs) -> list[JobHandle[Any]]:
        await self.add_routes([(spec.queue, spec)])
        await self.promoted.require([spec] if spec.promoted else [])

        async def handles() -> list[JobHandle[Any]]:
            return [self.handle(spec, job_id) for job_id in jobs.ids]

        # Side by side, so that the handles are made while the database is at work.
        made: list[JobHandle[Any]]
        _, made = await asyncio.gather(self._certainly(jobs, jobs.ids), handles())
        self.announce([jobs.first])
        return made

    async def to_join(self, specs: Sequence[HandlerSpec], jobs: Sequence[NewJob]) -> Joinable:
        """Make everything ready that is not done in the caller's transaction."""
        if any(job.debounce_key is not None for job in jobs):
            raise InvalidPayload(
                "debounce cannot be part of a transaction: enqueue it outside, or with tx=False",
                pointer="/debounce",
            )
        await self.joiner.prepare()
        sent = [(job.queue, spec) for job, spec in zip(jobs, specs, strict=True)]
        if not self.joiner.carries_routes:
            await self.add_routes(sent)
        await self.promoted.require(specs)
        routes = sorted({(queue, spec.kind) for queue, spec in sent if queue != spec.queue})
        loop = asyncio.get_running_loop()

        def announce() -> None:
            # Called wherever the caller commits; the loop may be gone by then, and workers poll.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self.announce, jobs)

        return Joinable(jobs, routes, announce)

    async def get(self, job_id: UUID | str) -> Job:
        """The job as it is now; raises JobNotFound."""
        job = await self.stores.jobs.get(to_id(job_id))
        if job is None:
            raise JobNotFound(job_id)
        return job

    async def search(
        self, filters: JobFilter | None = None, *, cursor: str | None = None, limit: int = 50
    ) -> Page:
        """A page of jobs, newest first."""
        filters = filters or JobFilter()
        limit = max(1, min(limit, LARGEST_PAGE))
        search = self.stores.jobs.search
        if filters.promoted:
            table, values = await self.promoted.located(filters.promoted)
            filters, search = replace(filters, promoted=values), partial(self.stores.promoted.search, table)
        # A search that fits on one page only reads: the secret is written when it is first asked for.
        before = None if cursor is None else cursors.read(await self.secret(), filters, cursor)
        found = await search(filters, before=before, limit=limit + 1)
        page = found[:limit]
        more = cursors.write(await self.secret(), filters, page[-1].id) if len(found) > limit else None
        return Page(page, more)

    async def counts(self) -> list[QueueCount]:
        """How many jobs there are of each queue, kind and state."""
        return await self.stores.jobs.counts()

    async def attempts(self, job_id: UUID | str) -> list[Attempt]:
        """The finished attempts that did not complete the job, in order."""
        return await self.stores.jobs.attempts(to_id(job_id))

    async def runs(self, job_id: UUID | str) -> list[Attempt]:
        """Every run of the job in order, the one that completed it and the one under way included."""
        return await self.stores.jobs.runs(to_id(job_id))

    async def steps(self, job_id: UUID | str) -> list[Step]:
        """The steps of the job that are done and will not be repeated, in order."""
        return await self.stores.steps.of_job(to_id(job_id))

    async def history(self, job_id: UUID | str) -> list[AuditEntry]:
        """What was done to the job and by whom, in order."""
        return await self.stores.audit.of_job(to_id(job_id))

    async def cancel(self, job_id: UUID | str, *, reason: str = "cancelled", by: str = "client") -> State:
        """Cancel a waiting job, or ask for a running one to stop; returns `cancelled` or `running`.

        Raises WrongState when the job has ended, or when it runs and its policy refuses to stop running jobs.
        """
        job = await self.get(job_id)
        running = await self._may_cancel_running(job)
        state = await self.stores.jobs.cancel(job.id, actor=by, reason=reason, running=running)
        self.wakeups.send(CANCEL)
        return state

    async def reschedule(self, job_id: UUID | str, run_at: datetime, *, by: str = "client") -> None:
        """Move a waiting job to another time."""
        await self.stores.jobs.reschedule(to_id(job_id), run_at=run_at, actor=by)
        self.wakeups.send(LATER)

    async def hold(self, job_id: UUID | str, *, reason: str, by: str = "client") -> None:
        """Put a waiting job aside until it is released."""
        await self.stores.jobs.hold(to_id(job_id), reason=reason, actor=by)

    async def release(self, job_id: UUID | str, *, by: str = "client") -> None:
        """Let a held job go on."""
        await self.stores.jobs.release(to_id(job_id), actor=by)
        job = await self.get(job_id)
        self.wakeups.send(queue_hint(job.queue), LATER)

    async def retry(
        self,
        job_id: UUID | str,
        *,
        reason: str,
        by: str = "client",
        delay: timedelta | float | str = 0,
        version: int | None = None,
    ) -> None:
        """Give a dead job a fresh budget of attempts; raises WrongState unless it is dead.

        With the `version` of a dead letter, raises LetterChanged when somebody has changed it since.
        """
        after = duration(delay, field="delay")
        queue = await self.stores.dead_letters.retry(
            to_id(job_id), actor=who(by), reason=why(reason), delay=after, version=version
        )
        self.wakeups.send(queue_hint(queue), LATER)

    async def result(self, job_id: UUID | str, *, timeout: timedelta | float | None = None) -> Any:
        """Wait for a job's end and return its result, typed if its kind is registered here."""
        limit = None if timeout is None else duration(timeout, field="timeout")
        job = await self.get(job_id)
        text = await self.waiter.result_text(job.id, timeout=limit)
        known = job.kind in self.registry
        return self.registry.get(job.kind).decode_result(text) if known else codec.decode(text or "null")

    def handle(self, spec: HandlerSpec, job_id: JobId, is_new: bool = True) -> JobHandle[Any]:
        """What the caller gets for a job that was stored."""
        return JobHandle(job_id, spec.kind, is_new, spec.result_reader, self.lookup)

    async def _transaction(self, tx: object) -> object | None:
        """The transaction meant: the one given, none if it is False, or else the one that is open here."""
        if tx is None and (looking := self.joiner.ambient()) is not None:
            tx = await looking
        return None if tx is False else tx

    async def _join(self, tx: object, ready: Joinable) -> list[Stored]:
        return await self.joiner.join(tx, ready.jobs, routes=ready.routes, announce=ready.announce)

    async def add_routes(self, sent: Sequence[tuple[str, HandlerSpec]]) -> None:
        """Let workers know of queues that are not the kind's own, once for each."""
        new = {(queue, spec.kind) for queue, spec in sent if queue != spec.queue} - self.routes
        if new:
            await self.stores.kinds.add_routes(sorted(new))
            self.routes.update(new)
            self.wakeups.send(ROUTES)

    async def _certainly(self, jobs: Sequence[NewJob], ids: Sequence[JobId]) -> None:
        await until_certain(
            lambda: self.stores.enqueuing.enqueue(jobs), what="enqueue", ids=ids, env=self.env
        )

    async def _certainly_keyed(self, jobs: Sequence[NewJob]) -> list[Stored]:
        ids = [job.id for job in jobs]
        return await until_certain(
            lambda: self.stores.enqueuing.enqueue_keyed(jobs), what="enqueue", ids=ids, env=self.env
        )

    def build_all(self, calls: Sequence[JobArgs[Any]]) -> list[NewJob]:
        """The jobs of a batch; raises InvalidBatch."""
        return make_all(lambda call: self.builder.build(call.spec, call.args_text, call.options), calls)

    def announce(self, jobs: Sequence[NewJob]) -> None:
        """Let workers know of new jobs."""
        hints = {
            LATER if job.delay or job.run_at or job.wait else queue_hint(job.queue)
            for job in jobs
            if not job.held_for or (job.wait is not None and job.wait.timeout)
        }
        self.wakeups.send(*hints)

    async def spec_of(self, kind: str) -> HandlerSpec:
        """What is known of a kind, here or in the database; raises UnknownKind."""
        if kind in self.registry:
            return self.registry.get(kind)
        for record in await self.stores.kinds.all():
            if record.kind == kind:
                return HandlerSpec(
                    kind=kind,
                    queue=record.queue,
                    policy=_policy(record.policy),
                    arguments=record.arguments,
                )
        raise UnknownKind(kind, known=self.registry.kinds())

    async def _may_cancel_running(self, job: Job) -> bool:
        if job.state is not State.RUNNING and job.kind not in self.registry:
            return True
        try:
            spec = await self.spec_of(job.kind)
        except UnknownKind:
            return True
        return self.builder.policy_of(spec, job.queue).cancel_running


def _policy(stored: Mapping[str, Any]) -> PolicyChange | None:
    return from_json(codec.encode(dict(stored))) if stored else None
