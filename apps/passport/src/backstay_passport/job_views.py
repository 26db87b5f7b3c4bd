"""Jobs with the application's own fields and words."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from backstay import Job
from backstay.errors import JobNotFound
from backstay.records import JobFilter
from backstay_passport.services import Services


def job_view(services: Services, job: Job) -> dict[str, Any]:
    """Return a job as the application calls its parts."""
    return {
        "job_id": str(job.id),
        "tenant_id": job.tenant,
        "type": job.kind,
        "status": services.app.profile.word_for(job.state, job.attempt, job.reason),
        "payload": job.args,
        "priority": job.priority,
        "attempts": job.attempt,
        "max_attempts": job.max_attempts,
        "idempotency_key": job.idempotency_key,
        "scheduled_at": job.run_at,
        "lease_expires_at": job.lease_expires_at,
        "last_error": job.error,
        "created_at": job.created_at,
    }


def newest_jobs(services: Services, tenant_id: str, limit: int = 100) -> list[dict[str, Any]]:
    """Return the newest jobs of a tenant."""
    found = services.app.sync.jobs.search(JobFilter(tenant=tenant_id), limit=limit)
    return [job_view(services, job) for job in found.jobs]


def job_of(services: Services, tenant_id: str, job_id: UUID) -> dict[str, Any] | None:
    """Return a job of a tenant; None if it is not there, or another tenant's."""
    try:
        job = services.app.sync.jobs.get(job_id)
    except JobNotFound:
        return None
    return job_view(services, job) if job.tenant == tenant_id else None
