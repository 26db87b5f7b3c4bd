"""Puts clients and workers together from an application's registry and a database's connections."""

from __future__ import annotations

import os
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from functools import cache, partial
from typing import Any

from backstay.client.decider import Decider, StoredDecider
from backstay.client.declaring import declarer, record_of
from backstay.client.effective_limits import limits_of, per_worker_of
from backstay.client.effective_policy import EffectivePolicies
from backstay.client.enqueue.building import Builder
from backstay.client.scheduling import Declared, declare
from backstay.composition.connect import Connections, open_connections
from backstay.composition.worker_options import WorkerOptions
from backstay.errors import InvalidPolicy, InvalidSettings
from backstay.handlers.registry import Registry
from backstay.handlers.spec import HandlerSpec
from backstay.maintenance.archiver import Archiver
from backstay.maintenance.chainer import AuditChainer
from backstay.maintenance.dependents_sweeper import DependentsSweeper
from backstay.maintenance.figure_writer import FigureWriter
from backstay.maintenance.loop import Maintenance
from backstay.maintenance.neighbours import Neighbours, process_facts
from backstay.maintenance.operator import Operator
from backstay.maintenance.promoter import Promoter
from backstay.maintenance.releaser import Releaser
from backstay.maintenance.rescuer import Rescuer
from backstay.maintenance.scheduler import Scheduler
from backstay.maintenance.webhook_teller import WebhookTeller
from backstay.model.events import Emit
from backstay.model.limits.declared import PairLimits
from backstay.model.limits.fairness import Fair
from backstay.model.policy.policy import CHECKS, Policy
from backstay.model.policy.profile import DEFAULT
from backstay.model.records import NewWorker, Wanted
from backstay.model.states import State
from backstay.runtime.env import Env
from backstay.runtime.event_loop import fast_loop
from backstay.settings.event_writer import EventWriter
from backstay.settings.sources import Settings
from backstay.settings.version import __version__
from backstay.stores.contract import Stores
from backstay.wakeups.contract import SCHEDULES
from backstay.worker.fetch.claim_requests import Asks
from backstay.worker.identity import boot_id, worker_id
from backstay.worker.plan import Duties, Parts, Plan, Routes
from backstay.worker.process.pool import refuse_unimportable
from backstay.worker.run.local_backend import Completions
from backstay.worker.worker import Worker


def make_worker(
    options: WorkerOptions,
    *,
    registry: Registry,
    builder: Builder,
    settings: Settings,
    connect: Callable[[], Connections],
    completions: Callable[[], Completions],
    home: str,
    schedules: Callable[[], Sequence[Declared]],
    emit: Emit,
    env: Env,
) -> Worker:
    """A worker that is ready to run; nothing is connected yet."""
    events = EventWriter(emit)
    specs, numbers = _chosen(registry, options), EffectivePolicies(builder, events)
    plan = _plan(options, specs, registry, numbers, builder, completions, home, env)
    parts = partial(
        _connected,
        connect,
        specs,
        builder.general,
        numbers,
        settings,
        schedules,
        options.worker_type,
        emit=events,
        env=env,
    )
    return Worker(plan, parts, loop_factory=fast_loop(), emit=events, env=env)


def _plan(
    options: WorkerOptions,
    specs: Sequence[HandlerSpec],
    registry: Registry,
    numbers: EffectivePolicies,
    builder: Builder,
    completions: Callable[[], Completions],
    home: str,
    env: Env,
) -> Plan:
    policies = {spec.kind: builder.policy_of(spec, spec.queue) for spec in specs}
    general = builder.general
    concurrency = _slots(options.concurrency, general)
    return Plan(
        new_id=lambda: worker_id(options.id_template, os.environ, env.new_id()),
        describe=lambda name: _describe(name, specs, options, concurrency),
        registry=registry,
        kinds=tuple(record_of(spec, builder, registry) for spec in specs),
        asks=lambda routes: _asks(specs, options.queues, routes, numbers, registry),
        use_overrides=numbers.use,
        decider=Decider(registry, numbers, env),
        reacting=frozenset(spec.kind for spec in specs if State.COMPLETED in spec.reactions),
        rules=builder.profile.rules,
        concurrency=concurrency,
        result_limit=max(policy.max_result_bytes for policy in policies.values()),
        renew_every=partial(numbers.renew_every, specs),
        process_limits=options.process_limits,
        poll_busy=options.poll_busy or general.poll_busy,
        poll_idle=options.poll_idle or general.poll_idle,
        completions=cache(completions),
        home=home,
        transaction_limit=lambda claim: numbers.of(registry.get(claim.kind), claim.queue).transaction_limit,
        shutdown_grace=general.shutdown_grace if options.shutdown_grace is None else options.shutdown_grace,
        until_empty=options.until_empty,
        max_memory_mb=options.max_memory_mb,
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


def _asks(
    specs: Sequence[HandlerSpec],
    queues: Iterable[str] | None,
    routes: Routes,
    numbers: EffectivePolicies,
    registry: Registry,
) -> Asks:
    return Asks(
        wanted=_wanted(specs, queues, routes, numbers, registry),
        per_queue=per_worker_of(registry, numbers.overrides),
        batched={
            name: spec.batching for spec in specs if spec.batching for name in (spec.kind, *spec.aliases)
        },
    )


def _wanted(
    specs: Sequence[HandlerSpec],
    queues: Iterable[str] | None,
    routes: Routes,
    numbers: EffectivePolicies,
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
    numbers: EffectivePolicies,
    settings: Settings,
    schedules: Callable[[], Sequence[Declared]],
    worker_type: str,
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
        beside=_keeping_dispatch(connections, worker_type),
        close=connections.close,
    )


def _keeping_dispatch(
    connections: Connections, worker_type: str
) -> dict[str, Callable[[Worker], Awaitable[None]]]:
    """What a worker does for the lists in Redis, where there are any."""
    dispatch = connections.dispatch
    if dispatch is None:
        return {}

    async def keep(worker: Worker) -> None:
        await dispatch.keep(connections.truth(), lambda: (worker.id, worker_type, worker.vitals()))

    return {"dispatch": keep}


async def take_over(url: str, workers: Sequence[str], *, emit: Emit, env: Env) -> None:
    """Give up workers whose process is known to be gone, and let their jobs start again at once."""
    connections = open_connections(url, env=env)
    try:
        stores = connections.stores("maintenance")
        numbers = EffectivePolicies(Builder(DEFAULT, env), emit)
        numbers.use(await stores.overrides.all())
        # No lease is judged here: whose process is gone has lost its claims, whatever the clock says.
        figures = FigureWriter(stores.figures, list, emit=emit)
        rescuer = _rescuer(connections, stores, numbers, timedelta, figures, emit=emit, env=env)
        for worker in workers:
            if await stores.workers.declare_one_dead(worker):
                emit("worker.declared_dead", worker=worker, reason="its process is gone")
            await rescuer.take_over(worker)
        await figures.write()
    finally:
        await connections.close()


def _rescuer(
    connections: Connections,
    stores: Stores,
    numbers: EffectivePolicies,
    lease: Callable[[], timedelta],
    figures: FigureWriter,
    *,
    emit: Emit,
    env: Env,
) -> Rescuer:
    return Rescuer(
        stores.claims,
        StoredDecider(stores.kinds, numbers, env),
        reconnections=lambda: connections.database.reconnections,
        lease=lease,
        figures=figures,
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
    numbers: EffectivePolicies,
    settings: Settings,
    *,
    emit: Emit,
    env: Env,
) -> Maintenance:
    figures = FigureWriter(stores.figures, worker._take_tally, emit=emit)
    rescuer = _rescuer(connections, stores, numbers, lease, figures, emit=emit, env=env)
    return Maintenance(
        stores.workers,
        stores.upkeep,
        Promoter(stores.upkeep, stores.signals, stores.queues, connections.wakeups, emit=emit, env=env),
        Releaser(stores.limits, connections.wakeups, emit=emit, env=env),
        Scheduler(stores.schedules, connections.wakeups, emit=emit, env=env),
        rescuer,
        Archiver(stores, general, settings=settings, emit=emit, env=env),
        Neighbours(stores.workers, rescuer, emit=emit, env=env),
        DependentsSweeper(stores.flows),
        figures,
        Operator(stores, connections.wakeups, emit=emit, env=env),
        AuditChainer(stores.service.audit_chain),
        WebhookTeller(stores, connections.wakeups, emit=emit, env=env),
        worker_id=lambda: worker.id,
        vitals=worker.vitals,
        on_given_up=lambda: worker._replace_identity(stores.workers),
        on_routes=worker._use_routes,
        on_tick_info=worker._use_tick_info,
        on_overrides=numbers.use,
        settings=settings,
        emit=emit,
        env=env,
    )


def _describe(name: str, specs: Sequence[HandlerSpec], options: WorkerOptions, concurrency: int) -> NewWorker:
    facts = process_facts()
    return NewWorker(
        id=name,
        host=socket.gethostname(),
        boot_id=boot_id(),
        pid=os.getpid(),
        process_started=None if facts is None else facts.started,
        version=__version__,
        kinds=tuple(name for spec in specs for name in (spec.kind, *spec.aliases)),
        queues=tuple(sorted(options.queues or {spec.queue for spec in specs})),
        concurrency=concurrency,
        type=options.worker_type,
        signatures={name: spec.argument_signature for spec in specs for name in (spec.kind, *spec.aliases)},
    )
