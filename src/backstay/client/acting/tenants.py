"""Flows, schedules, locks and the audit trail, for somebody who acts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Unpack
from uuid import UUID

from backstay.client.acting.scope import Scope
from backstay.client.flow_building import FlowHandle
from backstay.client.schedules import BackFill
from backstay.client.scheduling import Timing
from backstay.errors import FlowNotFound, Forbidden, InvalidSchedule
from backstay.handle import JobHandle
from backstay.handler import BoundHandler, Handler
from backstay.model.audit_chain import ChainHead, ChainReport
from backstay.model.flows import DependencyRecord, FlowJob, FlowRecord
from backstay.model.job import JobId
from backstay.model.records import AuditEntry, AuditFilter
from backstay.model.schedules.records import HistoryEntry, Lock
from backstay.model.schedules.schedule import Schedule
from backstay.options import NO_OPTIONS


@dataclass(frozen=True, slots=True)
class ActingFlows:
    """The flows that somebody may see, and what they may do with them."""

    scope: Scope

    async def all(self, *, before: UUID | str | None = None, limit: int = 50) -> list[FlowRecord]:
        """Flows with their progress, newest first."""
        self.scope.need("flows.read")
        return await self.scope.app.flows.all(tenant=self.scope.only_tenant, before=before, limit=limit)

    async def get(self, flow_id: UUID | str) -> FlowRecord:
        """One flow and how many of its jobs are in which state; raises FlowNotFound."""
        return await self._own(flow_id, "flows.read")

    async def members(self, flow_id: UUID | str) -> list[FlowJob]:
        """The jobs of a flow in the order they were added."""
        return await self.scope.app.flows.members((await self.get(flow_id)).id)

    async def dependencies(self, flow_id: UUID | str) -> list[DependencyRecord]:
        """What the jobs of a flow wait or waited for."""
        return await self.scope.app.flows.dependencies((await self.get(flow_id)).id)

    async def of_job(self, job_id: UUID | str) -> list[DependencyRecord]:
        """What one job waits or waited for, and which jobs wait or waited for it."""
        job = await self.scope.job(job_id, "flows.read")
        return await self.scope.app.flows.of_job(job.id)

    async def start(self, name: str, jobs: Sequence[Mapping[str, Any]]) -> FlowHandle:
        """Store a flow that is described by plain values, for the tenant."""
        self.scope.need("flows.start")
        for job in jobs:
            self.scope.check_kind(job.get("kind"), "flows.start")
        return await self.scope.app.flows.start(name, jobs, tenant=self.scope.own_tenant)

    async def cancel(self, flow_id: UUID | str, *, reason: str) -> int:
        """Cancel every job of a flow that has not started and ask those that run to stop; returns how many."""
        flow = await self._own(flow_id, "flows.cancel")
        return await self.scope.app.flows.cancel(flow.id, by=self.scope.actor, reason=reason)

    async def retry_from(self, job_id: UUID | str, *, reason: str) -> list[JobId]:
        """Run a job and everything that depends on it again; returns the ids of the jobs that will run."""
        job = await self.scope.job(job_id, "flows.retry")
        return await self.scope.app.flows.retry_from(job.id, by=self.scope.actor, reason=reason)

    async def _own(self, flow_id: UUID | str, right: str) -> FlowRecord:
        self.scope.need(right)
        flow = await self.scope.app.flows.get(flow_id)
        if not self.scope.sees(flow.tenant):
            raise FlowNotFound(flow_id)
        return flow


@dataclass(frozen=True, slots=True)
class ActingSchedules:
    """The schedules of the tenant; for all tenants, whichever has the name."""

    scope: Scope

    async def create(
        self, name: str, job: Handler[..., Any] | BoundHandler[..., Any] | str, **asked: Unpack[Timing]
    ) -> Schedule:
        """Create a schedule for the tenant; `job` is a handler or the name of a kind."""
        self.scope.need("schedules.create")
        self.scope.check_kind(job if isinstance(job, str) else job.spec.kind, "schedules.create")
        target = (await self._bound(job)).options(tenant=self.scope.own_tenant)
        return await self.scope.app.schedules.create(name, target, by=self.scope.actor, **asked)

    async def _bound(
        self, job: Handler[..., Any] | BoundHandler[..., Any] | str
    ) -> Handler[..., Any] | BoundHandler[..., Any]:
        if not isinstance(job, str):
            return job
        app: Any = self.scope.app
        return BoundHandler(await app._enqueuer.spec_of(job), app, NO_OPTIONS)

    async def _tenant_of(self, name: str) -> str:
        """Whose schedule it is, where one acts for all tenants; raises InvalidSchedule if several have one."""
        if self.scope.only_tenant is not None:
            return self.scope.only_tenant
        tenants = [one.tenant for one in await self.scope.app.schedules.all(name=name)]
        if len(tenants) < 2 or "" in tenants:
            return "" if "" in tenants or not tenants else tenants[0]
        raise InvalidSchedule(
            name, f"{len(tenants)} tenants have a schedule of this name: act for one of them"
        )

    async def get(self, name: str) -> Schedule:
        """One schedule as it is now; raises ScheduleNotFound."""
        self.scope.need("schedules.read")
        return await self.scope.app.schedules.get(name, tenant=await self._tenant_of(name))

    async def all(self, *, kind: str | None = None, limit: int = 1000) -> list[Schedule]:
        """Schedules by name."""
        self.scope.need("schedules.read")
        return await self.scope.app.schedules.all(tenant=self.scope.only_tenant, kind=kind, limit=limit)

    async def next_fires(self, name: str, count: int = 5) -> list[datetime]:
        """When a schedule fires next."""
        self.scope.need("schedules.read")
        return await self.scope.app.schedules.next_fires(name, count, tenant=await self._tenant_of(name))

    async def history(
        self, name: str, *, before: datetime | None = None, limit: int = 100
    ) -> list[HistoryEntry]:
        """What became of a schedule's fires, newest first."""
        self.scope.need("schedules.read")
        return await self.scope.app.schedules.history(
            name, before=before, limit=limit, tenant=await self._tenant_of(name)
        )

    async def pause(self, name: str, *, reason: str) -> None:
        """Let a schedule fire no more until it is resumed."""
        self.scope.need("schedules.pause")
        await self.scope.app.schedules.pause(
            name, reason=reason, by=self.scope.actor, tenant=await self._tenant_of(name)
        )

    async def resume(self, name: str) -> None:
        """Let a paused schedule fire again."""
        self.scope.need("schedules.pause")
        await self.scope.app.schedules.resume(name, by=self.scope.actor, tenant=await self._tenant_of(name))

    async def set(self, name: str, field: str, value: Any, *, reason: str) -> Schedule:
        """Change a field of a schedule; a deploy keeps the change."""
        self.scope.need("schedules.change")
        return await self.scope.app.schedules.set(
            name, field, value, reason=reason, by=self.scope.actor, tenant=await self._tenant_of(name)
        )

    async def unset(self, name: str, field: str) -> Schedule:
        """Let the declared value count again."""
        self.scope.need("schedules.change")
        return await self.scope.app.schedules.unset(
            name, field, by=self.scope.actor, tenant=await self._tenant_of(name)
        )

    async def remove(self, name: str, *, reason: str) -> None:
        """Remove a schedule."""
        self.scope.need("schedules.remove")
        await self.scope.app.schedules.remove(
            name, reason=reason, by=self.scope.actor, tenant=await self._tenant_of(name)
        )

    async def run_now(
        self, name: str, *, reference_time: datetime | None = None, force: bool = False
    ) -> JobHandle[Any] | None:
        """Make a schedule's job now."""
        self.scope.need("schedules.run")
        return await self.scope.app.schedules.run_now(
            name,
            reference_time=reference_time,
            force=force,
            by=self.scope.actor,
            tenant=await self._tenant_of(name),
        )

    async def preview_back_fill(
        self, name: str, first: datetime, last: datetime, *, most: int = 1000
    ) -> BackFill:
        """What `back_fill` would do, without doing it."""
        self.scope.need("schedules.read")
        return await self.scope.app.schedules.preview_back_fill(
            name, first, last, most=most, tenant=await self._tenant_of(name)
        )

    async def preview(self, cron: str, *, zone: str = "UTC", count: int = 5) -> list[datetime]:
        """When an expression would fire, without storing anything."""
        self.scope.need("schedules.read")
        return await self.scope.app.schedules.preview(cron, zone=zone, count=count)

    async def back_fill(self, name: str, first: datetime, last: datetime, *, most: int = 1000) -> BackFill:
        """Make the jobs of all fires in a range, but for those that have fired already."""
        self.scope.need("schedules.run")
        return await self.scope.app.schedules.back_fill(
            name, first, last, most=most, by=self.scope.actor, tenant=await self._tenant_of(name)
        )


@dataclass(frozen=True, slots=True)
class ActingLocks:
    """The locks of the tenant; for all tenants, those that belong to none."""

    scope: Scope

    async def all(self, *, limit: int = 200) -> list[Lock]:
        """The locks that are held now."""
        self.scope.need("locks.read")
        return await self.scope.app.locks.all(tenant=self.scope.only_tenant, limit=limit)

    async def get(self, lock_id: str) -> Lock | None:
        """The lock, if it is held now."""
        self.scope.need("locks.read")
        return await self.scope.app.locks.get(lock_id, tenant=self.scope.own_tenant)

    async def break_lock(self, lock_id: str, *, reason: str) -> bool:
        """Take a lock from its holder; False when nobody does."""
        self.scope.need("locks.break")
        return await self.scope.app.locks.break_lock(
            lock_id, reason=reason, by=self.scope.actor, tenant=self.scope.own_tenant
        )


@dataclass(frozen=True, slots=True)
class ActingAudit:
    """What somebody may read of the audit trail."""

    scope: Scope

    async def verify(self, checkpoint: Iterable[ChainHead] = ()) -> ChainReport:
        """Look through every chain of the trail for the first link that does not hold."""
        self.scope.need_all_tenants("audit.verify")
        return await self.scope.app.audit_chain.verify(checkpoint)

    async def search(
        self, filters: AuditFilter | None = None, *, before: int | None = None, limit: int = 100
    ) -> list[AuditEntry]:
        """Lines of the trail, newest first."""
        self.scope.need("audit.read")
        asked = filters or AuditFilter()
        if self.scope.only_tenant is not None:
            if asked.tenant not in (None, self.scope.tenant):
                raise Forbidden(self.scope.actor, "audit.read", why=f"for the tenant {asked.tenant!r}")
            asked = replace(asked, tenant=self.scope.tenant)
        return await self.scope.app.audit.search(asked, before=before, limit=limit)
