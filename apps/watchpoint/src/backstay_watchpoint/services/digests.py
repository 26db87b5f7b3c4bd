"""DigestScheduler: asks for the digests that are due."""

from __future__ import annotations

import msgspec
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain.digests import next_digest, slot_of
from backstay_watchpoint.domain.payloads import NotificationKind, NotificationMessage
from backstay_watchpoint.services.work import OutgoingMessage, QueueName, Work
from backstay_watchpoint.store.tables import organizations


async def trigger_digests(work: Work) -> int:
    """Send one message for each organisation whose digest is due, and set when its next one is."""
    due = (organizations.c.next_digest_at <= work.now) & organizations.c.deleted_at.is_(None)
    async with work.reading() as transaction:
        waiting = (
            await transaction.scalars(
                select(organizations.c.id).where(due).order_by(organizations.c.next_digest_at)
            )
        ).all()
    for organization_id in waiting:
        async with work.transaction() as transaction:
            await _trigger(work, transaction, organization_id)
    return work.items


async def _trigger(work: Work, transaction: AsyncConnection, organization_id: str) -> None:
    row = (
        await transaction.execute(
            select(organizations.c.notification_preferences, organizations.c.next_digest_at)
            .where(organizations.c.id == organization_id)
            .where(organizations.c.next_digest_at <= work.now)
            .where(organizations.c.deleted_at.is_(None))
            .with_for_update(skip_locked=True)
        )
    ).one_or_none()
    if row is None:  # somebody else was quicker
        return
    found = next_digest(row.notification_preferences, work.now)
    for warning in found.warnings:
        work.warn(warning, organization_id=organization_id)
    slot = slot_of(organization_id, row.next_digest_at)
    message = NotificationMessage(NotificationKind.DIGEST, organization_id, slot, due=row.next_digest_at)
    body = msgspec.to_builtins(message)
    await work.publish(transaction, [OutgoingMessage(QueueName.NOTIFICATIONS, body, slot)])
    await transaction.execute(
        update(organizations)
        .where(organizations.c.id == organization_id)
        .values(next_digest_at=found.at, last_digest_generated_at=work.now)
    )
    work.changed("digest", slot, "requested", next=None if found.at is None else found.at.isoformat())
