"""What concerns every tenant, for somebody who acts for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from backstay.client.acting.scope import Scope
from backstay.client.doctor.findings import Finding
from backstay.model.figures import Depth, FiguresAt, KindFigures, Period, TenantDepths
from backstay.model.limits.admission import LimitRecord, PermitHolder
from backstay.model.pauses import Pause, Quota
from backstay.model.records import KindRecord, Override, WorkerRecord
from backstay.model.scaling import Scaling, ScalingRule
from backstay.model.service_levels import ServiceLevel
from backstay.model.text.durations import Duration


@dataclass(frozen=True, slots=True)
class ActingQueues:
    """Pauses: those of queues and kinds concern everybody, one of the tenant only itself."""

    scope: Scope

    async def pause(
        self,
        queue: str | None = None,
        *,
        kind: str | None = None,
        tenant: str | None = None,
        reason: str,
        until: datetime | Duration | None = None,
    ) -> None:
        """Stop claims of a queue or a kind, or hold what a tenant has waiting and will enqueue."""
        self._need("queues.pause", tenant)
        await self.scope.app.queues.pause(
            queue, kind=kind, tenant=tenant, reason=reason, until=until, by=self.scope.actor
        )

    async def resume(
        self, queue: str | None = None, *, kind: str | None = None, tenant: str | None = None
    ) -> bool:
        """Let a queue, a kind or a tenant go on; False when it was not paused."""
        self._need("queues.pause", tenant)
        return await self.scope.app.queues.resume(queue, kind=kind, tenant=tenant, by=self.scope.actor)

    async def pauses(self) -> list[Pause]:
        """What is paused: queues, kinds, and the tenants that may be seen."""
        self.scope.need("queues.read")
        found = await self.scope.app.queues.pauses()
        return [pause for pause in found if pause.tenant is None or self.scope.sees(pause.tenant)]

    def _need(self, right: str, tenant: str | None) -> None:
        if tenant is not None and tenant == self.scope.only_tenant:
            self.scope.need(right)
        else:
            self.scope.need_all_tenants(right)


@dataclass(frozen=True, slots=True)
class ActingQuotas:
    """Quotas: those of the tenant are seen, only who acts for all tenants sets them."""

    scope: Scope

    async def set(
        self, most: int, *, tenant: str | None = None, queue: str | None = None, reason: str
    ) -> None:
        """Limit how many jobs may wait: of one tenant or of each, in one queue or in all together."""
        self.scope.need_all_tenants("quotas.set")
        await self.scope.app.quotas.set(most, tenant=tenant, queue=queue, reason=reason, by=self.scope.actor)

    async def unset(self, *, tenant: str | None = None, queue: str | None = None) -> bool:
        """Let any number wait again; False when there was no such quota."""
        self.scope.need_all_tenants("quotas.set")
        return await self.scope.app.quotas.unset(tenant=tenant, queue=queue, by=self.scope.actor)

    async def all(self) -> list[Quota]:
        """The quotas for each tenant, and those of tenants that may be seen."""
        self.scope.need("quotas.read")
        found = await self.scope.app.quotas.all()
        return [quota for quota in found if quota.tenant is None or self.scope.sees(quota.tenant)]


@dataclass(frozen=True, slots=True)
class ActingLimits:
    """Limits, which concern everybody."""

    scope: Scope

    async def all(self, *, limit: int = 200) -> list[LimitRecord]:
        """Every limit that was asked for, those that jobs wait for first."""
        self.scope.need_all_tenants("limits.read")
        return await self.scope.app.limits.all(limit=limit)

    async def holders(self, key: str, *, limit: int = 200) -> list[PermitHolder]:
        """The jobs that hold permits of a limit now."""
        self.scope.need_all_tenants("limits.read")
        return await self.scope.app.limits.holders(key, limit=limit)

    async def changes(self) -> list[Override]:
        """The limits that operators have changed."""
        self.scope.need_all_tenants("limits.read")
        return await self.scope.app.limits.changes()

    async def set(
        self,
        field: str,
        value: int | str,
        *,
        kind: str | None = None,
        queue: str | None = None,
        burst: int | None = None,
        reason: str,
    ) -> None:
        """Change a limit of a kind or a queue for every worker."""
        self.scope.need_all_tenants("limits.set")
        await self.scope.app.limits.set(
            field, value, kind=kind, queue=queue, burst=burst, reason=reason, by=self.scope.actor
        )

    async def unset(self, field: str, *, kind: str | None = None, queue: str | None = None) -> bool:
        """Restore the limit that the code declares; False when it was not changed."""
        self.scope.need_all_tenants("limits.set")
        return await self.scope.app.limits.unset(field, kind=kind, queue=queue, by=self.scope.actor)


@dataclass(frozen=True, slots=True)
class ActingOverrides:
    """Overrides, which concern everybody."""

    scope: Scope

    async def all(self) -> list[Override]:
        """Every change in force."""
        self.scope.need_all_tenants("overrides.read")
        return await self.scope.app.overrides.all()

    async def set(
        self, field: str, value: Any, *, kind: str | None = None, queue: str | None = None, reason: str
    ) -> None:
        """Change a number of a kind or a queue, for every worker."""
        self.scope.need_all_tenants("overrides.set")
        await self.scope.app.overrides.set(
            field, value, kind=kind, queue=queue, reason=reason, by=self.scope.actor
        )

    async def unset(self, field: str, *, kind: str | None = None, queue: str | None = None) -> bool:
        """Let the code's own number count again; False when it was not overridden."""
        self.scope.need_all_tenants("overrides.set")
        return await self.scope.app.overrides.unset(field, kind=kind, queue=queue, by=self.scope.actor)


@dataclass(frozen=True, slots=True)
class ActingWorkers:
    """Workers, which work for everybody."""

    scope: Scope

    async def all(self, *, limit: int = 200) -> list[WorkerRecord]:
        """The workers of the register."""
        self.scope.need_all_tenants("workers.read")
        return await self.scope.app.workers.all(limit=limit)

    async def drain(self, worker_id: str, *, reason: str) -> None:
        """Let a worker finish what it has and claim no more."""
        self.scope.need_all_tenants("workers.drain")
        await self.scope.app.workers.drain(worker_id, reason=reason, by=self.scope.actor)

    async def resume(self, worker_id: str) -> None:
        """Let a worker that was told to drain claim again."""
        self.scope.need_all_tenants("workers.drain")
        await self.scope.app.workers.resume(worker_id, by=self.scope.actor)

    async def stop(self, worker_id: str, *, reason: str) -> None:
        """Let a worker finish what it has and leave."""
        self.scope.need_all_tenants("workers.stop")
        await self.scope.app.workers.stop(worker_id, reason=reason, by=self.scope.actor)

    async def kinds(self) -> list[KindRecord]:
        """The kinds that workers have declared."""
        self.scope.need("workers.read")
        return await self.scope.app.workers.kinds()


@dataclass(frozen=True, slots=True)
class ActingMetrics:
    """Figures: how deep queues are is told to each tenant of its own jobs, the rest is about everybody's."""

    scope: Scope

    async def over_time(
        self,
        last: Duration = timedelta(hours=1),
        *,
        until: datetime | None = None,
        period: Period | str = Period.MINUTE,
        queue: str | None = None,
        kind: str | None = None,
    ) -> list[FiguresAt]:
        """What ended in each minute, hour, day or week of the last while, the oldest first."""
        self.scope.need_all_tenants("metrics.read")
        return await self.scope.app.metrics.over_time(
            last, until=until, period=period, queue=queue, kind=kind
        )

    async def by_kind(
        self,
        last: Duration = timedelta(hours=1),
        *,
        until: datetime | None = None,
        period: Period | str = Period.MINUTE,
        queue: str | None = None,
    ) -> list[KindFigures]:
        """The same for each queue and kind over the whole while."""
        self.scope.need_all_tenants("metrics.read")
        return await self.scope.app.metrics.by_kind(last, until=until, period=period, queue=queue)

    async def desired_workers(
        self, rule: ScalingRule | None = None, *, changed_ago: Duration | None = None
    ) -> Scaling:
        """How many workers there should be, and why."""
        self.scope.need_all_tenants("metrics.read")
        return await self.scope.app.metrics.desired_workers(rule, changed_ago=changed_ago)

    async def depths(self) -> list[Depth]:
        """How many jobs of the tenant, or of all, wait, run or are dead in each queue and kind, up to a limit."""
        self.scope.need("metrics.read")
        return await self.scope.app.metrics.depths(tenant=self.scope.only_tenant)

    async def service_levels(self, last: Duration = timedelta(days=1)) -> list[ServiceLevel]:
        """The six service levels over the last while."""
        self.scope.need_all_tenants("metrics.read")
        return await self.scope.app.metrics.service_levels(last)

    async def by_tenant(self, *, limit: int = 200) -> list[TenantDepths]:
        """How many jobs of each tenant wait and run."""
        self.scope.need_all_tenants("metrics.read")
        return await self.scope.app.metrics.by_tenant(limit=limit)

    async def counters(self) -> dict[str, int]:
        """What the application has counted, by name."""
        self.scope.need_all_tenants("metrics.read")
        return await self.scope.app.metrics.counters()


@dataclass(frozen=True, slots=True)
class ActingDoctor:
    """What is wrong, and why a job does not run."""

    scope: Scope

    async def check(self) -> list[Finding]:
        """What keeps jobs from running, the most severe first."""
        self.scope.need_all_tenants("doctor.read")
        return await self.scope.app.doctor.check()

    async def why(self, job_id: UUID | str) -> list[str]:
        """Why a job does not run, or what it does, a sentence each."""
        job = await self.scope.job(job_id, "doctor.read")
        return await self.scope.app.doctor.why(job.id)
