"""The tenants' API: /v1/watchpoints behind the usage middleware; a key is an organisation and a source."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Depends, Header, Query
from fastapi.encoders import jsonable_encoder
from pydantic import AwareDatetime, Field
from sqlalchemy import func, insert, select, update

from backstay.kit import Problem, StrictModel, StrictRoute, not_found, problem_responses
from backstay_watchpoint.domain.forecasts import Model, tile_of
from backstay_watchpoint.domain.plans import BadLimits, limits_of
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.services.idempotency import KeyReused, earlier_answer, keep_answer
from backstay_watchpoint.services.security import SecurityEvent, note_attempt
from backstay_watchpoint.services.usage import count_request, is_billed
from backstay_watchpoint.store.tables import api_keys, audit_logs, organizations, rate_limits, watchpoints


@dataclass(frozen=True, slots=True)
class Tenant:
    """Who asks, and through which of its programs."""

    organization_id: str
    source: str


class NewWatchpoint(StrictModel):
    """A watchpoint as a tenant creates it."""

    name: str = Field(min_length=1, max_length=200)
    latitude: float = Field(ge=-90, le=90)
    longitude: float = Field(ge=-180, le=180)
    conditions: dict[str, Any] = Field(default_factory=dict)
    time_window_start: AwareDatetime | None = None
    time_window_end: AwareDatetime | None = None


Limit = Annotated[int, Query(ge=1, le=200)]
IdempotencyKey = Annotated[str | None, Header(min_length=1, max_length=200)]


def key_hash(key: str) -> str:
    """Return what is stored of a key."""
    return hashlib.sha256(key.encode()).hexdigest()


def tenant_router(platform: Platform) -> APIRouter:
    """Build the routes; every request with a valid key is counted, whatever becomes of it."""
    router = APIRouter(prefix="/v1", route_class=StrictRoute, tags=["watchpoints"])

    async def counted(x_api_key: Annotated[str | None, Header()] = None) -> Tenant:
        async with platform.database.transaction() as transaction:
            row = await _key_row(transaction, x_api_key or "")
            if row is not None:
                await count_request(transaction, row.organization_id, row.source, platform.clock())
                return Tenant(row.organization_id, row.source)
        await note_attempt(platform.database, SecurityEvent.UNKNOWN_KEY, platform.clock())
        raise Problem(401, "unknown_key", "Send a valid key in the header X-API-Key.")

    caller = Annotated[Tenant, Depends(counted)]
    _reading(router, platform, caller)
    _changing(router, platform, caller)
    return router


async def _key_row(transaction: Any, key: str) -> Any:
    return (
        await transaction.execute(
            select(api_keys.c.organization_id, api_keys.c.source)
            .join(organizations, organizations.c.id == api_keys.c.organization_id)
            .where(api_keys.c.key_hash == key_hash(key))
            .where(organizations.c.deleted_at.is_(None))
        )
    ).one_or_none()


def _reading(router: APIRouter, platform: Platform, caller: Any) -> None:
    @router.get("/watchpoints", responses=problem_responses(401, 422))
    async def list_watchpoints(
        tenant: caller, status: str | None = None, limit: Limit = 50, after: str | None = None
    ) -> dict[str, Any]:
        """List the organisation's watchpoints, the newest first; `next` is the `after` of the following page."""
        mine = select(watchpoints).where(watchpoints.c.organization_id == tenant.organization_id)
        if status is not None:
            mine = mine.where(watchpoints.c.status == status)
        async with platform.database.reading() as transaction:
            if after is not None:
                mine = mine.where(await _behind(transaction, tenant, after))
            ordered = mine.order_by(watchpoints.c.created_at.desc(), watchpoints.c.id)
            found = (await transaction.execute(ordered.limit(limit + 1))).mappings().all()
        page = [_shown(dict(row)) for row in found[:limit]]
        return {"watchpoints": page, "next": page[-1]["id"] if len(found) > limit else None}

    @router.get("/watchpoints/{watchpoint_id}", responses=problem_responses(401, 404))
    async def get_watchpoint(tenant: caller, watchpoint_id: str) -> dict[str, Any]:
        """Show one watchpoint."""
        async with platform.database.reading() as transaction:
            row = (await transaction.execute(_one(tenant, watchpoint_id))).mappings().one_or_none()
        if row is None:
            raise not_found()
        return _shown(dict(row))


def _changing(router: APIRouter, platform: Platform, caller: Any) -> None:
    @router.post("/watchpoints", status_code=201, responses=problem_responses(401, 403, 409, 422, 503))
    async def create_watchpoint(
        tenant: caller, body: NewWatchpoint, idempotency_key: IdempotencyKey = None
    ) -> dict[str, Any]:
        """Create a watchpoint, as long as the plan has room; with an Idempotency-Key once in 24 hours."""
        now = platform.clock()
        _check_window(body)
        request = body.model_dump(mode="json")
        async with platform.database.transaction() as transaction:
            if idempotency_key is None:
                return await _create(transaction, tenant, body, now)
            owner = tenant.organization_id
            try:
                answer = await earlier_answer(transaction, owner, idempotency_key, request, now)
            except KeyReused as error:
                raise Problem(409, "key_reused", str(error)) from error
            if answer is None:
                answer = await _create(transaction, tenant, body, now)
                await keep_answer(transaction, owner, idempotency_key, answer)
        return answer

    @router.delete("/watchpoints/{watchpoint_id}", status_code=204, responses=problem_responses(401, 404))
    async def archive_watchpoint(tenant: caller, watchpoint_id: str) -> None:
        """Archive a watchpoint; it is deleted for good after ninety days."""
        async with platform.database.transaction() as transaction:
            archived = await transaction.execute(
                update(watchpoints)
                .where(watchpoints.c.id == watchpoint_id)
                .where(watchpoints.c.organization_id == tenant.organization_id)
                .where(watchpoints.c.status != "archived")
                .values(status="archived", archived_at=platform.clock(), archived_reason="user_request")
            )
        if not archived.rowcount:
            raise not_found()


async def _create(transaction: Any, tenant: Tenant, body: NewWatchpoint, now: datetime) -> dict[str, Any]:
    await _check_plan(transaction, tenant, body)
    row = {
        "id": str(uuid4()),
        "organization_id": tenant.organization_id,
        "tile_id": tile_of(body.latitude, body.longitude),
        "status": "active",
        "metadata": {},
        "created_at": now,
        **body.model_dump(),
    }
    await transaction.execute(insert(watchpoints).values(row))
    await _note_created(transaction, tenant, row, now)
    shown: dict[str, Any] = jsonable_encoder(_shown(row))
    return shown


async def _check_plan(transaction: Any, tenant: Tenant, body: NewWatchpoint) -> None:
    row = (
        await transaction.execute(
            select(organizations.c.plan, organizations.c.plan_limits)
            .where(organizations.c.id == tenant.organization_id)
            .with_for_update()
        )
    ).one()
    try:
        limits = limits_of(row.plan, row.plan_limits)
    except BadLimits as error:
        raise Problem(503, "plan_unreadable", "What your plan allows cannot be read now.") from error
    if not limits.allow_nowcast and body.conditions.get("model") == Model.NOWCAST:
        raise Problem(403, "plan_limit", "The plan has no nowcast: upgrade, or watch the medium range.")
    active = await transaction.scalar(
        select(func.count())
        .select_from(watchpoints)
        .where(watchpoints.c.organization_id == tenant.organization_id)
        .where(watchpoints.c.status == "active")
        .where(is_billed())
    )
    most = limits.watchpoints_max
    if most is not None and (active or 0) >= most:
        raise Problem(
            403, "plan_limit", f"The plan allows {most} active watchpoints: archive one or upgrade."
        )


async def _note_created(transaction: Any, tenant: Tenant, row: dict[str, Any], now: datetime) -> None:
    await transaction.execute(
        update(rate_limits)
        .where(rate_limits.c.organization_id == tenant.organization_id)
        .where(rate_limits.c.source == tenant.source)
        .values(watchpoints_count=rate_limits.c.watchpoints_count + 1)
    )
    await transaction.execute(
        insert(audit_logs).values(
            id=str(uuid4()),
            organization_id=tenant.organization_id,
            actor=tenant.source,
            action="watchpoint.created",
            details={"watchpoint_id": row["id"]},
            created_at=now,
        )
    )


def _check_window(body: NewWatchpoint) -> None:
    start, end = body.time_window_start, body.time_window_end
    if start is not None and end is not None and end <= start:
        raise Problem(
            422, "bad_window", "time_window_end must lie after time_window_start.", pointer="/time_window_end"
        )


async def _behind(transaction: Any, tenant: Tenant, watchpoint_id: str) -> Any:
    """Return the condition of the watchpoints that a list shows behind one of the organisation's."""
    row = (await transaction.execute(_one(tenant, watchpoint_id))).one_or_none()
    if row is None:
        raise Problem(422, "bad_cursor", "after must be an id that a list has shown.", pointer="/after")
    return (watchpoints.c.created_at < row.created_at) | (
        (watchpoints.c.created_at == row.created_at) & (watchpoints.c.id > row.id)
    )


def _one(tenant: Tenant, watchpoint_id: str) -> Any:
    return (
        select(watchpoints)
        .where(watchpoints.c.id == watchpoint_id)
        .where(watchpoints.c.organization_id == tenant.organization_id)
    )


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    hidden = ("organization_id", "metadata", "archived_reason")
    return {name: value for name, value in row.items() if name not in hidden}
