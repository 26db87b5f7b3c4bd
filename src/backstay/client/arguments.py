"""Checks of what callers hand to the client besides a job's own data."""

from __future__ import annotations

from uuid import UUID

from backstay.errors import InvalidJob, JobNotFound
from backstay.handlers import codec
from backstay.model.job import JobId


def job_id(value: object) -> JobId:
    """An id as given by a person or a program; one that cannot be an id is not found."""
    if isinstance(value, UUID):
        return JobId(value)
    if not isinstance(value, str):
        named = getattr(value, "id", None)
        advice = "hand in its .id" if isinstance(named, UUID) else "hand in a UUID or its text"
        raise InvalidJob(f"a job is asked for by its id, not by a {type(value).__name__}: {advice}")
    try:
        return JobId(UUID(value))
    except ValueError:
        raise JobNotFound(value) from None


def who(by: str) -> str:
    """The one who acts, for the audit trail."""
    return codec.check_key("by", by)


def why(reason: str) -> str:
    """A reason that says something."""
    if not reason.strip():
        raise InvalidJob("a reason is needed: say why, for those who look at this job later")
    return reason
