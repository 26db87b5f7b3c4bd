"""Running again what has failed, once its reason is mended."""

from __future__ import annotations

from uuid import UUID

from backstay.errors import BackstayError
from backstay_passport.domain.errors import InvalidInput, NotFound
from backstay_passport.job_views import job_of
from backstay_passport.services import Services

AGAIN = ("FAILED", "DEAD_LETTER")


def retry(services: Services, tenant_id: str, job_id: UUID, *, by: str) -> None:
    """Let a job that is FAILED or DEAD_LETTER run again, with all its attempts."""
    found = job_of(services, tenant_id, job_id)
    if found is None:
        raise NotFound("job", str(job_id))
    if found["status"] not in AGAIN:
        raise InvalidInput(f"job {job_id} is {found['status']}; only {' or '.join(AGAIN)} is run again")
    try:
        services.app.sync.dead_letters.retry(job_id, by=by, reason="run again by its maker")
    except BackstayError as error:
        raise InvalidInput(str(error)) from None
