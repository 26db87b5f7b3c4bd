"""Results of verifications and calibrations: the provider is asked for them, and a failure becomes an alert.

A callback only makes it quicker: without one every request comes to its end, too.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import RowMapping, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain.canaries import SEVERITY
from backstay_watchpoint.domain.payloads import TaskType
from backstay_watchpoint.domain.reconcile import ProviderState
from backstay_watchpoint.domain.results import Ended, ending, failed_alert, missing_alert
from backstay_watchpoint.services.alerts import raise_alert
from backstay_watchpoint.services.outside import Provider
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store.tables import (
    calibration_candidates,
    calibration_coefficients,
    provider_jobs,
    verification_results,
)

CLOCKS_DIFFER_BY = timedelta(minutes=5)


async def still_missing(work: Work, provider: Provider, batch: str, now: datetime) -> int:
    """Ask the provider about every request of a batch that has not ended; returns how many still have not."""
    async with work.reading() as transaction:
        waiting = (await transaction.execute(_unfinished(batch))).mappings().all()
    for row in waiting:
        state = await provider.status(row["external_id"])
        async with work.transaction() as transaction:
            has_results = state is ProviderState.UNKNOWN and await _has_results(transaction, row)
            ended = ending(state, has_results=has_results)
            if ended is not None:
                await note_ended(transaction, row["external_id"], ended, now)
    async with work.reading() as transaction:
        return await unfinished(transaction, batch)


async def note_ended(
    transaction: AsyncConnection, external_id: str, ended: Ended, now: datetime
) -> str | None:
    """Write down how a request has ended, and return its batch; None if that is known already."""
    batch: str | None = await transaction.scalar(
        update(provider_jobs)
        .where(provider_jobs.c.external_id == external_id)
        .where(provider_jobs.c.finished_at.is_(None))
        .values(finished_at=now, error=ended.error)
        .returning(provider_jobs.c.batch)
    )
    return batch


async def unfinished(transaction: AsyncConnection, batch: str) -> int:
    """Count the requests of a batch whose results have not arrived."""
    found = await transaction.scalar(select(func.count()).select_from(_unfinished(batch).subquery()))
    return found or 0


async def tell_failed(work: Work, task_type: TaskType, batch: str) -> list[str]:
    """Raise an alert that names the requests of a batch that failed; returns what they were about."""
    failed = (provider_jobs.c.batch == batch) & provider_jobs.c.error.is_not(None)
    async with work.transaction() as transaction:
        rows = await transaction.execute(
            select(provider_jobs.c.subject, provider_jobs.c.error)
            .where(failed)
            .order_by(provider_jobs.c.subject)
        )
        found = [(row.subject, row.error) for row in rows]
        if found:
            told = "; ".join(f"{subject}: {error}" for subject, error in found[:10])
            await _alert(transaction, work, failed_alert(task_type), batch, f"{len(found)} failed: {told}")
    return [subject for subject, _ in found]


async def tell_missing(work: Work, task_type: TaskType, batch: str, waited: timedelta) -> None:
    """Raise an alert about results that have not arrived."""
    async with work.transaction() as transaction:
        missing = await unfinished(transaction, batch)
        if missing:
            message = f"{missing} {task_type} results have not arrived within {waited}"
            await _alert(transaction, work, missing_alert(task_type), batch, message)


async def _alert(transaction: AsyncConnection, work: Work, name: str, batch: str, message: str) -> None:
    await raise_alert(transaction, work, name=name, severity=SEVERITY, subject=batch, message=message)


def _unfinished(batch: str) -> Any:
    return (
        select(provider_jobs)
        .where(provider_jobs.c.batch == batch)
        .where(provider_jobs.c.external_id.is_not(None))
        .where(provider_jobs.c.finished_at.is_(None))
    )


async def _has_results(transaction: AsyncConnection, job: RowMapping) -> bool:
    if job["task_type"] == TaskType.VERIFICATION:
        stored = select(func.count()).where(verification_results.c.forecast_run_id == job["subject"])
        return bool(await transaction.scalar(stored))
    tile, since = job["subject"].partition("@")[0], job["requested_at"] - CLOCKS_DIFFER_BY
    applied = select(calibration_coefficients.c.tile_id).where(
        (calibration_coefficients.c.tile_id == tile) & (calibration_coefficients.c.updated_at >= since)
    )
    proposed = select(calibration_candidates.c.tile_id).where(
        (calibration_candidates.c.tile_id == tile) & (calibration_candidates.c.created_at >= since)
    )
    return bool(await transaction.scalar(select(or_(applied.exists(), proposed.exists()))))
