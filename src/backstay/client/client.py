"""All nouns of the client, for one event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from backstay.client.alerts import Alerts
from backstay.client.api_keys import ApiKeys
from backstay.client.api_requests import ApiRequests
from backstay.client.archive.archive import Archive
from backstay.client.audit import Audit
from backstay.client.audit_chain import AuditChain
from backstay.client.dead_letters import DeadLetters
from backstay.client.doctor.doctor import Doctor
from backstay.client.enqueue.building import Builder
from backstay.client.enqueue.caller_transaction import Joiner
from backstay.client.enqueue.coalescer import Coalescer
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.client.enqueue.postponing import Postponing
from backstay.client.failures import Failures
from backstay.client.flows import Flows
from backstay.client.health import Health
from backstay.client.jobs import Jobs
from backstay.client.limits import Limits
from backstay.client.live import Live
from backstay.client.live_feed import Feed
from backstay.client.locks import Locks
from backstay.client.metrics import Metrics
from backstay.client.operations import Operations
from backstay.client.overrides import Overrides
from backstay.client.promoted import PromotedFields
from backstay.client.queues import Queues
from backstay.client.quotas import Quotas
from backstay.client.retry_until_known import until_certain
from backstay.client.schedules import Schedules
from backstay.client.signals import Signals
from backstay.client.tenants import Tenants
from backstay.client.waiting import Waiter
from backstay.client.webhooks import Webhooks
from backstay.client.workers import Workers
from backstay.handle import Lookup
from backstay.handlers.registry import Registry
from backstay.runtime.env import Env
from backstay.stores.contract import Enqueuing, Stores
from backstay.wakeups.contract import Wakeups


@dataclass(frozen=True)
class Client:
    """What one event loop of an application uses."""

    enqueuer: Enqueuer
    waiter: Waiter
    jobs: Jobs
    dead_letters: DeadLetters
    queues: Queues
    workers: Workers
    doctor: Doctor
    overrides: Overrides
    promoted: PromotedFields
    limits: Limits
    flows: Flows
    signals: Signals
    quotas: Quotas
    schedules: Schedules
    locks: Locks
    audit: Audit
    api_keys: ApiKeys
    api_requests: ApiRequests
    health: Health
    webhooks: Webhooks
    alerts: Alerts
    audit_chain: AuditChain
    metrics: Metrics
    live: Live
    operations: Operations
    failures: Failures
    tenants: Tenants
    archive: Archive

    async def close(self) -> None:
        """Store what was handed in, and stop waiting for hints."""
        await self.enqueuer.coalescer.close()
        await self.waiter.close()
        await self.live._feed.close()


def make_client(
    stores: Stores,
    enqueuing: Enqueuing,
    wakeups: Wakeups,
    *,
    registry: Registry,
    builder: Builder,
    lookup: Lookup,
    joiner: Joiner,
    secret: Callable[[], Awaitable[bytes]],
    env: Env,
    url: str = "",
    archive_to: str | None = None,
    alert_thresholds: Mapping[str, float] | None = None,
) -> Client:
    """Put a client together; `enqueuing` has connections of its own for single jobs that are stored together."""
    promoted = PromotedFields(stores, registry, builder)
    enqueuer = Enqueuer(
        stores=stores,
        registry=registry,
        builder=builder,
        coalescer=_coalescer(enqueuing, env),
        wakeups=wakeups,
        lookup=lookup,
        joiner=joiner,
        promoted=promoted,
        env=env,
        postponing=Postponing(stores.queues.depth, env),
        home=url,
    )
    waiter = Waiter(stores.jobs, wakeups, env)
    doctor = Doctor(stores, wakeups, promoted, url)
    jobs, archive = Jobs(enqueuer, waiter, secret), Archive(enqueuer, archive_to)
    alerts = Alerts(enqueuer, Metrics(enqueuer), alert_thresholds or {})
    return _build_client(enqueuer, waiter, jobs, doctor, archive, alerts)


def _coalescer(enqueuing: Enqueuing, env: Env) -> Coalescer:
    return Coalescer(
        lambda batch, hint: until_certain(
            lambda: enqueuing.enqueue(batch, hint=hint),
            what="enqueue",
            ids=[job.id for job in batch],
            env=env,
        )
    )


def _build_client(
    enqueuer: Enqueuer, waiter: Waiter, jobs: Jobs, doctor: Doctor, archive: Archive, alerts: Alerts
) -> Client:
    flows = Flows(enqueuer, jobs)
    return Client(
        enqueuer=enqueuer,
        waiter=waiter,
        jobs=jobs,
        dead_letters=DeadLetters(enqueuer, jobs),
        queues=Queues(enqueuer),
        workers=Workers(enqueuer),
        doctor=doctor,
        overrides=Overrides(enqueuer),
        promoted=enqueuer.promoted,
        limits=Limits(enqueuer),
        flows=flows,
        signals=Signals(enqueuer, jobs),
        quotas=Quotas(enqueuer),
        schedules=Schedules(enqueuer),
        locks=Locks(enqueuer),
        audit=Audit(enqueuer),
        api_keys=ApiKeys(enqueuer),
        api_requests=ApiRequests(enqueuer, jobs._secret),
        health=Health(enqueuer, Metrics(enqueuer)),
        webhooks=Webhooks(enqueuer, jobs),
        alerts=alerts,
        audit_chain=AuditChain(enqueuer),
        metrics=Metrics(enqueuer),
        operations=Operations(enqueuer),
        failures=Failures(enqueuer),
        tenants=Tenants(enqueuer),
        live=Live(enqueuer, jobs, flows, Feed(enqueuer.stores.service.outbox, enqueuer.env)),
        archive=archive,
    )
