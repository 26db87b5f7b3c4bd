"""/operations: one thing done to many jobs, at a pace, by maintenance."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query, Request, Response

from backstay.http.caller import AsCaller, Caller, service_of
from backstay.http.router import operations as router_of
from backstay.http.routes.jobs import KeyHeader
from backstay.http.values.common import Done, Listed
from backstay.http.values.operations import NewOperation, OperationShown

operations = router_of("operations")


@operations.get("", summary="List operations")
async def list_operations(
    client: AsCaller, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Listed[OperationShown]:
    """List actions on many jobs, the newest first, each with its progress."""
    found = await client.operations.all(limit=limit)
    return Listed[OperationShown](items=[OperationShown.model_validate(one) for one in found])


@operations.post("", status_code=201, response_model=OperationShown, summary="Start an operation")
async def start_operation(
    request: Request, caller: Caller, client: AsCaller, body: NewOperation, key: KeyHeader = None
) -> Response:
    """Start doing one thing with every job that fits now; it goes on when the caller is gone.

    With an Idempotency-Key it is started once, however often it is sent.
    """

    async def act() -> OperationShown:
        started = await client.operations.start(
            body.verb, body.filters(), reason=body.reason, pace=body.pace, name=body.name
        )
        return OperationShown.model_validate(started)

    return await service_of(request).requests.run(request, caller, act)


@operations.get("/{operation_id}", summary="Look at an operation")
async def get_operation(client: AsCaller, operation_id: UUID) -> OperationShown:
    """Show one operation, and how far it is."""
    return OperationShown.model_validate(await client.operations.get(operation_id))


@operations.post("/{operation_id}/stop", summary="Stop an operation")
async def stop_operation(client: AsCaller, operation_id: UUID) -> Done:
    """End an operation after the step that is under way; what was done stays done."""
    return Done(done=await client.operations.stop(operation_id))
