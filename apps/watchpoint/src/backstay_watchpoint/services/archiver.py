"""ArchiverService: archives watchpoints whose event has passed and asks for their summaries."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import msgspec
from sqlalchemy import Update, insert, update

from backstay_watchpoint.domain.payloads import EvalAction, EvalMessage
from backstay_watchpoint.domain.retention import ARCHIVE_BUFFER
from backstay_watchpoint.services.work import OutgoingMessage, QueueName, Work
from backstay_watchpoint.store.tables import audit_logs, watchpoints

ARCHIVED_REASON = "event_passed"


def archive_statement(work: Work, buffer: timedelta) -> Update:
    """Return the statement that archives; it is found by idx_watchpoints_archive_candidates."""
    return (
        update(watchpoints)
        .where(watchpoints.c.status == "active")
        .where(watchpoints.c.time_window_end.is_not(None))
        .where(watchpoints.c.time_window_end < work.now - buffer)
        .values(status="archived", archived_at=work.now, archived_reason=ARCHIVED_REASON)
    )


async def archive_expired(work: Work, *, buffer: timedelta = ARCHIVE_BUFFER) -> int:
    """Archive what ended more than an hour ago; messages and audit records are part of the same transaction."""
    async with work.transaction() as transaction:
        columns = (watchpoints.c.id, watchpoints.c.tile_id, watchpoints.c.organization_id)
        archived = (await transaction.execute(archive_statement(work, buffer).returning(*columns))).all()
        if not archived:
            return 0
        messages = []
        for row in archived:
            message = EvalMessage(EvalAction.GENERATE_SUMMARY, row.id, row.tile_id, f"summary:{row.id}")
            body = msgspec.to_builtins(message)
            messages.append(OutgoingMessage(QueueName.EVAL_STANDARD, body, message.dedupe_id))
            work.changed("watchpoint", row.id, "archived", tile=row.tile_id)
        await work.publish(transaction, messages)
        records = [
            {
                "id": str(uuid4()),
                "organization_id": row.organization_id,
                "actor": "system",
                "action": "watchpoint.archived",
                "details": {"watchpoint_id": row.id, "reason": ARCHIVED_REASON},
                "created_at": work.now,
            }
            for row in archived
        ]
        await transaction.execute(insert(audit_logs), records)
    return work.items
