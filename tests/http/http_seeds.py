"""Things for operations to work on, made anew for each request."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from uuid import UUID

from http_world import World

from backstay.options import JobOptions
from backstay.records import DeadLetterFilter, Webhook
from backstay.testing.contract.support import new_worker

ARGS = {"a": 1, "b": 2}
DEAD = 40
UNKNOWN_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
UNKNOWN = {
    "waiting job": {"job_id": UNKNOWN_ID},
    "completed job": {"job_id": UNKNOWN_ID},
    "held job": {"job_id": UNKNOWN_ID},
    "dead job": {"job_id": UNKNOWN_ID},
    "flow": {"flow_id": UNKNOWN_ID},
    "schedule": {"name": "nobody"},
    "schedule field": {"name": "nobody", "field": "cron"},
    "lock": {"lock_id": "nobody"},
    "failure": {"fingerprint": "nothing"},
    "operation": {"operation_id": UNKNOWN_ID},
    "key": {"prefix": "AAAAAAAA"},
    "webhook": {"webhook_id": UNKNOWN_ID},
    "delivery": {"webhook_id": UNKNOWN_ID, "job_id": UNKNOWN_ID},
}
"""What is there for nobody, by what a path names."""


@dataclass
class Seeds:
    """What one tenant has; dead jobs are made in advance, because they take a worker."""

    world: World
    tenant: str
    dead: list[UUID] = field(default_factory=list)
    completed: UUID | None = None
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    async def prepare(self) -> None:
        """Store jobs that are to die and one that completes; the worker must run afterwards."""
        for _ in range(DEAD):
            self.dead.append((await self._job("fail", {})).id)
        self.completed = (await self._job("add", ARGS)).id

    async def made(self, what: str) -> dict[str, str]:
        """The parts of a path that name a new thing of this sort."""
        match what:
            case "waiting job":
                return {"job_id": str((await self._job("add", ARGS)).id)}
            case "held job":
                job = await self._job("add", ARGS)
                await self.world.app.jobs.hold(job.id, reason="seed")
                return {"job_id": str(job.id)}
            case "completed job":
                return {"job_id": str(self.completed)}
            case "dead job":
                return {"job_id": str(self.dead.pop())}
            case "flow":
                plain = [{"name": "one", "kind": "add", "args": ARGS}]
                return {
                    "flow_id": str((await self.world.app.flows.start("seed", plain, tenant=self.tenant)).id)
                }
            case "schedule" | "schedule field":
                return await self._schedule(what)
            case "lock":
                name = f"lock-{next(self.numbers)}"
                await self.world.app.locks.acquire(name, ttl="1h", holder="seed", tenant=self.tenant)
                return {"lock_id": name}
            case "key":
                return {
                    "prefix": (await self.world.app.api_keys.create("seed", tenant=self.tenant)).key.prefix
                }
            case "webhook":
                return {"webhook_id": str((await self._webhook()).id)}
            case "delivery":
                webhook = await self._webhook()
                return {
                    "webhook_id": str(webhook.id),
                    "job_id": str(await self.world.app.webhooks.test(webhook.id)),
                }
            case "worker":
                name = f"worker-{next(self.numbers)}"
                await self.world.app._enqueuer.stores.workers.register(new_worker(name))
                return {"worker_id": name}
            case "rule":
                return {"rule": "slow_jobs"}
            case "limit field":
                return {"field": "limit"}
            case "failure":
                [failure] = await self.world.app.failures.all(tenant=self.tenant)
                return {"fingerprint": failure.fingerprint}
            case "operation":
                client = self.world.app.acting_as("seed", tenant=self.tenant, rights={"*"})
                letters = DeadLetterFilter(kind="nobody")
                made = await client.operations.start("dead_letters.retry", letters, reason="seed")
                return {"operation_id": str(made.id)}
            case "queue":
                return {"queue": "default"}
            case "kind":
                return {"kind": "add"}
            case "policy field":
                return {"field": "timeout"}
            case _:
                return {}

    async def _job(self, kind: str, args: dict[str, int]) -> _Stored:
        handle = await self.world.app.jobs.enqueue_by_name(kind, args, JobOptions(tenant=self.tenant))
        return _Stored(handle.id)

    async def _webhook(self) -> Webhook:
        made = await self.world.app.webhooks.create("seed", "https://example.com/hooks", tenant=self.tenant)
        return made.webhook

    async def _schedule(self, what: str) -> dict[str, str]:
        name = f"seed-{next(self.numbers)}"
        client = self.world.app.acting_as("seed", tenant=self.tenant, rights={"*"})
        await client.schedules.create(name, "add", cron="0 3 * * *", args=ARGS)
        return {"name": name, **({"field": "cron"} if what == "schedule field" else {})}

    async def facts(self) -> dict[str, object]:
        """Everything that the tenant has, to compare before and after."""
        client = self.world.app.acting_as("seed", tenant=self.tenant, rights={"*"})
        return {
            "jobs": [(job.id, job.state, job.reason) for job in (await client.jobs.search(limit=200)).jobs],
            "letters": await client.dead_letters.open(limit=200),
            "schedules": await client.schedules.all(),
            "locks": await client.locks.all(),
            "keys": [(key.prefix, key.revoked_at) for key in await client.api_keys.all()],
            "pauses": await client.queues.pauses(),
            "webhooks": await client.webhooks.all(),
            "flows": await client.flows.all(),
            "operations": await client.operations.all(),
            "failures": await client.failures.all(),
            "audit": await client.audit.search(limit=1000),
        }


@dataclass(frozen=True)
class _Stored:
    id: UUID
