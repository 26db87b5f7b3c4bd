"""All nouns of the client, for one event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from windlass.client.building import Builder
from windlass.client.certainty import until_certain
from windlass.client.coalescer import Coalescer
from windlass.client.dead_letters import DeadLetters
from windlass.client.doctor import Doctor
from windlass.client.jobs import Jobs
from windlass.client.joining import Joiner
from windlass.client.overrides import Overrides
from windlass.client.promoted import PromotedFields
from windlass.client.queues import Queues
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
        lambda batch: until_certain(
            lambda: enqueuing.enqueue(batch), what="enqueue", ids=[job.id for job in batch], env=env
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
    doctor = Doctor(stores, wakeups, promoted)
    return Client(jobs, DeadLetters(jobs), Queues(jobs), Workers(jobs), doctor, Overrides(jobs), promoted)
