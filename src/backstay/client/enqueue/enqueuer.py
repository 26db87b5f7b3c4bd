"""Stores jobs: alone, many at once, or inside the caller's transaction.

| asked for | way |
| --- | --- |
| one plain job, nobody else sends | `enqueue_alone`, its hint in the same statement |
| one job while others are sent | `enqueue_alone`, gathered by the coalescer |
| one with an idempotency, unique or debounce key | `enqueue_alone`, by itself, because its answer may be another job |
| many of one kind without options | `_enqueue_alike`, one statement for all |
| many, mixed or with options | `enqueue_many_alone`, one statement for all |
| inside a transaction | `to_join`, then the joiner of the caller's driver |
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from backstay.client.enqueue.building import Builder
from backstay.client.enqueue.caller_transaction import Joinable, Joiner
from backstay.client.enqueue.coalescer import Coalescer
from backstay.client.enqueue.inheriting import all_inherited, inherited
from backstay.client.enqueue.postponing import Postponing
from backstay.client.promoted import PromotedFields
from backstay.client.retry_until_known import until_certain
from backstay.errors import InvalidPayload, UnknownKind
from backstay.handle import JobHandle, Lookup
from backstay.handler import JobArgs
from backstay.handlers import codec
from backstay.handlers.all_or_none import make_all
from backstay.handlers.registry import Registry
from backstay.handlers.spec import HandlerSpec
from backstay.model.job import AlikeJobs, JobId, NewJob, Stored
from backstay.model.policy.policy import PolicyChange, from_json
from backstay.options import NO_OPTIONS, JobOptions
from backstay.runtime.env import Env
from backstay.stores.contract import Stores
from backstay.wakeups.contract import LATER, ROUTES, Wakeups, pair_hint, queue_hint


@dataclass(frozen=True)
class Enqueuer:
    """Stores jobs from one event loop; the nouns of the client share what it holds."""

    stores: Stores
    registry: Registry
    builder: Builder
    coalescer: Coalescer
    wakeups: Wakeups
    lookup: Lookup
    joiner: Joiner
    promoted: PromotedFields
    env: Env
    postponing: Postponing
    home: str
    routes: set[tuple[str, str]] = field(default_factory=set)

    async def enqueue(
        self, spec: HandlerSpec, args_text: str, options: JobOptions = NO_OPTIONS
    ) -> JobHandle[Any]:
        """Store one job of a registered kind; committed when this returns, or with the caller's transaction."""
        options = inherited(options, self.home)
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
        if job.postpone is not None:
            [job] = await self.postponing.apply([job])
        if job.queue != spec.queue:
            await self.add_routes([(job.queue, spec)])
        if spec.promoted:
            await self.promoted._require([spec])
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

    async def enqueue_many(self, calls: Sequence[JobArgs[Any]], *, tx: object = None) -> list[JobHandle[Any]]:
        """Store many jobs in one statement, all or none; the handles come in the order given.

        Raises InvalidBatch that names every bad job (the first hundred), and then nothing was stored.
        """
        tx, calls = await self._transaction(tx), all_inherited(calls, self.home)
        if tx is None:
            return await self.enqueue_many_alone(calls)
        ready = await self.to_join([call.spec for call in calls], self.build_all(calls))
        stored = await self._join(tx, ready)
        return [self.handle(call.spec, one.id, one.is_new) for call, one in zip(calls, stored, strict=True)]

    async def enqueue_each(
        self, spec: HandlerSpec, args_texts: Sequence[str], options: JobOptions = NO_OPTIONS
    ) -> list[JobHandle[Any]]:
        """Store a job of one registered kind for each of these arguments, all or none."""
        options = inherited(options, self.home)
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
        jobs = await self.postponing.apply(self.build_all(calls))
        await self.add_routes([(job.queue, call.spec) for job, call in zip(jobs, calls, strict=True)])
        await self.promoted._require([call.spec for call in calls if call.spec.promoted])
        if any(job.is_keyed for job in jobs):
            stored = await self._certainly_keyed(jobs)
        else:
            await self._certainly(jobs, [job.id for job in jobs])
            stored = [Stored(job.id) for job in jobs]
        self.announce(jobs)
        return [self.handle(call.spec, one.id, one.is_new) for call, one in zip(calls, stored, strict=True)]

    async def _enqueue_alike(self, spec: HandlerSpec, jobs: AlikeJobs) -> list[JobHandle[Any]]:
        await self.add_routes([(spec.queue, spec)])
        await self.promoted._require([spec] if spec.promoted else [])

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
        jobs = await self.postponing.apply(jobs)
        sent = [(job.queue, spec) for job, spec in zip(jobs, specs, strict=True)]
        if not self.joiner.carries_routes:
            await self.add_routes(sent)
        await self.promoted._require(specs)
        routes = sorted({(queue, spec.kind) for queue, spec in sent if queue != spec.queue})
        loop = asyncio.get_running_loop()

        def announce() -> None:
            # Called wherever the caller commits; the loop may be gone by then, and workers poll.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self.announce, jobs)

        return Joinable(jobs, routes, announce)

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


def _policy(stored: Mapping[str, Any]) -> PolicyChange | None:
    return from_json(codec.encode(dict(stored))) if stored else None
