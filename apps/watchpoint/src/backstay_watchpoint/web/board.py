"""What the operations pages show, read from the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Table, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain import retention
from backstay_watchpoint.domain.canaries import CANARY_ROLE, EXPECTED_KEY, ROLE_KEY
from backstay_watchpoint.domain.catalogue import TaskSpec
from backstay_watchpoint.domain.day_strip import RunSeen, StripRow, day_strip
from backstay_watchpoint.domain.fires import fires
from backstay_watchpoint.domain.forecasts import RETENTION, Model, RunStatus
from backstay_watchpoint.services.calibration import all_candidates
from backstay_watchpoint.store import runs
from backstay_watchpoint.store.runs import Trigger
from backstay_watchpoint.store.tables import (
    alerts,
    audit_logs,
    billing_drifts,
    evaluation_state,
    forecast_runs,
    idempotency_keys,
    invites,
    mirror_checks,
    notifications,
    organizations,
    provider_jobs,
    security_events,
    task_runs,
    verification_results,
    watchpoints,
)

GRACE = timedelta(minutes=10)
DAY = timedelta(days=1)


async def strip_of(
    transaction: AsyncConnection, tasks: tuple[TaskSpec, ...], day: date, now: datetime
) -> list[StripRow]:
    """Return the strip of one day."""
    start = datetime.combine(day, datetime.min.time(), tzinfo=UTC)
    expected = {task.name: fires(task, start, start + DAY) for task in tasks}
    rows = await transaction.execute(
        select(
            task_runs.c.task,
            task_runs.c.reference_time,
            task_runs.c.status,
            task_runs.c["items"].label("handled"),
            task_runs.c.trigger,
        )
        .where(task_runs.c.reference_time >= start)
        .where(task_runs.c.reference_time < start + DAY)
        .where(task_runs.c.is_dry_run.is_(False))
    )
    seen = [
        RunSeen(row.task, row.reference_time, row.status, row.handled, row.trigger == Trigger.BACK_FILL)
        for row in rows
    ]
    since = await runs.installed_at(transaction)
    return day_strip(start, expected, seen, now=now, grace=GRACE, since=since)


async def counts_of_day(transaction: AsyncConnection, day: date) -> dict[str, int]:
    """Return how many runs of a day came to what."""
    start = datetime.combine(day, datetime.min.time(), tzinfo=UTC)
    rows = await transaction.execute(
        select(task_runs.c.status, func.count())
        .where(task_runs.c.reference_time >= start)
        .where(task_runs.c.reference_time < start + DAY)
        .where(task_runs.c.is_dry_run.is_(False))
        .group_by(task_runs.c.status)
    )
    return {str(row[0]): int(row[1]) for row in rows}


async def braked_runs(transaction: AsyncConnection) -> list[dict[str, Any]]:
    """Return the runs that wait for a person."""
    rows = await transaction.execute(
        select(task_runs).where(task_runs.c.status == runs.RunState.BRAKED).order_by(task_runs.c.id)
    )
    return [dict(row) for row in rows.mappings()]


async def recent_alerts(transaction: AsyncConnection, limit: int = 20) -> list[dict[str, Any]]:
    """Return the newest alerts."""
    rows = await transaction.execute(select(alerts).order_by(alerts.c.created_at.desc()).limit(limit))
    return [dict(row) for row in rows.mappings()]


async def forecast_board(transaction: AsyncConnection, mirror_order: Sequence[str]) -> dict[str, Any]:
    """Return each model's runs by status, the newest runs, and the health of the mirrors."""
    counted = await transaction.execute(
        select(forecast_runs.c.model, forecast_runs.c.status, func.count()).group_by(
            forecast_runs.c.model, forecast_runs.c.status
        )
    )
    by_model: dict[str, dict[str, int]] = {model: {} for model in Model}
    for model, status, number in counted:
        by_model[model][status] = number
    newest = await transaction.execute(
        select(forecast_runs).order_by(forecast_runs.c.run_timestamp.desc(), forecast_runs.c.model).limit(40)
    )
    failed = await transaction.execute(
        select(forecast_runs)
        .where(forecast_runs.c.status == RunStatus.FAILED)
        .order_by(forecast_runs.c.finished_at.desc())
        .limit(10)
    )
    mirrors = await transaction.execute(
        select(mirror_checks).order_by(mirror_checks.c.source, mirror_checks.c.mirror)
    )
    return {
        "by_model": by_model,
        "failed": [{**row, "run_at": _run_name(row)} for row in failed.mappings()],
        "runs": [{**row, "run_at": _run_name(row)} for row in newest.mappings()],
        "mirrors": _mirror_rows([dict(row) for row in mirrors.mappings()], mirror_order),
    }


def _run_name(row: Any) -> str:
    return f"{row['model'].replace('_', ' ')} {row['run_timestamp']:%d %b %H:%M}"


def _mirror_rows(checks: list[dict[str, Any]], order: Sequence[str]) -> list[dict[str, Any]]:
    """Lay the checks out as a row a mirror and a column a source, in the order in which mirrors are tried."""
    by_mirror: dict[str, dict[str, Any]] = {}
    for check in checks:
        row = by_mirror.setdefault(check["mirror"], {"mirror": check["mirror"], "failures": 0, "error": None})
        row[check["source"]] = "ok" if check["error"] is None else "failing"
        row["failures"] = max(row["failures"], check["failures_in_a_row"])
        row["error"] = row["error"] or check["error"]
        row["state"] = "ok" if row["error"] is None else "failing"
        row["checked_at"] = max(row.get("checked_at", check["checked_at"]), check["checked_at"])
    for row in by_mirror.values():
        row["trouble"] = None if row["error"] is None else f"{row['error']}, {row['failures']} in a row"
    known = {name: place for place, name in enumerate(order)}
    return sorted(by_mirror.values(), key=lambda row: (known.get(row["mirror"], len(known)), row["mirror"]))


async def quality(transaction: AsyncConnection) -> dict[str, Any]:
    """Return the canaries, the accuracy of each model, and the calibration changes that wait."""
    canaries = await transaction.execute(
        select(watchpoints.c.id, watchpoints.c.name, watchpoints.c.metadata, evaluation_state.c.has_triggered)
        .outerjoin(evaluation_state, evaluation_state.c.watchpoint_id == watchpoints.c.id)
        .where(watchpoints.c.metadata[ROLE_KEY].as_string() == CANARY_ROLE)
        .order_by(watchpoints.c.name)
    )
    accuracy = await transaction.execute(
        select(
            forecast_runs.c.model,
            verification_results.c.variable,
            verification_results.c.metric,
            func.avg(verification_results.c.value).label("mean"),
            func.count().label("results"),
        )
        .join(forecast_runs, forecast_runs.c.id == verification_results.c.forecast_run_id)
        .group_by(forecast_runs.c.model, verification_results.c.variable, verification_results.c.metric)
        .order_by(forecast_runs.c.model, verification_results.c.variable)
    )
    return {
        "canaries": [_canary(dict(row)) for row in canaries.mappings()],
        "accuracy": [_accuracy(dict(row)) for row in accuracy.mappings()],
        "candidates": [_candidate(row) for row in await all_candidates(transaction)],
        "requests": await provider_requests(transaction),
    }


async def provider_requests(transaction: AsyncConnection, limit: int = 30) -> list[dict[str, Any]]:
    """Return what the provider was asked for beside forecasts: what failed first, then what is waited for."""
    rows = await transaction.execute(
        select(provider_jobs, forecast_runs.c.model, forecast_runs.c.run_timestamp)
        .outerjoin(forecast_runs, forecast_runs.c.id == provider_jobs.c.subject)
        .order_by(
            provider_jobs.c.error.is_(None),
            provider_jobs.c.finished_at.is_not(None),
            provider_jobs.c.requested_at.desc(),
            provider_jobs.c.subject,
        )
        .limit(limit)
    )
    return [_request(dict(row)) for row in rows.mappings()]


async def drifts(transaction: AsyncConnection) -> list[dict[str, Any]]:
    """Return where the payment provider and the platform did not agree, the newest first."""
    rows = await transaction.execute(
        select(billing_drifts, organizations.c.name)
        .join(organizations, organizations.c.id == billing_drifts.c.organization_id)
        .order_by(billing_drifts.c.found_at.desc())
        .limit(100)
    )
    return [{**row, "change": f"{row['ours']} → {row['theirs']}"} for row in rows.mappings()]


async def organizations_at_risk(transaction: AsyncConnection) -> list[dict[str, Any]]:
    """Return organisations that have not paid or are beyond their plan."""
    rows = await transaction.execute(
        select(organizations)
        .where(organizations.c.deleted_at.is_(None))
        .where(
            organizations.c.payment_failed_at.is_not(None) | organizations.c.overage_started_at.is_not(None)
        )
        .order_by(organizations.c.name)
        .limit(100)
    )
    return [dict(row) for row in rows.mappings()]


async def retention_report(transaction: AsyncConnection, now: datetime) -> list[dict[str, Any]]:
    """Return how much each clean-up would find."""
    old_organization = organizations.c.deleted_at < now - retention.SOFT_DELETED_ORGANIZATIONS
    old_point = (watchpoints.c.status == "archived") & (
        watchpoints.c.archived_at < now - retention.ARCHIVED_WATCHPOINTS
    )
    parts: list[tuple[str, str, Table, Any]] = [
        ("organizations", "cleanup_soft_deletes", organizations, old_organization),
        ("archived watchpoints", "cleanup_soft_deletes", watchpoints, old_point),
        ("invites", "cleanup_soft_deletes", invites, invites.c.expires_at < now),
        (
            "forecast outputs",
            "transition_forecasts",
            forecast_runs,
            (forecast_runs.c.status == RunStatus.COMPLETE)
            & or_(
                *(
                    (forecast_runs.c.model == model) & (forecast_runs.c.run_timestamp < now - kept)
                    for model, kept in RETENTION.items()
                )
            ),
        ),
        (
            "notifications",
            "purge_notifications",
            notifications,
            notifications.c.created_at < now - retention.NOTIFICATIONS,
        ),
        (
            "audit records",
            "archive_audit_logs",
            audit_logs,
            audit_logs.c.created_at < now - retention.AUDIT_LOGS,
        ),
        (
            "idempotency keys",
            "cleanup_idempotency_keys",
            idempotency_keys,
            idempotency_keys.c.expires_at < now,
        ),
        (
            "security events",
            "cleanup_security_events",
            security_events,
            security_events.c.attempted_at < now - retention.SECURITY_EVENTS,
        ),
    ]
    report = []
    for name, task, table, condition in parts:
        rows = await transaction.scalar(select(func.count()).select_from(table))
        due = await transaction.scalar(select(func.count()).select_from(table).where(condition))
        report.append({"what": name, "task": task, "rows": rows or 0, "due": due or 0})
    return report


def _accuracy(row: dict[str, Any]) -> dict[str, Any]:
    model, variable = row["model"].replace("_", " "), row["variable"].replace("_", " ")
    return {**row, "model": model, "what": f"{row['metric']} of {variable}", "mean": f"{row['mean']:.3f}"}


def _candidate(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "proposal": f"{row['tile_id']}: {row['violation_reason'].replace('_', ' ')}"}


def _request(row: dict[str, Any]) -> dict[str, Any]:
    state = "waiting" if row["finished_at"] is None else "complete" if row["error"] is None else "failed"
    subject = row["subject"] if row["model"] is None else _run_name(row)
    return {**row, "what": f"{row['task_type']} of {subject}", "state": state}


def _canary(row: dict[str, Any]) -> dict[str, Any]:
    expected = row["metadata"].get(EXPECTED_KEY) is True
    has_triggered = bool(row["has_triggered"])
    state = "as expected" if expected == has_triggered else "wrong"
    return {**row, "expected": _yes(expected), "seen": _yes(has_triggered), "state": state}


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"
