"""/flows: jobs tied by dependencies."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query, Request, Response

from backstay.http.caller import AsCaller, Caller, ForTenant, service_of
from backstay.http.router import operations
from backstay.http.routes.jobs import KeyHeader
from backstay.http.values.common import Listed, Paged, WithReason
from backstay.http.values.flows import (
    DependencyShown,
    FlowJobShown,
    FlowShown,
    NewFlow,
    Reached,
    RunAgain,
    StoredFlow,
    dependency,
)

flows = operations("flows")


@flows.get("", summary="List flows")
async def list_all(
    request: Request,
    client: AsCaller,
    cursor: Annotated[str | None, Query(max_length=2048)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Paged[FlowShown]:
    """List flows with their progress, newest first."""
    cursors, scope = await service_of(request).cursors(), f"flows {client.tenant}"
    before = None if cursor is None else cursors.read(scope, cursor)[0]
    found = await client.flows.all(before=before, limit=limit)
    more = cursors.write(scope, [found[-1].id]) if len(found) == limit else None
    return Paged[FlowShown](items=[FlowShown.model_validate(one) for one in found], cursor=more)


@flows.post("", status_code=201, response_model=StoredFlow, summary="Start a flow")
async def start(
    request: Request, caller: Caller, client: ForTenant, flow: NewFlow, key: KeyHeader = None
) -> Response:
    """Store a flow, all its jobs or none; the order of the jobs does not matter."""

    async def act() -> StoredFlow:
        stored = await client.flows.start(flow.name, flow.described())
        return StoredFlow(id=stored.id, jobs=[job.id for job in stored.jobs])

    return await service_of(request).requests.run(request, caller, act)


@flows.get("/{flow_id}", summary="Look at a flow")
async def get(client: AsCaller, flow_id: UUID) -> FlowShown:
    """Show how many jobs of a flow are in which state."""
    return FlowShown.model_validate(await client.flows.get(flow_id))


@flows.get("/{flow_id}/jobs", summary="List a flow's jobs")
async def members(client: AsCaller, flow_id: UUID) -> Listed[FlowJobShown]:
    """List the jobs of a flow in the order they were added."""
    found = await client.flows.members(flow_id)
    return Listed[FlowJobShown](items=[FlowJobShown.model_validate(one) for one in found])


@flows.get("/{flow_id}/dependencies", summary="List a flow's dependencies")
async def dependencies(client: AsCaller, flow_id: UUID) -> Listed[DependencyShown]:
    """List what the jobs of a flow wait or waited for."""
    found = await client.flows.dependencies(flow_id)
    return Listed[DependencyShown](items=[dependency(one) for one in found])


@flows.get("/of-job/{job_id}", summary="List a job's dependencies")
async def of_job(client: AsCaller, job_id: UUID) -> Listed[DependencyShown]:
    """List what one job waits or waited for, and which jobs wait or waited for it."""
    found = await client.flows.of_job(job_id)
    return Listed[DependencyShown](items=[dependency(one) for one in found])


@flows.post("/{flow_id}/cancel", summary="Cancel the rest of a flow")
async def cancel(client: AsCaller, flow_id: UUID, body: WithReason) -> Reached:
    """Cancel every job of a flow that has not started, and ask those that run to stop."""
    return Reached(jobs=await client.flows.cancel(flow_id, reason=body.reason))


@flows.post("/of-job/{job_id}/retry", summary="Run a part of a flow again")
async def retry_from(client: AsCaller, job_id: UUID, body: WithReason) -> RunAgain:
    """Run a job and everything that depends on it again."""
    return RunAgain(jobs=[*await client.flows.retry_from(job_id, reason=body.reason)])
