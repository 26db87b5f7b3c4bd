"""Turns a message of a queue into a mail: what it says, to whom, and that it was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain import mails
from backstay_watchpoint.domain.digests import sends_empty
from backstay_watchpoint.domain.mails import MailText
from backstay_watchpoint.domain.payloads import (
    AlertMessage,
    EvalMessage,
    NotificationKind,
    NotificationMessage,
)
from backstay_watchpoint.domain.summaries import summary_text
from backstay_watchpoint.services.summaries import generate_summary
from backstay_watchpoint.store.database import insert_into
from backstay_watchpoint.store.tables import (
    alerts,
    notification_deliveries,
    notifications,
    organizations,
    sent_mails,
    watchpoints,
)

DAY = timedelta(days=1)
OPERATORS = "operators"
ON_THE_WAY = ("pending", "retrying")
"""A delivery that has a message or a mail under way."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A mail and what it belongs to."""

    dedupe_id: str
    kind: str
    organization_id: str
    recipient: str
    mail: MailText
    delivery_id: str | None = None


async def compose(
    transaction: AsyncConnection, body: Mapping[str, Any], now: datetime, *, operators: str
) -> Envelope | None:
    """Write the mail that a message asks for; None if there is nobody left to send it to, or it was sent."""
    if "action" in body:
        return await _summary(transaction, msgspec.convert(dict(body), EvalMessage), now)
    if "alert_id" in body:
        return await _alert(transaction, msgspec.convert(dict(body), AlertMessage), operators)
    message = msgspec.convert(dict(body), NotificationMessage)
    if await was_sent(transaction, message.dedupe_id):
        return None
    if message.kind is NotificationKind.DIGEST:
        return await _digest(transaction, message, now)
    return await _notification(transaction, message)


async def was_sent(transaction: AsyncConnection, dedupe_id: str) -> bool:
    """Tell whether the mail of a message was sent."""
    found = await transaction.scalar(
        select(sent_mails.c.dedupe_id).where(sent_mails.c.dedupe_id == dedupe_id)
    )
    return found is not None


async def note_sent(transaction: AsyncConnection, envelope: Envelope, message_id: str, now: datetime) -> None:
    """Keep that a mail was sent."""
    values = {
        "dedupe_id": envelope.dedupe_id,
        "organization_id": envelope.organization_id,
        "kind": envelope.kind,
        "message_id": message_id,
        "sent_at": now,
    }
    await transaction.execute(insert_into(transaction, sent_mails).values(values).on_conflict_do_nothing())
    await set_delivery(transaction, envelope, "sent", now)


async def set_delivery(transaction: AsyncConnection, envelope: Envelope, status: str, now: datetime) -> None:
    """Write what an attempt to send a notification came to."""
    if envelope.delivery_id is not None:
        await transaction.execute(
            update(notification_deliveries)
            .where(notification_deliveries.c.id == envelope.delivery_id)
            .values(
                status=status,
                attempts=notification_deliveries.c.attempts + 1,
                sent_at=now if status == "sent" else None,
            )
        )


async def settle(transaction: AsyncConnection, delivery_id: str, status: str) -> None:
    """End a delivery that nothing was sent for; one that has ended already stays as it is."""
    await transaction.execute(
        update(notification_deliveries)
        .where(notification_deliveries.c.id == delivery_id)
        .where(notification_deliveries.c.status.in_(ON_THE_WAY))
        .values(status=status)
    )


def delivery_of(body: Mapping[str, Any]) -> str | None:
    """Return the delivery that a message is about; None for digests, summaries, alerts and what cannot be read."""
    found = body.get("delivery_id")
    return found if isinstance(found, str) else None


async def _recipient(transaction: AsyncConnection, organization_id: str) -> Any:
    return (
        await transaction.execute(
            select(organizations.c.name, organizations.c.email, organizations.c.notification_preferences)
            .where(organizations.c.id == organization_id)
            .where(organizations.c.deleted_at.is_(None))
        )
    ).one_or_none()


async def _digest(
    transaction: AsyncConnection, message: NotificationMessage, now: datetime
) -> Envelope | None:
    row = await _recipient(transaction, message.organization_id)
    if row is None:
        return None
    due = message.due or now
    active = await transaction.scalars(
        select(watchpoints.c.name)
        .where(watchpoints.c.organization_id == message.organization_id)
        .where(watchpoints.c.status == "active")
        .order_by(watchpoints.c.name)
    )
    told = (
        await transaction.execute(
            select(notifications.c.created_at, notifications.c.payload)
            .where(notifications.c.organization_id == message.organization_id)
            .where(notifications.c.created_at > due - DAY)
            .where(notifications.c.created_at <= due)
            .order_by(notifications.c.created_at)
        )
    ).all()
    if not told and not sends_empty(row.notification_preferences):
        return None
    text = mails.digest_mail(
        row.name,
        due,
        mails.local_zone(row.notification_preferences),
        active=list(active),
        notified=[(found.created_at, str(found.payload.get("subject", ""))) for found in told],
    )
    return Envelope(message.dedupe_id, "digest", message.organization_id, row.email, text)


async def _notification(transaction: AsyncConnection, message: NotificationMessage) -> Envelope | None:
    row = await _recipient(transaction, message.organization_id)
    created = await transaction.scalar(
        select(notifications.c.created_at).where(notifications.c.id == message.notification_id)
    )
    if row is None or created is None:
        return None
    text = mails.notification_mail(message.payload, created, mails.local_zone(row.notification_preferences))
    return Envelope(
        message.dedupe_id, "notification", message.organization_id, row.email, text, message.delivery_id
    )


async def _summary(transaction: AsyncConnection, message: EvalMessage, now: datetime) -> Envelope | None:
    report = await generate_summary(transaction, message.watchpoint_id, now)
    if report is None or await was_sent(transaction, message.dedupe_id):
        return None
    point = (
        await transaction.execute(select(watchpoints).where(watchpoints.c.id == message.watchpoint_id))
    ).one()
    row = await _recipient(transaction, point.organization_id)
    if row is None:
        return None
    text = mails.summary_mail(point.name, summary_text(report, point.name, point.time_window_end))
    return Envelope(message.dedupe_id, "summary", point.organization_id, row.email, text)


async def _alert(transaction: AsyncConnection, message: AlertMessage, operators: str) -> Envelope | None:
    row = (await transaction.execute(select(alerts).where(alerts.c.id == message.alert_id))).one_or_none()
    if row is None or await was_sent(transaction, message.dedupe_id):
        return None
    text = mails.alert_mail(row.name, row.severity, row.message, row.created_at)
    return Envelope(message.dedupe_id, "alert", OPERATORS, operators, text)
