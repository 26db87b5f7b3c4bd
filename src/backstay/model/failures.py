"""Failures: causes of death over time, whether they are new or have come back, and who looks after them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from backstay.model.job import JobId

HOUR = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One cause of death; `job_id`, `error_type` and `message` are of the newest one."""

    fingerprint: str
    kind: str
    error_type: str
    message: str
    job_id: JobId
    deaths: int
    """How many jobs died of it in the time that was asked for."""
    open_letters: int
    """How many of these nobody has decided about."""
    first_died_at: datetime
    last_died_at: datetime
    hours: tuple[int, ...]
    """Deaths in each hour of that time, the oldest first."""
    is_new: bool
    """Whether it struck for the first time in that time."""
    is_regressed: bool
    """Whether it struck again after somebody had dealt with it."""
    owner: str | None


@dataclass(frozen=True, slots=True)
class CauseCount:
    """How often a cause struck since a moment."""

    fingerprint: str
    deaths: int
    open_letters: int
    last_died_at: datetime


@dataclass(frozen=True, slots=True)
class CauseHistory:
    """What is known of a cause besides."""

    kind: str
    job_id: JobId
    error_type: str
    message: str
    first_died_at: datetime
    dealt_with_at: datetime | None
    owner: str | None


def failure_of(
    count: CauseCount, history: CauseHistory, hours: Mapping[int, int], *, since: datetime, until: datetime
) -> Failure:
    """Put together what is known of a cause."""
    dealt_with = history.dealt_with_at
    return Failure(
        fingerprint=count.fingerprint,
        kind=history.kind,
        error_type=history.error_type,
        message=history.message,
        job_id=history.job_id,
        deaths=count.deaths,
        open_letters=count.open_letters,
        first_died_at=history.first_died_at,
        last_died_at=count.last_died_at,
        hours=tuple(hours.get(hour, 0) for hour in range(hour_of(since), hour_of(until) + 1)),
        is_new=history.first_died_at >= since,
        is_regressed=dealt_with is not None and count.last_died_at > dealt_with,
        owner=history.owner,
    )


def hour_of(moment: datetime) -> int:
    """The number of an hour since 1970."""
    return (moment - _EPOCH) // HOUR
