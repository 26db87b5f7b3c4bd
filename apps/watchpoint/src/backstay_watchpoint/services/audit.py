"""CleanupService, audit part: old records move to cold storage and can be brought back."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

from sqlalchemy import delete, insert, select

from backstay_watchpoint.domain import audit_archive
from backstay_watchpoint.domain.brake import Candidates
from backstay_watchpoint.domain.retention import AUDIT_BATCH, AUDIT_LOGS
from backstay_watchpoint.services.cleanup import count_candidates
from backstay_watchpoint.services.outside import Objects
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store.database import insert_into
from backstay_watchpoint.store.tables import audit_logs


async def archive_audit_logs(
    work: Work, objects: Objects, bucket: str, *, keep: timedelta = AUDIT_LOGS, batch_size: int = AUDIT_BATCH
) -> int:
    """Move records older than two years to cold storage, batch by batch: upload first, then delete.

    A failed upload raises StorageError and deletes nothing. After a crash in between the same rows make the same
    object again, so nothing is lost and nothing is doubled.
    """
    while await _archive_batch(work, objects, bucket, keep, batch_size) == batch_size:
        pass
    return work.items


async def restore_audit_logs(work: Work, objects: Objects, bucket: str, key: str, *, by: str) -> int:
    """Bring the records of an archived object back into the table; those that are there stay as they are.

    Who has done so is a record, too.
    """
    rows = audit_archive.unpack(key, await objects.get_cold(bucket, key))
    async with work.transaction() as transaction:
        known = set(
            await transaction.scalars(
                select(audit_logs.c.id).where(audit_logs.c.id.in_([row["id"] for row in rows]))
            )
        )
        missing = [row for row in rows if row["id"] not in known]
        if missing:
            await transaction.execute(insert_into(transaction, audit_logs).on_conflict_do_nothing(), missing)
            work.changed_all("audit record", [row["id"] for row in missing], "restored")
            values = {"id": str(uuid4()), "actor": by, "action": "audit.restored", "created_at": work.now}
            details = {"object": key, "records": len(missing)}
            await transaction.execute(insert(audit_logs).values(**values, details=details))
    return work.items


async def audit_candidates(work: Work) -> list[Candidates]:
    """Count the records that would move."""
    old = audit_logs.c.created_at < work.now - AUDIT_LOGS
    return [await count_candidates(work, "audit records", audit_logs, old)]


async def _archive_batch(work: Work, objects: Objects, bucket: str, keep: timedelta, batch_size: int) -> int:
    oldest = (
        select(audit_logs)
        .where(audit_logs.c.created_at < work.now - keep)
        .order_by(audit_logs.c.created_at, audit_logs.c.id)
        .limit(batch_size)
    )
    async with work.reading() as transaction:
        rows = [dict(row) for row in (await transaction.execute(oldest)).mappings()]
    if not rows:
        return 0
    packed = audit_archive.pack(rows)
    if not work.is_dry_run:
        await objects.put_cold(bucket, packed.key, packed.body)
    async with work.transaction() as transaction:
        ids = [row["id"] for row in rows]
        await transaction.execute(delete(audit_logs).where(audit_logs.c.id.in_(ids)))
        work.changed_all("audit record", ids, f"archived as {packed.key}")
    return len(rows)
