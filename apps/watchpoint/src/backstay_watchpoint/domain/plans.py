"""Plan limits: whether an organisation keeps within them, and what happens when it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

PAYMENT_GRACE = timedelta(days=7)
OVERAGE_GRACE = timedelta(days=14)


class PausedReason(StrEnum):
    """Why a watchpoint is paused, as its organisation reads it."""

    BILLING_DELINQUENCY = "billing_delinquency"
    USAGE_OVERAGE = "usage_overage"


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """What a plan allows; None means without limit."""

    watchpoints_max: int | None
    api_calls_daily_max: int | None
    allow_nowcast: bool = True


PLANS: dict[str, PlanLimits] = {
    "free": PlanLimits(watchpoints_max=5, api_calls_daily_max=100, allow_nowcast=False),
    "pro": PlanLimits(watchpoints_max=50, api_calls_daily_max=10_000),
    "business": PlanLimits(watchpoints_max=500, api_calls_daily_max=100_000),
    "enterprise": PlanLimits(watchpoints_max=None, api_calls_daily_max=None),
}


@dataclass(frozen=True, slots=True)
class DayUsage:
    """A day of one organisation: calls of all its sources, and its active watchpoints (canaries not counted)."""

    api_calls: int
    active_watchpoints: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """An active watchpoint that may be paused."""

    id: str
    created_at: datetime


def is_within(usage: DayUsage, limits: PlanLimits) -> bool:
    """Tell whether a day kept within the plan; as much as the limit is within."""
    return _fits(usage.api_calls, limits.api_calls_daily_max) and _fits(
        usage.active_watchpoints, limits.watchpoints_max
    )


def overage_started_at(
    usage: DayUsage, limits: PlanLimits, since: datetime | None, now: datetime
) -> datetime | None:
    """Return when the overage began: cleared by a day within the plan, set by the first day beyond it."""
    if is_within(usage, limits):
        return None
    return since or now


def is_grace_over(since: datetime | None, now: datetime, grace: timedelta) -> bool:
    """Tell whether more than the grace period has passed; exactly the grace period is not more."""
    return since is not None and since < now - grace


def excess(active: Sequence[Candidate], limits: PlanLimits) -> list[Candidate]:
    """Return the watchpoints beyond the plan, the newest first."""
    if limits.watchpoints_max is None:
        return []
    oldest_first = sorted(active, key=lambda candidate: (candidate.created_at, candidate.id))
    return oldest_first[limits.watchpoints_max :][::-1]


def _fits(used: int, limit: int | None) -> bool:
    return limit is None or used <= limit
