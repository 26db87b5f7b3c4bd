"""UsageAggregator: counts requests, closes days, and checks plan limits."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain.canaries import CANARY_ROLE, ROLE_KEY
from backstay_watchpoint.domain.plans import BadLimits, DayUsage, limits_of, overage_started_at
from backstay_watchpoint.domain.usage import (
    Counter,
    Snapshot,
    fresh_counter,
    merge,
    roll_over,
    target_date,
)
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store.database import insert_into
from backstay_watchpoint.store.tables import organizations, rate_limits, usage_history, watchpoints


async def count_request(
    transaction: AsyncConnection, organization_id: str, source: str, now: datetime, *, created: int = 0
) -> int:
    """Count one request and the watchpoints it created; closes the day first if it has ended. Returns today's calls.

    The counter's row is locked, so of many requests at midnight one takes the snapshot.
    """
    fresh = fresh_counter(organization_id, source, now)
    await transaction.execute(
        insert_into(transaction, rate_limits).values(_row_of(fresh)).on_conflict_do_nothing()
    )
    counter = await _locked_counter(transaction, organization_id, source)
    counter = await close_ended(transaction, counter, now) or counter
    await transaction.execute(
        update(rate_limits)
        .where(_key(counter))
        .values(
            api_calls_count=counter.api_calls + 1,
            watchpoints_count=counter.watchpoints + created,
        )
    )
    return counter.api_calls + 1


async def close_ended(transaction: AsyncConnection, counter: Counter, now: datetime) -> Counter | None:
    """Move an ended period of a locked counter into the history and start anew; None while it is current."""
    rolled = roll_over(counter, now)
    if rolled is None:
        return None
    snapshot, current = rolled
    await _store(transaction, snapshot)
    await transaction.execute(update(rate_limits).where(_key(counter)).values(_row_of(current)))
    return current


async def snapshot_daily_usage(work: Work, day: date | None = None) -> int:
    """Close the counters that no request has closed, then compare the day with each plan's limits."""
    async with work.reading() as transaction:
        waiting = (
            await transaction.execute(
                select(rate_limits.c.organization_id, rate_limits.c.source)
                .where(rate_limits.c.period_end < work.now)
                .order_by(rate_limits.c.organization_id, rate_limits.c.source)
            )
        ).all()
    by_organization: dict[str, list[str]] = {}
    for organization_id, source in waiting:
        by_organization.setdefault(organization_id, []).append(source)
    for organization_id, sources in by_organization.items():
        try:
            async with work.transaction() as transaction:
                for source in sources:
                    await _close_one(work, transaction, organization_id, source)
        except SQLAlchemyError as error:
            work.warn(f"usage was not closed: {type(error).__name__}", organization_id=organization_id)
    await check_compliance(work, day or target_date(work.now))
    return work.items


async def check_compliance(work: Work, day: date) -> int:
    """Clear or set each organisation's overage by its use of one day, all sources together.

    One whose plan or limits cannot be read is warned of and does not stop the others.
    """
    async with work.reading() as transaction:
        rows = (await transaction.execute(_day_of_each_organization(day))).all()
    for row in rows:
        usage = DayUsage(row.api_calls or 0, row.active or 0)
        try:
            limits = limits_of(row.plan, row.plan_limits)
        except BadLimits as error:
            work.warn(f"usage was not compared with the plan: {error}", organization_id=row.id)
            continue
        since = overage_started_at(usage, limits, row.overage_started_at, work.now)
        if since != row.overage_started_at:
            await _set_overage(work, row.id, since)
    return work.items


async def _set_overage(work: Work, organization_id: str, since: datetime | None) -> None:
    async with work.transaction() as transaction:
        await transaction.execute(
            update(organizations)
            .where(organizations.c.id == organization_id)
            .values(overage_started_at=since)
        )
        change = "overage cleared" if since is None else "overage started"
        work.changed("organization", organization_id, change)


def is_billed() -> Any:
    """Return the condition that leaves canaries out."""
    role = watchpoints.c.metadata[ROLE_KEY].as_string()
    return role.is_(None) | (role != CANARY_ROLE)


def _day_of_each_organization(day: date) -> Any:
    calls = (
        select(usage_history.c.organization_id, func.sum(usage_history.c.api_calls).label("api_calls"))
        .where(usage_history.c.date == day)
        .group_by(usage_history.c.organization_id)
        .subquery()
    )
    active = (
        select(watchpoints.c.organization_id, func.count().label("active"))
        .where(watchpoints.c.status == "active")
        .where(is_billed())
        .group_by(watchpoints.c.organization_id)
        .subquery()
    )
    return (
        select(
            organizations.c.id,
            organizations.c.plan,
            organizations.c.plan_limits,
            organizations.c.overage_started_at,
            calls.c.api_calls,
            active.c.active,
        )
        .outerjoin(calls, calls.c.organization_id == organizations.c.id)
        .outerjoin(active, active.c.organization_id == organizations.c.id)
        .where(organizations.c.deleted_at.is_(None))
        .order_by(organizations.c.id)
    )


async def _close_one(work: Work, transaction: AsyncConnection, organization_id: str, source: str) -> None:
    counter = await _locked_counter(transaction, organization_id, source)
    if await close_ended(transaction, counter, work.now) is not None:
        work.changed(
            "usage",
            f"{organization_id}/{source}",
            "closed",
            calls=counter.api_calls,
            period_end=counter.period_end.isoformat(),
        )


async def _locked_counter(transaction: AsyncConnection, organization_id: str, source: str) -> Counter:
    row = (
        await transaction.execute(
            select(rate_limits)
            .where(rate_limits.c.organization_id == organization_id)
            .where(rate_limits.c.source == source)
            .with_for_update()
        )
    ).one()
    return Counter(
        row.organization_id,
        row.source,
        row.api_calls_count,
        row.watchpoints_count,
        row.period_start,
        row.period_end,
    )


async def _store(transaction: AsyncConnection, snapshot: Snapshot) -> None:
    stored = await transaction.execute(
        select(usage_history)
        .where(usage_history.c.organization_id == snapshot.organization_id)
        .where(usage_history.c.date == snapshot.date)
        .where(usage_history.c.source == snapshot.source)
    )
    row = stored.one_or_none()
    if row is not None:
        earlier = Snapshot(row.organization_id, row.date, row.source, row.api_calls, row.watchpoints)
        snapshot = merge(earlier, snapshot)
    values = {
        "organization_id": snapshot.organization_id,
        "date": snapshot.date,
        "source": snapshot.source,
        "api_calls": snapshot.api_calls,
        "watchpoints": snapshot.watchpoints,
        "notifications": 0,
    }
    counts = {"api_calls": snapshot.api_calls, "watchpoints": snapshot.watchpoints}
    await transaction.execute(
        insert_into(transaction, usage_history)
        .values(values)
        .on_conflict_do_update(index_elements=["organization_id", "date", "source"], set_=counts)
    )


def _key(counter: Counter) -> Any:
    return (rate_limits.c.organization_id == counter.organization_id) & (
        rate_limits.c.source == counter.source
    )


def _row_of(counter: Counter) -> dict[str, Any]:
    return {
        "organization_id": counter.organization_id,
        "source": counter.source,
        "api_calls_count": counter.api_calls,
        "watchpoints_count": counter.watchpoints,
        "period_start": counter.period_start,
        "period_end": counter.period_end,
    }
