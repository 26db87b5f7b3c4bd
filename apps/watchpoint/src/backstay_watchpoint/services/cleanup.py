"""CleanupService: deletes what has been kept long enough, a bounded number at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Column, ColumnElement, Table, delete, func, select, tuple_

from backstay_watchpoint.domain import retention
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store.tables import (
    idempotency_keys,
    invites,
    notification_deliveries,
    notifications,
    organizations,
    security_events,
    watchpoints,
)

FINAL_DELIVERIES = ("sent", "failed", "bounced", "skipped")


@dataclass(frozen=True, slots=True)
class Candidates:
    """How many rows a run would delete, of how many."""

    count: int
    of_rows: int


async def purge_soft_deleted_orgs(
    work: Work,
    *,
    keep: timedelta = retention.SOFT_DELETED_ORGANIZATIONS,
    limit: int = retention.DELETE_LIMIT,
) -> int:
    """Delete organisations that were deleted by their owners long ago, with all that is theirs."""
    old = organizations.c.deleted_at < work.now - keep
    return await _delete(work, organizations, old, organizations.c.deleted_at, "organization", most=limit)


async def purge_expired_invites(work: Work) -> int:
    """Delete invites that nobody can accept any more."""
    return await _delete_all(work, invites, invites.c.expires_at < work.now, invites.c.expires_at, "invite")


async def purge_archived_watchpoints(
    work: Work, *, keep: timedelta = retention.ARCHIVED_WATCHPOINTS, limit: int = retention.DELETE_LIMIT
) -> int:
    """Delete watchpoints that were archived long ago; their notifications stay and lose the reference."""
    old = (watchpoints.c.status == "archived") & (watchpoints.c.archived_at < work.now - keep)
    return await _delete(work, watchpoints, old, watchpoints.c.archived_at, "watchpoint", most=limit)


async def cleanup_soft_deletes(work: Work) -> int:
    """Delete old organisations, expired invites and archived watchpoints."""
    await purge_soft_deleted_orgs(work)
    await purge_expired_invites(work)
    await purge_archived_watchpoints(work)
    return work.items


async def purge_notifications(work: Work, *, keep: timedelta = retention.NOTIFICATIONS) -> int:
    """Delete notifications older than a year, and finished deliveries older than ninety days."""
    old = notifications.c.created_at < work.now - keep
    await _delete_all(work, notifications, old, notifications.c.created_at, "notification")
    done = notification_deliveries.c.status.in_(FINAL_DELIVERIES)
    old = done & (notification_deliveries.c.created_at < work.now - retention.DELIVERIES)
    await _delete_all(work, notification_deliveries, old, notification_deliveries.c.created_at, "delivery")
    return work.items


async def purge_expired_idempotency_keys(work: Work) -> int:
    """Delete idempotency keys that have expired."""
    old = idempotency_keys.c.expires_at < work.now
    return await _delete_all(work, idempotency_keys, old, idempotency_keys.c.expires_at, "idempotency key")


async def purge_security_events(work: Work, *, keep: timedelta = retention.SECURITY_EVENTS) -> int:
    """Delete security events older than seven days."""
    old = security_events.c.attempted_at < work.now - keep
    return await _delete_all(work, security_events, old, security_events.c.attempted_at, "security event")


async def soft_delete_candidates(work: Work) -> Candidates:
    """Count the organisations that a clean-up could delete; they weigh the most."""
    old = organizations.c.deleted_at < work.now - retention.SOFT_DELETED_ORGANIZATIONS
    return await _count(work, organizations, old)


async def notification_candidates(work: Work) -> Candidates:
    """Count the notifications that a purge would delete."""
    return await _count(work, notifications, notifications.c.created_at < work.now - retention.NOTIFICATIONS)


async def idempotency_candidates(work: Work) -> Candidates:
    """Count the keys that have expired; nearly all of them may have."""
    found = await _count(work, idempotency_keys, idempotency_keys.c.expires_at < work.now)
    return Candidates(found.count, 0)


async def security_candidates(work: Work) -> Candidates:
    """Count the security events that a clean-up would delete."""
    old = security_events.c.attempted_at < work.now - retention.SECURITY_EVENTS
    return Candidates((await _count(work, security_events, old)).count, 0)


async def _count(work: Work, table: Table, condition: ColumnElement[bool]) -> Candidates:
    async with work.reading() as transaction:
        count = await transaction.scalar(select(func.count()).select_from(table).where(condition))
        rows = await transaction.scalar(select(func.count()).select_from(table))
    return Candidates(count or 0, rows or 0)


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
            select(*key).where(condition).order_by(age, *key).limit(most).with_for_update(skip_locked=True)
        )
        found = [tuple(row) for row in await transaction.execute(oldest)]
        if found:
            await transaction.execute(delete(table).where(tuple_(*key).in_(found)))
            work.changed_all(item, ["/".join(parts) for parts in found], "deleted")
    return len(found)
