"""Which service does which task, with what the platform has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from backstay_watchpoint.domain.brake import Candidates
from backstay_watchpoint.domain.polling import PollInput
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.services import (
    archiver,
    audit,
    billing,
    calibration,
    cleanup,
    digests,
    enforcement,
    forecasts,
    notifications,
    polling,
    retention,
    usage,
    verification,
)
from backstay_watchpoint.services.work import Work

Service = Callable[[Platform, Work], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class TaskService:
    """What runs a task; destructive tasks can also count what they would take."""

    run: Service
    candidates: Callable[[Work], Awaitable[list[Candidates]]] | None = None
    acts_on_others: bool = False
    """True if it calls an outside part even in a trial, so that it cannot be tried."""


async def _reconcile(platform: Platform, work: Work) -> int:
    settings = platform.settings
    return await forecasts.reconcile_stale_runs(
        work,
        platform.provider,
        platform.objects,
        settings.forecast_bucket,
        timeouts=settings.forecast.timeouts,
    )


async def _verification(platform: Platform, work: Work) -> int:
    return await verification.trigger_verification(
        work,
        platform.provider,
        platform.objects,
        forecast_bucket=platform.settings.forecast_bucket,
        observation_bucket=platform.settings.observation_bucket,
    )


async def _calibration(platform: Platform, work: Work) -> int:
    bucket = platform.settings.forecast_bucket
    return await calibration.update_coefficients(work, platform.provider, forecast_bucket=bucket)


async def _transition(platform: Platform, work: Work) -> int:
    return await retention.enforce_retention(work, platform.objects, platform.settings.forecast_bucket)


async def _archive_audit(platform: Platform, work: Work) -> int:
    return await audit.archive_audit_logs(work, platform.objects, platform.settings.archive_bucket)


async def _sync_stripe(platform: Platform, work: Work) -> int:
    return await billing.sync_everybody(work, platform.payments)


async def poll(platform: Platform, work: Work, asked: PollInput) -> int:
    """Look for new model runs and start them."""
    bucket = platform.settings.forecast_bucket
    return await polling.poll(work, platform.upstream, platform.provider, bucket, asked)


async def _poll(platform: Platform, work: Work) -> int:
    return await poll(platform, work, PollInput())


def _alone(service: Callable[[Work], Awaitable[int]]) -> Service:
    """Make a service of one that needs nothing outside of the database."""

    async def run(_platform: Platform, work: Work) -> int:
        return await service(work)

    return run


SERVICES: dict[str, TaskService] = {
    "poll_data": TaskService(_poll, acts_on_others=True),
    "archive_watchpoints": TaskService(_alone(archiver.archive_expired)),
    "requeue_deferred": TaskService(_alone(notifications.requeue_deferred_notifications)),
    "reconcile_forecasts": TaskService(_reconcile, acts_on_others=True),
    "trigger_digests": TaskService(_alone(digests.trigger_digests)),
    "sync_stripe": TaskService(_sync_stripe, acts_on_others=True),
    "aggregate_usage": TaskService(_alone(usage.snapshot_daily_usage)),
    "enforce_payment_failure": TaskService(_alone(enforcement.enforce_payment_failure)),
    "enforce_overage": TaskService(_alone(enforcement.enforce_overage)),
    "cleanup_soft_deletes": TaskService(
        _alone(cleanup.cleanup_soft_deletes), candidates=cleanup.soft_delete_candidates
    ),
    "cleanup_idempotency_keys": TaskService(
        _alone(cleanup.purge_expired_idempotency_keys), candidates=cleanup.idempotency_candidates
    ),
    "verification": TaskService(_verification, acts_on_others=True),
    "transition_forecasts": TaskService(_transition, candidates=retention.retention_candidates),
    "cleanup_security_events": TaskService(
        _alone(cleanup.purge_security_events), candidates=cleanup.security_candidates
    ),
    "update_calibration": TaskService(_calibration, acts_on_others=True),
    "purge_notifications": TaskService(
        _alone(cleanup.purge_notifications), candidates=cleanup.notification_candidates
    ),
    "archive_audit_logs": TaskService(_archive_audit, candidates=audit.audit_candidates),
}
