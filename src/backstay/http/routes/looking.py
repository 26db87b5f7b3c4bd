"""Workers, kinds, locks, the doctor and the audit trail: what operators look at."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query, Request

from backstay.http.caller import AsCaller, ForTenant, service_of
from backstay.http.router import operations
from backstay.http.values.common import Done, Listed, Moment, Paged, WithReason
from backstay.http.values.operators import (
    AuditLine,
    ChainShown,
    FindingShown,
    KindShown,
    LockShown,
    WorkerShown,
)
from backstay.kit.problems import not_found
from backstay.model.job import JobId
from backstay.model.records import AuditFilter

workers = operations("workers")
kinds = operations("kinds")
locks = operations("locks")
doctor = operations("doctor")
audit = operations("audit")

WorkerName = Annotated[str, Path(min_length=1, max_length=255)]
LockName = Annotated[str, Path(min_length=1, max_length=255)]
Limit = Annotated[int, Query(ge=1, le=1000)]
Short = Annotated[str | None, Query(max_length=255)]


@workers.get("", summary="List workers")
async def list_workers(client: AsCaller, limit: Limit = 200) -> Listed[WorkerShown]:
    """List worker processes, the living first, with what they use."""
    found = await client.workers.all(limit=limit)
    return Listed[WorkerShown](items=[WorkerShown.model_validate(one) for one in found])


@workers.post("/{worker_id}/drain", summary="Drain a worker")
async def drain_worker(client: AsCaller, worker_id: WorkerName, body: WithReason) -> Done:
    """Let a living worker finish what it has and claim no more; it stays until it is resumed or stopped."""
    await client.workers.drain(worker_id, reason=body.reason)
    return Done(done=True)


@workers.post("/{worker_id}/resume", summary="Let a drained worker go on")
async def resume_worker(client: AsCaller, worker_id: WorkerName) -> Done:
    """Let a worker that was told to drain claim again."""
    await client.workers.resume(worker_id)
    return Done(done=True)


@workers.post("/{worker_id}/stop", summary="Stop a worker")
async def stop_worker(client: AsCaller, worker_id: WorkerName, body: WithReason) -> Done:
    """Let a living worker finish what it has and leave, as after a signal."""
    await client.workers.stop(worker_id, reason=body.reason)
    return Done(done=True)


@kinds.get("", summary="List kinds")
async def list_kinds(client: AsCaller) -> Listed[KindShown]:
    """List the kinds that workers have declared, with the schema of their arguments."""
    found = await client.workers.kinds()
    return Listed[KindShown](items=[KindShown.model_validate(one) for one in found])


@locks.get("", summary="List locks")
async def list_locks(client: AsCaller, limit: Limit = 200) -> Listed[LockShown]:
    """List the locks that are held, the next to run out first."""
    found = await client.locks.all(limit=limit)
    return Listed[LockShown](items=[LockShown.model_validate(one) for one in found])


@locks.get("/{lock_id}", summary="Look at a lock")
async def get_lock(client: ForTenant, lock_id: LockName) -> LockShown:
    """Show a lock that is held now."""
    found = await client.locks.get(lock_id)
    if found is None:
        raise not_found()
    return LockShown.model_validate(found)


@locks.post("/{lock_id}/break", summary="Break a lock")
async def break_lock(client: ForTenant, lock_id: LockName, body: WithReason) -> Done:
    """Take a lock from its holder; its holder is not stopped by this."""
    return Done(done=await client.locks.break_lock(lock_id, reason=body.reason))


@doctor.get("", summary="Ask what is wrong")
async def findings(client: AsCaller) -> Listed[FindingShown]:
    """List what keeps jobs from running, the worst first."""
    found = await client.doctor.check()
    return Listed[FindingShown](items=[FindingShown.model_validate(one) for one in found])


@audit.post("/verify", summary="Verify the audit trail")
async def verify_audit(client: AsCaller) -> ChainShown:
    """Look through every chain of the trail for the first link that does not hold."""
    return ChainShown.model_validate(await client.audit.verify())


@audit.get("", summary="Read the audit trail")
async def search_audit(
    request: Request,
    client: AsCaller,
    tenant: Short = None,
    actor: Short = None,
    action: Annotated[str | None, Query(max_length=100, examples=["job.cancelled"])] = None,
    job_id: UUID | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    cursor: Annotated[str | None, Query(max_length=2048)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> Paged[AuditLine]:
    """List who did what, when and why, newest first."""
    filters = AuditFilter(
        tenant=tenant,
        actor=actor,
        action=action,
        job_id=None if job_id is None else JobId(job_id),
        since=since,
        until=until,
    )
    cursors, scope = await service_of(request).cursors(), f"audit {client.tenant} {filters}"
    before = None if cursor is None else cursors.read(scope, cursor)[0]
    found = await client.audit.search(filters, before=before, limit=limit)
    more = cursors.write(scope, [found[-1].id]) if len(found) == limit else None
    return Paged[AuditLine](items=[AuditLine.model_validate(one) for one in found], cursor=more)
