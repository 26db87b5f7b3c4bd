"""SubscriptionEnforcer: pauses watchpoints that are not paid for or are beyond the plan."""

from __future__ import annotations

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain.plans import (
    OVERAGE_GRACE,
    PAYMENT_GRACE,
    BadLimits,
    Candidate,
    PausedReason,
    PlanLimits,
    excess,
    limits_of,
)
from backstay_watchpoint.services.usage import is_billed
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store.tables import organizations, watchpoints


async def enforce_payment_failure(work: Work) -> int:
    """Pause every watchpoint of organisations whose payment has been missing for more than seven days."""
    async with work.reading() as transaction:
        overdue = (
            await transaction.scalars(
                select(organizations.c.id)
                .where(organizations.c.payment_failed_at < work.now - PAYMENT_GRACE)
                .where(organizations.c.deleted_at.is_(None))
                .order_by(organizations.c.id)
            )
        ).all()
    for organization_id in overdue:
        async with work.transaction() as transaction:
            await pause_all(work, transaction, organization_id)
    return work.items


async def enforce_overage(work: Work) -> int:
    """Pause the newest watchpoints beyond the plan of organisations with more than fourteen days of overage.

    One whose plan or limits cannot be read is warned of and does not stop the others.
    """
    async with work.reading() as transaction:
        over = (
            await transaction.execute(
                select(organizations.c.id, organizations.c.plan, organizations.c.plan_limits)
                .where(organizations.c.overage_started_at < work.now - OVERAGE_GRACE)
                .where(organizations.c.deleted_at.is_(None))
                .order_by(organizations.c.id)
            )
        ).all()
    for row in over:
        try:
            limits = limits_of(row.plan, row.plan_limits)
        except BadLimits as error:
            work.warn(f"watchpoints were not compared with the plan: {error}", organization_id=row.id)
            continue
        async with work.transaction() as transaction:
            await _pause_excess(work, transaction, row.id, limits)
    return work.items


async def _pause_excess(
    work: Work, transaction: AsyncConnection, organization_id: str, limits: PlanLimits
) -> None:
    rows = await transaction.execute(
        select(watchpoints.c.id, watchpoints.c.created_at)
        .where(watchpoints.c.organization_id == organization_id)
        .where(watchpoints.c.status == "active")
        .where(is_billed())
        .with_for_update()
    )
    active = [Candidate(found.id, found.created_at) for found in rows]
    beyond = [candidate.id for candidate in excess(active, limits)]
    await _pause(work, transaction, beyond, PausedReason.USAGE_OVERAGE)


async def pause_all(work: Work, transaction: AsyncConnection, organization_id: str) -> None:
    """Pause every active watchpoint of an organisation because it has not paid."""
    active = await transaction.scalars(
        select(watchpoints.c.id)
        .where(watchpoints.c.organization_id == organization_id)
        .where(watchpoints.c.status == "active")
        .where(is_billed())
        .with_for_update()
    )
    await _pause(work, transaction, list(active), PausedReason.BILLING_DELINQUENCY)


async def _pause(work: Work, transaction: AsyncConnection, ids: list[str], reason: PausedReason) -> None:
    if ids:
        await transaction.execute(
            update(watchpoints).where(watchpoints.c.id.in_(ids)).values(status="paused", paused_reason=reason)
        )
        work.changed_all("watchpoint", ids, f"paused: {reason}")
