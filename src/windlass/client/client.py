"""All nouns of the client, for one event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from windlass.client.building import Builder
from windlass.client.certainty import until_certain
from windlass.client.coalescer import Coalescer
from windlass.client.dead_letters import DeadLetters
from windlass.client.doctor import Doctor
from windlass.client.flows import Flows
from windlass.client.jobs import Jobs
from windlass.client.joining import Joiner
from windlass.client.limits import Limits
from windlass.client.locks import Locks
from windlass.client.overrides import Overrides
from windlass.client.promoted import PromotedFields
from windlass.client.queues import Queues
from windlass.client.quotas import Quotas
from windlass.client.schedules import Schedules
from windlass.client.signals import Signals
from windlass.client.waiting import Waiter
from windlass.client.workers import Workers
from windlass.env import Env
from windlass.handle import Lookup
from windlass.registry import Registry
from windlass.stores.contract import Enqueuing, Stores
from windlass.wakeups.contract import Wakeups


@dataclass(frozen=True)
class Client:
    """What one event loop of an application uses."""

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

    async def close(self) -> None:
        """Store what was handed in, and stop waiting for hints."""
        await self.jobs.coalescer.close()
        await self.jobs.waiter.close()


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
) -> Client:
    """Put a client together; `enqueuing` has connections of its own for single jobs that are stored together."""
    coalescer = Coalescer(
        lambda batch, hint: until_certain(
            lambda: enqueuing.enqueue(batch, hint=hint),
            what="enqueue",
            ids=[job.id for job in batch],
            env=env,
        )
    )
    promoted = PromotedFields(stores, registry, builder)
    jobs = Jobs(
        stores=stores,
        registry=registry,
        builder=builder,
        coalescer=coalescer,
        wakeups=wakeups,
        waiter=Waiter(stores.jobs, wakeups, env),
        lookup=lookup,
        joiner=joiner,
        promoted=promoted,
        secret=secret,
        env=env,
    )
    return _with_nouns(jobs, Doctor(stores, wakeups, promoted))


def _with_nouns(jobs: Jobs, doctor: Doctor) -> Client:
    return Client(
        jobs=jobs,
        dead_letters=DeadLetters(jobs),
        queues=Queues(jobs),
        workers=Workers(jobs),
        doctor=doctor,
        overrides=Overrides(jobs),
        promoted=jobs.promoted,
        limits=Limits(jobs),
        flows=Flows(jobs),
        signals=Signals(jobs),
        quotas=Quotas(jobs),
        schedules=Schedules(jobs),
        locks=Locks(jobs),
    )
