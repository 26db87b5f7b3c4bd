"""Plan limits: whether an organisation keeps within them, and what happens when it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

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


class BadLimits(ValueError):
    """A plan that nobody knows, or limits of an organisation's own that cannot be read."""


def limits_of(plan_name: str, own: Mapping[str, Any] | None) -> PlanLimits:
    """Return the limits of an organisation: its own where it has some, otherwise its plan's; raises BadLimits."""
    plan = PLANS.get(plan_name)
    if plan is None:
        raise BadLimits(f"no plan {plan_name!r}: there are {', '.join(PLANS)}")
    own = own or {}
    return PlanLimits(
        watchpoints_max=_limit(own, "watchpoints_max", plan.watchpoints_max),
        api_calls_daily_max=_limit(own, "api_calls_daily_max", plan.api_calls_daily_max),
        allow_nowcast=bool(own.get("allow_nowcast", plan.allow_nowcast)),
    )


def _limit(own: Mapping[str, Any], name: str, default: int | None) -> int | None:
    found = own.get(name, default)
    if found is not None and (not isinstance(found, int) or isinstance(found, bool) or found < 0):
        raise BadLimits(f"{name} must be a whole number of 0 or more, or null for no limit, not {found!r}")
    return found


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
