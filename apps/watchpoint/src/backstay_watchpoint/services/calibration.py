"""CalibrationService: has coefficients fitted anew, and lets a person decide about large changes."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain import calibration as rules
from backstay_watchpoint.domain import payloads
from backstay_watchpoint.domain.calibration import CandidateStatus
from backstay_watchpoint.domain.forecasts import Model
from backstay_watchpoint.domain.payloads import TaskType
from backstay_watchpoint.domain.periods import Period, period_start
from backstay_watchpoint.services.outside import Provider
from backstay_watchpoint.services.verification import has_requests, may_not_be_asked, request
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store.database import insert_into
from backstay_watchpoint.store.tables import (
    calibration_candidates,
    calibration_coefficients,
    forecast_runs,
    provider_jobs,
    verification_results,
)


class NoCandidate(LookupError):
    """No change with this id waits for a decision."""


async def update_coefficients(work: Work, provider: Provider, *, forecast_bucket: str) -> int:
    """Ask for the regression of each tile that has enough verification results, once a week and tile."""
    week = f"{period_start(work.now, Period.WEEK):%Y-%m-%d}"
    batch = f"calibration:{work.run_id or uuid4()}"
    for tile in await _tiles_with_enough(work, week):
        payload = payloads.calibration(
            [tile], rules.time_range(work.now), f"s3://{forecast_bucket}/calibration/"
        )
        await request(work, provider, payload, subject=f"{tile}@{week}", batch=batch, item="tile")
    async with work.transaction() as transaction:
        if await has_requests(transaction, batch):
            await work.publisher.collect_results(transaction, batch, work.now)
    return work.items


async def all_candidates(transaction: AsyncConnection, limit: int = 50) -> list[dict[str, Any]]:
    """Return the calibration changes, those that wait first."""
    rows = await transaction.execute(
        select(calibration_candidates)
        .order_by(
            calibration_candidates.c.status != CandidateStatus.PENDING,
            calibration_candidates.c.created_at.desc(),
        )
        .limit(limit)
    )
    return [dict(row) for row in rows.mappings()]


async def approve(transaction: AsyncConnection, candidate_id: str, *, by: str, now: datetime) -> str:
    """Apply a change that a person approves; returns its tile. Raises NoCandidate."""
    row = await _decide(transaction, candidate_id, CandidateStatus.PROMOTED, by=by, now=now)
    values = {"tile_id": row[0], "coefficients": row[1], "updated_at": now}
    await transaction.execute(
        insert_into(transaction, calibration_coefficients)
        .values(values)
        .on_conflict_do_update(index_elements=["tile_id"], set_={"coefficients": row[1], "updated_at": now})
    )
    return row[0]


async def reject(transaction: AsyncConnection, candidate_id: str, *, by: str, now: datetime) -> str:
    """Turn a change down; returns its tile. Raises NoCandidate."""
    return (await _decide(transaction, candidate_id, CandidateStatus.REJECTED, by=by, now=now))[0]


async def _decide(
    transaction: AsyncConnection, candidate_id: str, status: CandidateStatus, *, by: str, now: datetime
) -> tuple[str, dict[str, float]]:
    row = (
        await transaction.execute(
            update(calibration_candidates)
            .where(calibration_candidates.c.id == candidate_id)
            .where(calibration_candidates.c.status == CandidateStatus.PENDING)
            .values(status=status, decided_at=now, decided_by=by)
            .returning(calibration_candidates.c.tile_id, calibration_candidates.c.proposed_coefficients)
        )
    ).one_or_none()
    if row is None:
        raise NoCandidate(f"no pending calibration candidate {candidate_id!r}: list them with `candidates`")
    return row.tile_id, row.proposed_coefficients


async def _tiles_with_enough(work: Work, week: str) -> list[str]:
    window = rules.time_range(work.now)
    async with work.reading() as transaction:
        tiles = await transaction.scalars(
            select(verification_results.c.tile_id)
            .join(forecast_runs, forecast_runs.c.id == verification_results.c.forecast_run_id)
            .where(forecast_runs.c.model == Model.NOWCAST)
            .where(forecast_runs.c.run_timestamp >= window.start)
            .where(forecast_runs.c.run_timestamp < window.end)
            .group_by(verification_results.c.tile_id)
            .having(func.count() >= rules.ENOUGH_RESULTS)
            .order_by(verification_results.c.tile_id)
        )
        requested = set(
            await transaction.scalars(
                select(provider_jobs.c.subject)
                .where(provider_jobs.c.task_type == TaskType.CALIBRATION)
                .where(may_not_be_asked())
            )
        )
        return [tile for tile in tiles if f"{tile}@{week}" not in requested]
