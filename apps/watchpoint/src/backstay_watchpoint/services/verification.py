"""VerificationService: has forecasts compared with what was observed, and checks the canaries afterwards."""

from __future__ import annotations

from datetime import datetime
from uuid import uuid4

from sqlalchemy import ColumnElement, Integer, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain import canaries, payloads
from backstay_watchpoint.domain import verification as rules
from backstay_watchpoint.domain.canaries import CANARY_ROLE, ROLE_KEY, Canary, CanaryAlert
from backstay_watchpoint.domain.forecasts import Model, RunStatus
from backstay_watchpoint.domain.payloads import InferencePayload, TaskType, TimeRange
from backstay_watchpoint.domain.results import ASKED_AGAIN_FOR, MAX_REQUESTS
from backstay_watchpoint.services.alerts import raise_alert
from backstay_watchpoint.services.outside import Objects, Provider, ProviderError, StorageError
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store.database import insert_into
from backstay_watchpoint.store.tables import (
    evaluation_state,
    forecast_runs,
    provider_jobs,
    watchpoints,
)


async def trigger_verification(
    work: Work,
    provider: Provider,
    objects: Objects,
    *,
    forecast_bucket: str,
    observation_bucket: str,
    window: TimeRange | None = None,
) -> int:
    """Ask for the verification of each run of the window whose observations are there, each run once."""
    window = window or rules.window(work.now)
    # The same after a crash, so that the canaries are checked whichever part of the batch was asked for before it.
    batch = f"verification:{work.run_id or uuid4()}"
    for run_id, model, run_timestamp, storage_path in await _unverified(work, window):
        keys = rules.observation_keys(model, run_timestamp)
        try:
            is_observed = all([await objects.exists(observation_bucket, key) for key in keys])
        except StorageError as error:
            work.warn(f"observations could not be looked up: {error}", run=run_id)
            continue
        if not is_observed:
            continue
        payload = payloads.verification(
            model,
            run_timestamp,
            f"s3://{forecast_bucket}/{storage_path}",
            observations=[f"s3://{observation_bucket}/{key}" for key in keys],
            window=window,
        )
        await request(work, provider, payload, subject=run_id, batch=batch, item="forecast run")
    async with work.transaction() as transaction:
        if await has_requests(transaction, batch):
            await work.publisher.check_canaries(transaction, batch, work.now)
    return work.items


async def request(
    work: Work, provider: Provider, payload: InferencePayload, *, subject: str, batch: str, item: str
) -> bool:
    """Send a request to the provider, for each subject once unless it failed; False if it was not accepted."""
    reserved = {
        "task_type": payload.task_type,
        "subject": subject,
        "batch": batch,
        "requested_at": work.now,
    }
    async with work.transaction() as transaction:
        await transaction.execute(
            insert_into(transaction, provider_jobs)
            .values(reserved)
            .on_conflict_do_update(
                index_elements=["task_type", "subject"],
                set_={
                    "batch": batch,
                    "requested_at": work.now,
                    "requests": provider_jobs.c.requests + has_failed().cast(Integer),
                    "external_id": None,
                    "finished_at": None,
                    "error": None,
                },
                where=provider_jobs.c.external_id.is_(None) | has_failed(),
            )
        )
    try:
        external_id = await provider.trigger(payload)
    except ProviderError as error:
        work.warn(f"{payload.task_type} was not accepted: {error}", subject=subject)
        return False
    async with work.transaction() as transaction:
        await transaction.execute(
            update(provider_jobs)
            .where(provider_jobs.c.task_type == payload.task_type)
            .where(provider_jobs.c.subject == subject)
            .values(external_id=external_id)
        )
        work.changed(item, subject, f"{payload.task_type} requested", external_id=external_id)
    return True


def has_failed() -> ColumnElement[bool]:
    """Return the condition of requests that have ended without results."""
    return provider_jobs.c.error.is_not(None)


def may_not_be_asked() -> ColumnElement[bool]:
    """Return the condition of requests that stand: accepted and not failed, or failed often enough."""
    return provider_jobs.c.external_id.is_not(None) & (
        ~has_failed() | (provider_jobs.c.requests >= MAX_REQUESTS)
    )


async def has_requests(transaction: AsyncConnection, batch: str) -> bool:
    """Tell whether the provider has accepted any request of a batch."""
    found = await transaction.scalar(
        select(func.count())
        .select_from(provider_jobs)
        .where(provider_jobs.c.batch == batch)
        .where(provider_jobs.c.external_id.is_not(None))
    )
    return bool(found)


async def check_canaries(work: Work) -> list[CanaryAlert]:
    """Compare what each canary should have done with what it did; every mismatch becomes an alert."""
    async with work.transaction() as transaction:
        rows = await transaction.execute(
            select(
                watchpoints.c.id,
                watchpoints.c.name,
                watchpoints.c.metadata,
                evaluation_state.c.has_triggered,
            )
            .outerjoin(evaluation_state, evaluation_state.c.watchpoint_id == watchpoints.c.id)
            .where(watchpoints.c.status == "active")
            .where(watchpoints.c.metadata[ROLE_KEY].as_string() == CANARY_ROLE)
            .order_by(watchpoints.c.id)
        )
        found = canaries.check(
            [Canary(row.id, row.metadata, bool(row.has_triggered), row.name) for row in rows]
        )
        for alert in found:
            is_new = await raise_alert(
                transaction,
                work,
                name=alert.name,
                severity=alert.severity,
                subject=alert.watchpoint_id,
                message=alert.message,
            )
            if is_new:
                work.changed("canary", alert.watchpoint_id, alert.name)
    return found


async def _unverified(work: Work, window: TimeRange) -> list[tuple[str, Model, datetime, str]]:
    """Return the runs of the window, and older ones whose verification failed, that may be asked for."""
    asked = select(provider_jobs.c.subject).where(provider_jobs.c.task_type == TaskType.VERIFICATION)
    in_window = forecast_runs.c.run_timestamp >= window.start
    failed = forecast_runs.c.id.in_(asked.where(has_failed())) & (
        forecast_runs.c.run_timestamp >= work.now - ASKED_AGAIN_FOR
    )
    async with work.reading() as transaction:
        rows = await transaction.execute(
            select(forecast_runs)
            .where(forecast_runs.c.status == RunStatus.COMPLETE)
            .where(in_window | failed)
            .where(forecast_runs.c.run_timestamp < window.end)
            .where(forecast_runs.c.id.not_in(asked.where(may_not_be_asked())))
            .order_by(forecast_runs.c.run_timestamp)
        )
        return [(row.id, Model(row.model), row.run_timestamp, row.storage_path) for row in rows]
