"""Alerts: kept for the page, and mailed to the operators."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain.payloads import AlertMessage
from backstay_watchpoint.services.work import OutgoingMessage, QueueName, Work
from backstay_watchpoint.store.database import insert_into
from backstay_watchpoint.store.tables import alerts


async def raise_alert(
    transaction: AsyncConnection, work: Work, *, name: str, severity: str, subject: str, message: str
) -> bool:
    """Store an alert and its mail with the transaction; False if the same moment has raised it already."""
    # The same for the same run, so that a repeated job alerts nobody twice.
    alert_id = str(uuid5(NAMESPACE_URL, f"alert:{name}:{subject}:{work.now.isoformat()}"))
    values = {
        "id": alert_id,
        "name": name,
        "severity": severity,
        "subject": subject,
        "message": message,
        "created_at": work.now,
    }
    inserted = await transaction.scalar(
        insert_into(transaction, alerts).values(values).on_conflict_do_nothing().returning(alerts.c.id)
    )
    if inserted is None:
        return False
    mail = AlertMessage(alert_id, dedupe_id=f"alert:{alert_id}")
    body = msgspec.to_builtins(mail)
    await work.publish(transaction, [OutgoingMessage(QueueName.NOTIFICATIONS, body, mail.dedupe_id)])
    return True
