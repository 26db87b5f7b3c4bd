"""TierTransitionService: deletes the stored output of old forecasts."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, or_, select, update

from backstay_watchpoint.domain.brake import Candidates
from backstay_watchpoint.domain.forecasts import Model, RunStatus, kept_since
from backstay_watchpoint.domain.retention import S3_DELETE_BATCH
from backstay_watchpoint.services.cleanup import count_candidates
from backstay_watchpoint.services.outside import Objects, StorageError, StoredObject
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store.tables import forecast_runs


async def enforce_retention(
    work: Work, objects: Objects, bucket: str, *, batch_size: int = S3_DELETE_BATCH
) -> int:
    """Delete the output of runs that were kept long enough, then mark them deleted.

    A run whose output could not be deleted as a whole stays complete and is tried again the next day.
    """
    async with work.reading() as transaction:
        rows = (
            await transaction.execute(
                select(forecast_runs.c.id, forecast_runs.c.storage_path)
                .where(_is_old(work.now))
                .order_by(forecast_runs.c.run_timestamp)
            )
        ).all()
    for row in rows:
        try:
            gone = await _delete_output(work, objects, bucket, row.storage_path, batch_size)
        except StorageError as error:
            work.warn(f"forecast output was not deleted: {error}", run=row.id)
            continue
        if gone is None:
            continue
        async with work.transaction() as transaction:
            await transaction.execute(
                update(forecast_runs)
                .where(forecast_runs.c.id == row.id)
                .where(forecast_runs.c.status == RunStatus.COMPLETE)
                .values(status=RunStatus.DELETED)
            )
            size = sum(found.size for found in gone)
            work.bytes_freed += size
            work.changed("forecast run", row.id, "deleted", objects=len(gone), bytes=size)
    return work.items


async def retention_candidates(work: Work) -> list[Candidates]:
    """Count the runs whose output would be deleted."""
    return [await count_candidates(work, "forecast runs", forecast_runs, _is_old(work.now))]


async def _delete_output(
    work: Work, objects: Objects, bucket: str, prefix: str, batch_size: int
) -> list[StoredObject] | None:
    """Delete a run's objects; returns them, or None if some are left."""
    found = [stored async for stored in objects.listing(bucket, prefix)]
    if work.is_dry_run:
        return found
    for start in range(0, len(found), batch_size):
        keys = [stored.key for stored in found[start : start + batch_size]]
        left = await objects.delete_many(bucket, keys)
        if left:
            work.warn(f"{len(left)} of {len(found)} objects could not be deleted", prefix=prefix)
            return None
    return found


def _is_old(now: datetime) -> ColumnElement[bool]:
    by_model = [
        (forecast_runs.c.model == model) & (forecast_runs.c.run_timestamp < kept_since(model, now))
        for model in Model
    ]
    return (forecast_runs.c.status == RunStatus.COMPLETE) & or_(*by_model)
