"""DeferredNotificationService and the notifier: quiet hours defer, their end sends."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import uuid4

import msgspec
from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain.payloads import NotificationKind, NotificationMessage
from backstay_watchpoint.domain.quiet_hours import BadQuietHours, quiet_until, read_quiet_hours
from backstay_watchpoint.domain.retention import DEFERRED_BATCH
from backstay_watchpoint.domain.zones import UnknownZone
from backstay_watchpoint.services.work import OutgoingMessage, Publisher, QueueName, Work
from backstay_watchpoint.store.tables import notification_deliveries, notifications, organizations

log = logging.getLogger(__name__)


async def notify(
    transaction: AsyncConnection,
    publisher: Publisher,
    organization_id: str,
    payload: Mapping[str, Any],
    now: datetime,
    *,
    watchpoint_id: str | None = None,
) -> str:
    """Store a notification and send it, or defer it to the end of the organisation's quiet hours.

    Returns the delivery's id. Quiet hours that cannot be read keep nothing back.
    """
    preferences = await transaction.scalar(
        select(organizations.c.notification_preferences).where(organizations.c.id == organization_id)
    )
    until = _quiet_until(organization_id, preferences or {}, now)
    notification_id, delivery_id = str(uuid4()), str(uuid4())
    row = {"organization_id": organization_id, "watchpoint_id": watchpoint_id, "payload": dict(payload)}
    await transaction.execute(insert(notifications).values(id=notification_id, created_at=now, **row))
    state = {"status": "pending" if until is None else "deferred", "next_retry_at": until}
    await transaction.execute(
        insert(notification_deliveries).values(
            id=delivery_id, notification_id=notification_id, created_at=now, **state
        )
    )
    if until is None:
        message = _message(organization_id, delivery_id, notification_id, payload)
        await publisher.publish(transaction, [message])
    return delivery_id


def _quiet_until(organization_id: str, preferences: Mapping[str, Any], now: datetime) -> datetime | None:
    try:
        quiet = read_quiet_hours(preferences)
    except (BadQuietHours, UnknownZone) as error:
        log.warning("quiet hours of %s cannot be read: %s", organization_id, error)
        return None
    return None if quiet is None else quiet_until(quiet, now)


async def requeue_deferred_notifications(work: Work, *, limit: int = DEFERRED_BATCH) -> int:
    """Send the deferred notifications whose quiet hours are over, oldest first, in batches until none is due."""
    while await _requeue_batch(work, limit) == limit:
        pass
    return work.items


async def _requeue_batch(work: Work, limit: int) -> int:
    deliveries = notification_deliveries
    async with work.transaction() as transaction:
        due = (
            await transaction.execute(
                select(
                    deliveries.c.id,
                    deliveries.c.notification_id,
                    notifications.c.organization_id,
                    notifications.c.payload,
                )
                .join(notifications, notifications.c.id == deliveries.c.notification_id)
                .where(deliveries.c.status == "deferred")
                .where(deliveries.c.next_retry_at <= work.now)
                .order_by(deliveries.c.next_retry_at, deliveries.c.id)
                .limit(limit)
                .with_for_update(skip_locked=True, of=deliveries)
            )
        ).all()
        if due:
            await transaction.execute(
                update(deliveries)
                .where(deliveries.c.id.in_([row.id for row in due]))
                .values(status="pending")
            )
            messages = [
                _message(row.organization_id, row.id, row.notification_id, row.payload) for row in due
            ]
            await work.publish(transaction, messages)
            work.changed_all("delivery", [row.id for row in due], "requeued")
    return len(due)


def _message(
    organization_id: str, delivery_id: str, notification_id: str, payload: Mapping[str, Any]
) -> OutgoingMessage:
    message = NotificationMessage(
        NotificationKind.DELIVERY,
        organization_id,
        f"delivery:{delivery_id}",
        delivery_id=delivery_id,
        notification_id=notification_id,
        payload=dict(payload),
    )
    return OutgoingMessage(QueueName.NOTIFICATIONS, msgspec.to_builtins(message), message.dedupe_id)
