"""How well everything is: one verdict from three counts, and the figures behind it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

STALE_UNHEALTHY = 10
DEAD_UNHEALTHY = 50
DEAD_DEGRADED = 10
FAILURES_DEGRADED = 20
MOST_COUNTED = 1000


class HealthStatus(StrEnum):
    """The verdict; `degraded` still works."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """One verdict with its reasons; counts are exact up to a thousand."""

    status: HealthStatus
    stale_jobs: int
    """Claims that ran out and that nobody has taken over."""
    unresolved_dead_letters: int
    recent_failures: int
    """Attempts that failed or crashed in the last hour."""
    checked_at: datetime
    reasons: tuple[str, ...] = ()


def judged(*, stale: int, dead: int, failures: int, at: datetime) -> HealthReport:
    """Judge three counts: more than 10 stale jobs or 50 dead letters are unhealthy, less than that is degraded.

    Degraded are any stale job, more than 10 dead letters, and more than 20 failures in an hour.
    """
    unhealthy = [
        *_above(stale, STALE_UNHEALTHY, "stale jobs"),
        *_above(dead, DEAD_UNHEALTHY, "open dead letters"),
    ]
    degraded = [
        *_above(stale, 0, "stale jobs"),
        *_above(dead, DEAD_DEGRADED, "open dead letters"),
        *_above(failures, FAILURES_DEGRADED, "failures in the last hour"),
    ]
    status = HealthStatus.HEALTHY
    if degraded:
        status = HealthStatus.DEGRADED
    if unhealthy:
        status = HealthStatus.UNHEALTHY
    return HealthReport(
        status=status,
        stale_jobs=stale,
        unresolved_dead_letters=dead,
        recent_failures=failures,
        checked_at=at,
        reasons=tuple(dict.fromkeys([*unhealthy, *degraded])),
    )


def _above(count: int, most: int, what: str) -> list[str]:
    return [f"{count:,} {what}"] if count > most else []
