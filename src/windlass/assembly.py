"""Puts clients and workers together from an application's registry and a database's connections."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec

from windlass.client.building import Builder
from windlass.client.declaring import declarer, record_of
from windlass.client.limit_numbers import limits_of, per_worker_of
from windlass.client.numbers import Numbers
from windlass.client.scheduling import Declared, declare
from windlass.configuration import Settings
from windlass.connect import Connections, open_connections
from windlass.durations import Duration, duration
from windlass.env import Env
from windlass.errors import InvalidPolicy, InvalidSettings
from windlass.events import Emit
from windlass.fairness import Fair
from windlass.job import Claim
from windlass.limits import PairLimits
from windlass.maintenance.archiver import Archiver
from windlass.maintenance.follower import Follower
from windlass.maintenance.loop import Maintenance
from windlass.maintenance.neighbours import Neighbours, process_facts
from windlass.maintenance.promoter import Promoter
from windlass.maintenance.releaser import Releaser
from windlass.maintenance.rescuer import Rescuer
from windlass.maintenance.scheduler import Scheduler
from windlass.outcome import Outcome
from windlass.policy import CHECKS, Policy, for_job, from_json, resolve
from windlass.profile import DEFAULT
from windlass.records import KindRecord, NewWorker, Wanted
from windlass.registry import HandlerSpec, Registry
from windlass.settlement import Settlement, settle
from windlass.sizes import Size, megabytes
from windlass.stores.contract import Kinds, Stores
from windlass.version import VERSION
from windlass.wakeups.contract import SCHEDULES
from windlass.worker.desk import Completions
from windlass.worker.identity import boot_id, worker_id
from windlass.worker.plan import Duties, Parts, Plan, Routes
from windlass.worker.processes import ProcessLimits, refuse_unimportable
from windlass.worker.worker import Worker


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """What one worker is asked to do; None leaves it to the policy."""

    queues: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    concurrency: int | None = None
    id_template: str | None = None
    worker_type: str = "general"
    shutdown_grace: timedelta | None = None
    process_limits: ProcessLimits = field(default_factory=ProcessLimits)
    poll_busy: timedelta | None = None
    poll_idle: timedelta | None = None


def length(name: str, value: Duration | None) -> timedelta | None:
    """An option that is a length of time; None leaves it to the policy."""
    return None if value is None else duration(value, field=name)


def process_limits(jobs: int | None, memory: Size | None) -> ProcessLimits:
    """When a process for handlers has been used enough."""
    return ProcessLimits(jobs, None if memory is None else megabytes(memory, field="process_max_memory"))


def make_worker(
    options: WorkerOptions,
    *,
    registry: Registry,
    builder: Builder,
    settings: Settings,
    connect: Callable[[], Connections],
    completions: Callable[[], Completions],
    schedules: Callable[[], Sequence[Declared]],
    emit: Emit,
    env: Env,
) -> Worker:
    """A worker that is ready to run; nothing is connected yet."""
    specs, numbers = _chosen(registry, options), Numbers(builder, emit)
    plan = _plan(options, specs, registry, numbers, builder, completions, env)
    parts = partial(
        _connected, connect, specs, builder.general, numbers, settings, schedules, emit=emit, env=env
    )
    return Worker(plan, parts, loop_factory=fast_loop(), emit=emit, env=env)


def _plan(
    options: WorkerOptions,
    specs: Sequence[HandlerSpec],
    registry: Registry,
    numbers: Numbers,
    builder: Builder,
    completions: Callable[[], Completions],
    env: Env,
) -> Plan:
    policies = {spec.kind: builder.policy_of(spec, spec.queue) for spec in specs}
    general = builder.general
    concurrency = _slots(options.concurrency, general)
    return Plan(
        new_id=lambda: worker_id(options.id_template, os.environ, env.new_id()),
        describe=lambda name: _describe(name, specs, options, concurrency),
        registry=registry,
        kinds=tuple(record_of(spec, policies[spec.kind], builder.profile) for spec in specs),
        wanted=lambda routes: _wanted(specs, options.queues, routes, numbers, registry),
        per_queue=lambda: per_worker_of(registry, numbers.overrides),
        use_overrides=numbers.use,
        decide=lambda claim, outcome: _decide(claim, outcome, registry, numbers, env),
        rules=builder.profile.rules,
        concurrency=concurrency,
        result_limit=max(policy.max_result_bytes for policy in policies.values()),
        renew_every=partial(numbers.renew_every, specs),
        process_limits=options.process_limits,
        poll_busy=options.poll_busy or general.poll_busy,
        poll_idle=options.poll_idle or general.poll_idle,
        completions=completions,
        transaction_limit=lambda claim: numbers.of(registry.get(claim.kind), claim.queue).transaction_limit,
        shutdown_grace=general.shutdown_grace if options.shutdown_grace is None else options.shutdown_grace,
    )


def _slots(asked: int | None, general: Policy) -> int:
    """How many jobs at a time; raises InvalidSettings for what a policy could not say either."""
    try:
        slots: int = general.concurrency if asked is None else CHECKS["concurrency"]("concurrency", asked)
    except InvalidPolicy as refused:
        raise InvalidSettings(str(refused)) from None
    return slots


def _chosen(registry: Registry, options: WorkerOptions) -> list[HandlerSpec]:
    specs = [spec for spec in registry.handled() if options.kinds is None or spec.kind in options.kinds]
    for kind in options.kinds or ():
        registry.get(kind)
    if not specs:
        raise InvalidSettings(
            "there is nothing to work on: no handler is registered, or none of the kinds asked for"
        )
    for spec in specs:
        if spec.runs_in == "process":
            refuse_unimportable(spec)
    return specs


def _wanted(
    specs: Sequence[HandlerSpec],
    queues: Iterable[str] | None,
    routes: Routes,
    numbers: Numbers,
    registry: Registry,
) -> tuple[Wanted, ...]:
    pairs = {(spec.queue, name): spec for spec in specs for name in (spec.kind, *spec.aliases)}
    names = {name: spec for (_, name), spec in pairs.items()}
    pairs |= {(queue, kind): names[kind] for queue, kind in routes if kind in names}
    chosen = None if queues is None else frozenset(queues)
    return tuple(
        _want(
            queue,
            kind,
            numbers.of(spec, queue),
            limits_of(spec, queue, registry, numbers.overrides),
            registry.fair.get(queue),
        )
        for (queue, kind), spec in sorted(pairs.items(), key=lambda pair: pair[0])
        if chosen is None or queue in chosen
    )


def _want(queue: str, kind: str, policy: Policy, limits: PairLimits, fair: Fair | None) -> Wanted:
    return Wanted(
        queue,
        kind,
        lease=policy.lease,
        timeout=policy.timeout,
        max_attempts=policy.max_attempts,
        limits=limits,
        fair=fair,
    )


def _decide(claim: Claim, outcome: Outcome, registry: Registry, numbers: Numbers, env: Env) -> Settlement:
    policy = _of_job(numbers.of(registry.get(claim.kind), claim.queue), claim)
    return settle(claim, outcome, policy, chance=env.random())


def _of_job(policy: Policy, claim: Claim) -> Policy:
    if claim.policy is None:
        return policy
    try:
        return for_job(policy, from_json(claim.policy))
    except InvalidPolicy:
        # Numbers that fitted when the job was stored may not fit a policy that has changed since.
        return policy


async def _connected(connect: Callable[[], Connections], *what: Any, emit: Emit, env: Env) -> Parts:
    connections = connect()
    try:
        return await _parts(connections, *what, emit=emit, env=env)
    except BaseException:
        await connections.close()
        raise


async def _parts(
    connections: Connections,
    specs: Sequence[HandlerSpec],
    general: Policy,
    numbers: Numbers,
    settings: Settings,
    schedules: Callable[[], Sequence[Declared]],
    *,
    emit: Emit,
    env: Env,
) -> Parts:
    await connections.prepare()
    keeping = connections.stores("maintenance")
    # Before the first claim, so that no job runs by numbers that an operator has changed.
    numbers.use(await keeping.overrides.all())
    if await declare(keeping, schedules(), by=declarer(), emit=emit, new_id=env.new_id):
        connections.wakeups.send(SCHEDULES)

    lease = partial(numbers.longest_lease, specs)

    def duties(worker: Worker) -> Duties:
        return _duties(worker, connections, keeping, general, lease, numbers, settings, emit=emit, env=env)

    handling = connections.stores("handlers")
    return Parts(
        fetching=connections.stores("fetch").claims,
        settling=connections.stores("settle").claims,
        beating=connections.stores("heartbeat").claims,
        steps=handling.steps,
        progress=handling.progress,
        signals=handling.signals,
        locks=handling.locks,
        workers=keeping.workers,
        kinds=keeping.kinds,
        wakeups=connections.wakeups,
        duties=duties,
        close=connections.close,
    )


async def take_over(url: str, workers: Sequence[str], *, emit: Emit, env: Env) -> None:
    """Give up workers whose process is known to be gone, and let their jobs start again at once."""
    connections = open_connections(url, env=env)
    try:
        stores = connections.stores("maintenance")
        numbers = Numbers(Builder(DEFAULT, env), emit)
        numbers.use(await stores.overrides.all())
        # No lease is judged here: whose process is gone has lost its claims, whatever the clock says.
        rescuer = _rescuer(connections, stores, numbers, timedelta, emit=emit, env=env)
        for worker in workers:
            if await stores.workers.bury_one(worker):
                emit("worker.buried", worker=worker, reason="its process is gone")
            await rescuer.take_over(worker)
    finally:
        await connections.close()


def _rescuer(
    connections: Connections,
    stores: Stores,
    numbers: Numbers,
    lease: Callable[[], timedelta],
    *,
    emit: Emit,
    env: Env,
) -> Rescuer:
    return Rescuer(
        stores.claims,
        StoredPolicies(stores.kinds, numbers, env).decide,
        reconnections=lambda: connections.database.reconnections,
        lease=lease,
        wakeups=connections.wakeups,
        emit=emit,
        env=env,
    )


def _duties(
    worker: Worker,
    connections: Connections,
    stores: Stores,
    general: Policy,
    lease: Callable[[], timedelta],
    numbers: Numbers,
    settings: Settings,
    *,
    emit: Emit,
    env: Env,
) -> Maintenance:
    rescuer = _rescuer(connections, stores, numbers, lease, emit=emit, env=env)
    return Maintenance(
        stores.workers,
        stores.upkeep,
        Promoter(stores.upkeep, stores.signals, stores.queues, connections.wakeups, emit=emit, env=env),
        Releaser(stores.limits, connections.wakeups, emit=emit, env=env),
        Scheduler(stores.schedules, connections.wakeups, emit=emit, env=env),
        rescuer,
        Archiver(stores.upkeep, general, settings=settings, emit=emit, env=env),
        Neighbours(stores.workers, rescuer, emit=emit, env=env),
        Follower(stores.flows),
        worker_id=lambda: worker.id,
        vitals=worker.vitals,
        on_given_up=lambda: worker.replace_identity(stores.workers),
        on_routes=worker.use_routes,
        on_company=worker.keep_company,
        on_overrides=numbers.use,
        settings=settings,
        emit=emit,
        env=env,
    )


class StoredPolicies:
    """Decides for kinds whose handler this process may not know, by what their workers declared."""

    def __init__(self, kinds: Kinds, numbers: Numbers, env: Env) -> None:
        self._kinds, self._numbers, self._env = kinds, numbers, env
        self._policies: dict[str, Policy] = {}
        self._read_at = float("-inf")

    async def decide(self, claim: Claim, outcome: Outcome) -> Settlement:
        """What becomes of a job whose worker is gone."""
        if self._env.monotonic() - self._read_at > 30:
            self._policies = {record.kind: _stored_policy(record) for record in await self._kinds.all()}
            self._read_at = self._env.monotonic()
        declared = self._policies.get(claim.kind) or resolve()
        policy = _of_job(self._numbers.changed(declared, claim.queue, claim.kind), claim)
        return settle(claim, outcome, policy, chance=self._env.random())


def _stored_policy(record: KindRecord) -> Policy:
    try:
        return resolve(from_json(msgspec.json.encode(record.policy).decode()))
    except InvalidPolicy:
        return resolve()


def _describe(name: str, specs: Sequence[HandlerSpec], options: WorkerOptions, concurrency: int) -> NewWorker:
    facts = process_facts()
    return NewWorker(
        id=name,
        host=socket.gethostname(),
        boot_id=boot_id(),
        pid=os.getpid(),
        process_started=None if facts is None else facts.started,
        version=VERSION,
        kinds=tuple(name for spec in specs for name in (spec.kind, *spec.aliases)),
        queues=tuple(sorted(options.queues or {spec.queue for spec in specs})),
        concurrency=concurrency,
        type=options.worker_type,
    )


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the fastest event loop there is here; None for the standard one."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
