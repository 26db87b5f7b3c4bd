"""CleanupService: deletes what has been kept long enough, a bounded number at a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Column, ColumnElement, Table, delete, func, select, tuple_

from backstay_watchpoint.domain import retention
from backstay_watchpoint.domain.brake import Candidates
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store.runs import UNFINISHED
from backstay_watchpoint.store.tables import (
    alerts,
    idempotency_keys,
    invites,
    notification_deliveries,
    notifications,
    organizations,
    provider_jobs,
    security_events,
    sent_mails,
    task_runs,
    watchpoints,
)

FINAL_DELIVERIES = ("sent", "failed", "bounced", "skipped")


NO_FOREIGN_KEY = {organizations.name: (sent_mails.c.organization_id,)}
"""What belongs to a row without the database knowing."""

OWN_RECORDS = {
    sent_mails.c.sent_at: "mail record",
    alerts.c.created_at: "alert",
    provider_jobs.c.requested_at: "request",
    task_runs.c.started_at: "run",
}


async def purge_soft_deleted_orgs(
    work: Work,
    *,
    keep: timedelta = retention.SOFT_DELETED_ORGANIZATIONS,
    limit: int = retention.DELETE_LIMIT,
) -> int:
    """Delete organisations that were deleted by their owners long ago, with all that is theirs.

    The limit is one of the run: what it deleted before a crash counts.
    """
    old = organizations.c.deleted_at < work.now - keep
    most = limit - await work.changed_before("organization")
    return await _delete(work, organizations, old, organizations.c.deleted_at, "organization", most=most)


async def purge_expired_invites(work: Work) -> int:
    """Delete invites that nobody can accept any more."""
    return await _delete_all(work, invites, invites.c.expires_at < work.now, invites.c.expires_at, "invite")


async def purge_archived_watchpoints(
    work: Work, *, keep: timedelta = retention.ARCHIVED_WATCHPOINTS, limit: int = retention.DELETE_LIMIT
) -> int:
    """Delete watchpoints that were archived long ago; their notifications stay and lose the reference.

    The limit is one of the run: what it deleted before a crash counts.
    """
    old = _is_archived_before(work.now - keep)
    most = limit - await work.changed_before("watchpoint")
    return await _delete(work, watchpoints, old, watchpoints.c.archived_at, "watchpoint", most=most)


async def cleanup_soft_deletes(work: Work) -> int:
    """Delete old organisations, archived watchpoints and expired invites."""
    await purge_soft_deleted_orgs(work)
    await purge_archived_watchpoints(work)
    await purge_expired_invites(work)  # the last, because the list of what a run changed has an end
    return work.items


async def purge_notifications(work: Work, *, keep: timedelta = retention.NOTIFICATIONS) -> int:
    """Delete notifications older than a year, and finished deliveries older than ninety days."""
    old = notifications.c.created_at < work.now - keep
    await _delete_all(work, notifications, old, notifications.c.created_at, "notification")
    old = _is_finished_before(work.now - retention.DELIVERIES)
    await _delete_all(work, notification_deliveries, old, notification_deliveries.c.created_at, "delivery")
    await purge_own_records(work)
    return work.items


async def purge_own_records(work: Work) -> int:
    """Delete what the platform has written about itself long ago; a run goes with the list of what it changed."""
    for age, item in OWN_RECORDS.items():
        old = age < work.now - retention.OWN_RECORDS
        if age.table is task_runs:
            old &= task_runs.c.status.not_in(UNFINISHED)
        await _delete_all(work, age.table, old, age, item)
    return work.items


async def purge_expired_idempotency_keys(work: Work) -> int:
    """Delete idempotency keys that have expired."""
    old = idempotency_keys.c.expires_at < work.now
    return await _delete_all(work, idempotency_keys, old, idempotency_keys.c.expires_at, "idempotency key")


async def purge_security_events(work: Work, *, keep: timedelta = retention.SECURITY_EVENTS) -> int:
    """Delete security events older than seven days."""
    old = security_events.c.attempted_at < work.now - keep
    return await _delete_all(work, security_events, old, security_events.c.attempted_at, "security event")


async def soft_delete_candidates(work: Work) -> list[Candidates]:
    """Count the organisations, watchpoints and invites that a clean-up could delete; of invites all may expire."""
    deleted = organizations.c.deleted_at < work.now - retention.SOFT_DELETED_ORGANIZATIONS
    archived = _is_archived_before(work.now - retention.ARCHIVED_WATCHPOINTS)
    return [
        await count_candidates(work, "organizations", organizations, deleted),
        await count_candidates(work, "watchpoints", watchpoints, archived),
        await _count_expired(work, "invites", invites, invites.c.expires_at < work.now),
    ]


async def notification_candidates(work: Work) -> list[Candidates]:
    """Count the notifications and the finished deliveries that a purge would delete."""
    old = notifications.c.created_at < work.now - retention.NOTIFICATIONS
    finished = _is_finished_before(work.now - retention.DELIVERIES)
    return [
        await count_candidates(work, "notifications", notifications, old),
        await _count_expired(work, "deliveries", notification_deliveries, finished),
    ]


async def idempotency_candidates(work: Work) -> list[Candidates]:
    """Count the keys that have expired."""
    expired = idempotency_keys.c.expires_at < work.now
    return [await _count_expired(work, "idempotency keys", idempotency_keys, expired)]


async def security_candidates(work: Work) -> list[Candidates]:
    """Count the security events that a clean-up would delete."""
    old = security_events.c.attempted_at < work.now - retention.SECURITY_EVENTS
    return [await _count_expired(work, "security events", security_events, old)]


async def count_candidates(work: Work, what: str, table: Table, old: ColumnElement[bool]) -> Candidates:
    """Count what would go of a table, and all of its rows, so that the brake can compare them."""
    found = await _count_expired(work, what, table, old)
    async with work.reading() as transaction:
        rows = await transaction.scalar(select(func.count()).select_from(table))
    return replace(found, of_rows=rows or 0)


async def _count_expired(work: Work, what: str, table: Table, old: ColumnElement[bool]) -> Candidates:
    """Count what would go of a table of which nearly all may; the brake compares it with other runs only."""
    async with work.reading() as transaction:
        count = await transaction.scalar(select(func.count()).select_from(table).where(old))
    return Candidates(what, count or 0)


def _is_archived_before(moment: datetime) -> ColumnElement[bool]:
    return (watchpoints.c.status == "archived") & (watchpoints.c.archived_at < moment)


def _is_finished_before(moment: datetime) -> ColumnElement[bool]:
    finished = notification_deliveries.c.status.in_(FINAL_DELIVERIES)
    return finished & (notification_deliveries.c.created_at < moment)


async def _delete_all(
    work: Work, table: Table, condition: ColumnElement[bool], age: Column[Any], item: str
) -> int:
    """Delete in batches until nothing is left, so that no transaction grows without bound."""
    deleted = 0
    while True:
        count = await _delete(work, table, condition, age, item, most=retention.PURGE_BATCH)
        deleted += count
        if count < retention.PURGE_BATCH:
            return deleted


async def _delete(
    work: Work,
    table: Table,
    condition: ColumnElement[bool],
    age: Column[Any],
    item: str,
    *,
    most: int,
) -> int:
    key = table.primary_key.columns
    async with work.transaction() as transaction:
        oldest = (
            select(*key)
            .where(condition)
            .order_by(age, *key)
            .limit(max(0, most))
            .with_for_update(skip_locked=True)
        )
        found = [tuple(row) for row in await transaction.execute(oldest)]
        if found:
            for column in NO_FOREIGN_KEY.get(table.name, ()):
                ids = [identity for (identity,) in found]
                await transaction.execute(delete(column.table).where(column.in_(ids)))
            await transaction.execute(delete(table).where(tuple_(*key).in_(found)))
            work.changed_all(item, ["/".join(map(str, parts)) for parts in found], "deleted")
    return len(found)
