"""ForecastReconciler, and the word of the provider that a run is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

import msgspec
from sqlalchemy import RowMapping, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain import payloads
from backstay_watchpoint.domain.forecasts import TIMEOUTS, Model, RunStatus, success_key
from backstay_watchpoint.domain.payloads import Coefficients, InferencePayload
from backstay_watchpoint.domain.reconcile import (
    Action,
    CancelAndFail,
    GiveUp,
    LeaveAlone,
    MarkComplete,
    ProviderState,
    Resubmit,
    decide,
    is_overdue,
)
from backstay_watchpoint.services.outside import Objects, Provider, ProviderError, StorageError
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store.tables import calibration_coefficients, forecast_runs


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A row of forecast_runs, as far as it matters here."""

    id: str
    model: Model
    run_timestamp: datetime
    external_id: str | None
    retry_count: int
    submitted_at: datetime
    storage_path: str
    source_paths: tuple[str, ...]


async def reconcile_stale_runs(
    work: Work,
    provider: Provider,
    objects: Objects,
    bucket: str,
    *,
    timeouts: Mapping[Model, timedelta] = TIMEOUTS,
    threshold: timedelta | None = None,
) -> int:
    """Decide about every run that takes longer than its model may; `threshold` replaces the models' timeouts."""
    async with work.reading() as transaction:
        rows = await transaction.execute(
            select(forecast_runs)
            .where(forecast_runs.c.status == RunStatus.RUNNING)
            .order_by(forecast_runs.c.run_timestamp)
        )
        running = [_stored(row) for row in rows.mappings()]
    for run in running:
        if is_overdue(run.submitted_at, work.now, threshold or timeouts[run.model]):
            await _reconcile(work, run, provider, objects, bucket)
    return work.items


async def build_payload(transaction: AsyncConnection, run: StoredRun, bucket: str) -> InferencePayload:
    """Build the provider's input for a run; the nowcast gets the coefficients of all tiles."""
    coefficients: dict[str, Coefficients] = {}
    if run.model is Model.NOWCAST:
        rows = await transaction.execute(select(calibration_coefficients))
        coefficients = {row.tile_id: msgspec.convert(row.coefficients, Coefficients) for row in rows}
    return payloads.inference(
        run.model,
        run.run_timestamp,
        f"s3://{bucket}/{run.storage_path}",
        run.source_paths,
        calibration=coefficients,
        force_rebuild=run.retry_count > 0,
    )


async def mark_complete(transaction: AsyncConnection, run_id: str, now: datetime) -> bool:
    """Mark a running run complete; False if it was not running any more."""
    done = await transaction.execute(
        update(forecast_runs)
        .where(forecast_runs.c.id == run_id)
        .where(forecast_runs.c.status == RunStatus.RUNNING)
        .values(status=RunStatus.COMPLETE, finished_at=now)
    )
    return done.rowcount == 1


async def _reconcile(work: Work, run: StoredRun, provider: Provider, objects: Objects, bucket: str) -> None:
    state = None if run.external_id is None else await provider.status(run.external_id)
    has_output = False
    if state is ProviderState.UNKNOWN:
        try:
            has_output = await objects.exists(bucket, success_key(run.storage_path))
        except StorageError as error:
            work.warn(f"output could not be looked up: {error}", run=run.id)
            return
    await _act(work, run, decide(state, retry_count=run.retry_count, has_output=has_output), provider, bucket)


async def _act(work: Work, run: StoredRun, action: Action, provider: Provider, bucket: str) -> None:
    match action:
        case LeaveAlone(reason):
            work.warn(f"run left alone: {reason}", run=run.id)
        case MarkComplete():
            async with work.transaction() as transaction:
                if await mark_complete(transaction, run.id, work.now):
                    work.changed("forecast run", run.id, "marked complete")
        case CancelAndFail(reason):
            await _cancel(work, run, provider)
            await _fail(work, run, run.retry_count, reason)
        case GiveUp(retry_count, reason):
            await _fail(work, run, retry_count, reason)
        case Resubmit(retry_count):
            await _resubmit(work, run, retry_count, provider, bucket)
        case _:
            assert_never(action)


async def _cancel(work: Work, run: StoredRun, provider: Provider) -> None:
    assert run.external_id is not None
    try:
        await provider.cancel(run.external_id)
    except ProviderError as error:
        work.warn(f"job could not be cancelled: {error}", run=run.id)


async def _fail(work: Work, run: StoredRun, retry_count: int, reason: str) -> None:
    async with work.transaction() as transaction:
        done = await transaction.execute(
            update(forecast_runs)
            .where(forecast_runs.c.id == run.id)
            .where(forecast_runs.c.status == RunStatus.RUNNING)
            .values(
                status=RunStatus.FAILED, failure_reason=reason, retry_count=retry_count, finished_at=work.now
            )
        )
        if done.rowcount:
            work.changed("forecast run", run.id, f"failed: {reason}")


async def _resubmit(work: Work, run: StoredRun, retry_count: int, provider: Provider, bucket: str) -> None:
    # Counted before it is sent: a crash in between costs one of the three submissions, never a fourth.
    async with work.transaction() as transaction:
        taken = await transaction.execute(
            update(forecast_runs)
            .where(forecast_runs.c.id == run.id)
            .where(forecast_runs.c.status == RunStatus.RUNNING)
            .where(forecast_runs.c.retry_count == run.retry_count)
            .values(retry_count=retry_count, external_id=None, submitted_at=work.now)
        )
        if not taken.rowcount:
            return
        payload = await build_payload(transaction, run, bucket)
        work.changed("forecast run", run.id, f"resubmitted ({retry_count + 1} of 3)")
    await submit(work, run.id, payload, provider)


async def submit(work: Work, run_id: str, payload: InferencePayload, provider: Provider) -> bool:
    """Send a run to the provider and keep its id; what fails is left for the reconciler."""
    try:
        external_id = await provider.trigger(payload)
    except ProviderError as error:
        work.warn(f"run was not accepted: {error}", run=run_id)
        return False
    async with work.transaction() as transaction:
        await transaction.execute(
            update(forecast_runs)
            .where(forecast_runs.c.id == run_id)
            .where(forecast_runs.c.status == RunStatus.RUNNING)
            .values(external_id=external_id)
        )
    return True


def _stored(row: RowMapping) -> StoredRun:
    return StoredRun(
        id=row["id"],
        model=Model(row["model"]),
        run_timestamp=row["run_timestamp"],
        external_id=row["external_id"],
        retry_count=row["retry_count"],
        submitted_at=row["submitted_at"],
        storage_path=row["storage_path"],
        source_paths=tuple(row["source_paths"]),
    )
