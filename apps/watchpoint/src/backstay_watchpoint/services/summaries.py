"""SummaryGenerator: the report on a watchpoint whose event has passed."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain.summaries import EventReport, Metric, report
from backstay_watchpoint.store.database import insert_into
from backstay_watchpoint.store.tables import (
    evaluation_state,
    event_summaries,
    forecast_runs,
    verification_results,
    watchpoints,
)


async def generate_summary(
    transaction: AsyncConnection, watchpoint_id: str, now: datetime
) -> EventReport | None:
    """Compute and store the report of a watchpoint; None if the watchpoint is gone."""
    row = (
        await transaction.execute(
            select(watchpoints, evaluation_state.c.has_triggered)
            .outerjoin(evaluation_state, evaluation_state.c.watchpoint_id == watchpoints.c.id)
            .where(watchpoints.c.id == watchpoint_id)
        )
    ).one_or_none()
    if row is None:
        return None
    in_window = (
        (verification_results.c.tile_id == row.tile_id)
        & (forecast_runs.c.run_timestamp >= (row.time_window_start or row.created_at))
        & (forecast_runs.c.run_timestamp <= (row.time_window_end or now))
    )
    joined = verification_results.join(
        forecast_runs, forecast_runs.c.id == verification_results.c.forecast_run_id
    )
    found = await transaction.execute(
        select(verification_results.c.variable, verification_results.c.metric, verification_results.c.value)
        .select_from(joined)
        .where(in_window)
    )
    metrics = [Metric(metric.variable, metric.metric, metric.value) for metric in found]
    runs = await transaction.scalar(
        select(func.count(forecast_runs.c.id.distinct())).select_from(joined).where(in_window)
    )
    made = report(
        watchpoint_id, has_triggered=bool(row.has_triggered), verified_runs=runs or 0, metrics=metrics
    )
    await transaction.execute(
        insert_into(transaction, event_summaries)
        .values(watchpoint_id=watchpoint_id, report=made.as_json(), created_at=now)
        .on_conflict_do_nothing()
    )
    return made
