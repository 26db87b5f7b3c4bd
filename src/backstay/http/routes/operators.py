"""Pauses, quotas, limits and overrides: what operators hold back and change."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import Path, Query

from backstay.http.caller import AsCaller
from backstay.http.router import operations
from backstay.http.values.common import Done, Listed
from backstay.http.values.operators import (
    ChangeShown,
    HolderShown,
    LimitShown,
    NewChange,
    NewLimit,
    NewPause,
    NewQuota,
    PauseShown,
    QuotaShown,
)
from backstay.model.records import Override

queues = operations("queues")
quotas = operations("quotas")
limits = operations("limits")
overrides = operations("overrides")

NameQuery = Annotated[str | None, Query(max_length=128)]
TenantName = Annotated[str | None, Query(max_length=255)]
Field = Annotated[str, Path(min_length=1, max_length=40)]


@queues.get("/pauses", summary="List what is paused")
async def pauses(client: AsCaller) -> Listed[PauseShown]:
    """List paused queues, kinds and tenants, with who paused them and why."""
    found = await client.queues.pauses()
    return Listed[PauseShown](items=[PauseShown.model_validate(one) for one in found])


@queues.post("/pause", summary="Pause a queue, a kind or a tenant")
async def pause(client: AsCaller, body: NewPause) -> Done:
    """Stop claims of a queue or a kind, or hold what a tenant has waiting; what runs finishes."""
    await client.queues.pause(
        body.queue, kind=body.kind, tenant=body.tenant, reason=body.reason, until=body.until
    )
    return Done(done=True)


@queues.post("/resume", summary="Let a queue, a kind or a tenant go on")
async def resume(
    client: AsCaller, queue: NameQuery = None, kind: NameQuery = None, tenant: TenantName = None
) -> Done:
    """Let a queue, a kind or a tenant go on: exactly one of them."""
    return Done(done=await client.queues.resume(queue, kind=kind, tenant=tenant))


@quotas.get("", summary="List quotas")
async def list_quotas(client: AsCaller) -> Listed[QuotaShown]:
    """List how many jobs may wait, with who set it and why."""
    found = await client.quotas.all()
    return Listed[QuotaShown](items=[QuotaShown.model_validate(one) for one in found])


@quotas.put("", summary="Set a quota")
async def set_quota(client: AsCaller, body: NewQuota) -> Done:
    """Limit how many jobs may wait; enqueueing more is refused."""
    await client.quotas.set(body.most, tenant=body.tenant, queue=body.queue, reason=body.reason)
    return Done(done=True)


@quotas.delete("", summary="Remove a quota")
async def remove_quota(client: AsCaller, tenant: TenantName = None, queue: NameQuery = None) -> Done:
    """Let any number of jobs wait again."""
    return Done(done=await client.quotas.unset(tenant=tenant, queue=queue))


@limits.get("", summary="List limits")
async def list_limits(
    client: AsCaller, limit: Annotated[int, Query(ge=1, le=1000)] = 200
) -> Listed[LimitShown]:
    """List every limit that was asked for, those that jobs wait for first."""
    found = await client.limits.all(limit=limit)
    return Listed[LimitShown](items=[LimitShown.model_validate(one) for one in found])


@limits.get("/holders", summary="List who holds the permits of a limit")
async def holders(
    client: AsCaller,
    key: Annotated[str, Query(max_length=1000, description="The limit's key, as the list has it.")],
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Listed[HolderShown]:
    """List the jobs that hold permits of a limit now."""
    found = await client.limits.holders(key, limit=limit)
    return Listed[HolderShown](items=[HolderShown.model_validate(one) for one in found])


@limits.get("/changes", summary="List changed limits")
async def limit_changes(client: AsCaller) -> Listed[ChangeShown]:
    """List the limits that operators have changed."""
    return Listed[ChangeShown](items=[_change(one) for one in await client.limits.changes()])


@limits.put("", summary="Change a limit")
async def set_limit(client: AsCaller, body: NewLimit) -> Done:
    """Change a limit of a kind or a queue for every worker; a deploy keeps the change."""
    await client.limits.set(
        body.field, body.value, kind=body.kind, queue=body.queue, burst=body.burst, reason=body.reason
    )
    return Done(done=True)


@limits.delete("/{field}", summary="Undo a change of a limit")
async def unset_limit(
    client: AsCaller, field: Field, kind: NameQuery = None, queue: NameQuery = None
) -> Done:
    """Restore the limit that the code declares."""
    return Done(done=await client.limits.unset(field, kind=kind, queue=queue))


@overrides.get("", summary="List overrides")
async def list_overrides(client: AsCaller) -> Listed[ChangeShown]:
    """List every number that operators have changed."""
    return Listed[ChangeShown](items=[_change(one) for one in await client.overrides.all()])


@overrides.put("", summary="Override a number")
async def set_override(client: AsCaller, body: NewChange) -> Done:
    """Change a number of a kind or a queue for every worker, from their next claim on."""
    await client.overrides.set(body.field, body.value, kind=body.kind, queue=body.queue, reason=body.reason)
    return Done(done=True)


@overrides.delete("/{field}", summary="Undo an override")
async def unset_override(
    client: AsCaller, field: Field, kind: NameQuery = None, queue: NameQuery = None
) -> Done:
    """Let the code's own number count again."""
    return Done(done=await client.overrides.unset(field, kind=kind, queue=queue))


def _change(one: Override) -> ChangeShown:
    return ChangeShown(
        scope=one.scope,
        name=one.name,
        field=one.field,
        change=json.loads(one.change),
        set_at=one.set_at,
        set_by=one.set_by,
        reason=one.reason,
    )
