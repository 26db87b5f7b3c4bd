"""StripeSyncer: corrects what missed webhooks left behind, and repairs organisations without a customer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import insert, or_, select, update

from backstay_watchpoint.domain.subscriptions import (
    DRIFT_METRIC,
    STALENESS,
    SYNC_LIMIT,
    BillingState,
    drift,
    payment_failed_at,
    stale_before,
)
from backstay_watchpoint.services.alerts import raise_alert
from backstay_watchpoint.services.outside import Payments, PaymentsError, UnknownPlan
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store.database import insert_into
from backstay_watchpoint.store.tables import billing_drifts, customer_intents, organizations

UNKNOWN_PLAN_ALERT = "StripePlanUnknown"


async def sync_at_risk(
    work: Work, payments: Payments, *, staleness: timedelta = STALENESS, limit: int = SYNC_LIMIT
) -> int:
    """Compare the organisations that were not compared for a day, the longest first; then repair missing customers.

    An error of one organisation does not stop the others, and leaves its time of comparison as it was.
    """
    await _sync_batch(work, payments, staleness, limit, passed_over=set())
    await _repair_customers(work, payments, limit)
    return work.items


async def sync_everybody(
    work: Work, payments: Payments, *, staleness: timedelta = STALENESS, batch: int = SYNC_LIMIT
) -> int:
    """Do the same batch after batch, until nobody is left: a daily task must reach everybody every day."""
    failed: set[str] = set()
    while await _sync_batch(work, payments, staleness, batch, passed_over=failed) == batch:
        pass
    await _repair_customers(work, payments, batch)
    return work.items


async def _sync_batch(
    work: Work, payments: Payments, staleness: timedelta, limit: int, *, passed_over: set[str]
) -> int:
    """Compare a batch and return its size; whose comparison fails is added to those who are passed over."""
    found = await _stale(work, staleness, limit, passed_over)
    for row in found:
        try:
            theirs = await payments.subscription(row["stripe_customer_id"], row["stripe_subscription_id"])
        except PaymentsError as error:
            work.warn(f"subscription could not be read: {error}", organization_id=row["id"])
            passed_over.add(row["id"])
            if isinstance(error, UnknownPlan):
                await _tell_unknown_plan(work, error)
            continue
        await _compare(work, row, theirs)
    return len(found)


async def _tell_unknown_plan(work: Work, error: UnknownPlan) -> None:
    """Raise an alert, one for each plan and run, however many organisations have it."""
    async with work.transaction() as transaction:
        await raise_alert(
            transaction,
            work,
            name=UNKNOWN_PLAN_ALERT,
            severity="warning",
            subject=error.plan_id,
            message=str(error),
        )


async def _stale(work: Work, staleness: timedelta, limit: int, passed_over: set[str]) -> list[dict[str, Any]]:
    synced = organizations.c.last_billing_sync_at
    async with work.reading() as transaction:
        rows = await transaction.execute(
            select(organizations)
            .where(organizations.c.deleted_at.is_(None))
            .where(organizations.c.stripe_customer_id.is_not(None))
            .where(organizations.c.id.not_in(sorted(passed_over)))
            .where(or_(synced.is_(None), synced <= stale_before(work.now, staleness)))
            .order_by(synced.asc().nulls_first(), organizations.c.id)
            .limit(limit)
        )
        return [dict(row) for row in rows.mappings()]


async def _compare(work: Work, row: dict[str, Any], theirs: BillingState | None) -> None:
    found = drift(BillingState(row["plan"], row["subscription_status"]), theirs)
    changed: dict[str, Any] = {"last_billing_sync_at": work.now}
    async with work.transaction() as transaction:
        if found is not None:
            changed |= {
                "plan": found.theirs.plan,
                "subscription_status": found.theirs.status,
                "payment_failed_at": payment_failed_at(found.theirs, row["payment_failed_at"], work.now),
            }
            await transaction.execute(
                insert(billing_drifts).values(
                    id=str(uuid4()),
                    organization_id=row["id"],
                    ours=f"{found.ours.plan}/{found.ours.status}",
                    theirs=f"{found.theirs.plan}/{found.theirs.status}",
                    found_at=work.now,
                )
            )
            work.warn(f"{DRIFT_METRIC}: {found.message}", organization_id=row["id"])
        await transaction.execute(
            update(organizations).where(organizations.c.id == row["id"]).values(changed)
        )
        work.changed(
            "organization", row["id"], "compared" if found is None else f"corrected: {found.message}"
        )


async def _repair_customers(work: Work, payments: Payments, limit: int) -> None:
    async with work.reading() as transaction:
        rows = (
            await transaction.execute(
                select(organizations.c.id, organizations.c.name, organizations.c.email)
                .where(organizations.c.deleted_at.is_(None))
                .where(organizations.c.status == "active")
                .where(organizations.c.stripe_customer_id.is_(None))
                .order_by(organizations.c.created_at, organizations.c.id)
                .limit(limit)
            )
        ).all()
    for row in rows:
        try:
            await _repair(work, payments, row.id, row.name, row.email)
        except PaymentsError as error:
            work.warn(f"customer could not be created: {error}", organization_id=row.id)


async def _repair(work: Work, payments: Payments, organization_id: str, name: str, email: str) -> None:
    # The intent comes first: whoever comes after a crash uses the same key and finds the same customer.
    async with work.transaction() as transaction:
        await transaction.execute(
            insert_into(transaction, customer_intents)
            .values(
                organization_id=organization_id,
                idempotency_key=f"watchpoint-customer-{organization_id}",
                created_at=work.now,
            )
            .on_conflict_do_nothing()
        )
        key = await transaction.scalar(
            select(customer_intents.c.idempotency_key).where(
                customer_intents.c.organization_id == organization_id
            )
        )
    customer_id = await payments.ensure_customer(organization_id, name, email, str(key))
    async with work.transaction() as transaction:
        stored = await transaction.execute(
            update(organizations)
            .where(organizations.c.id == organization_id)
            .where(organizations.c.stripe_customer_id.is_(None))
            .values(stripe_customer_id=customer_id, last_billing_sync_at=work.now)
        )
        if stored.rowcount:
            work.changed("organization", organization_id, f"customer {customer_id} stored")
