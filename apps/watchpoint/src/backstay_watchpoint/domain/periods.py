"""Periods of tasks: which one a moment is in, and the lock that lets each run once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import assert_never


class Period(StrEnum):
    """How often a task runs; each period has one lock. All are counted in UTC, weeks from Monday."""

    QUARTER_HOUR = "15 minutes"
    HOUR = "1 hour"
    DAY = "1 day"
    WEEK = "1 week"
    MONTH = "1 month"


LENGTHS = {
    Period.QUARTER_HOUR: timedelta(minutes=15),
    Period.HOUR: timedelta(hours=1),
    Period.DAY: timedelta(days=1),
    Period.WEEK: timedelta(days=7),
    Period.MONTH: timedelta(days=31),
}


def period_start(moment: datetime, period: Period) -> datetime:
    """Return the start of the period that a moment is in."""
    moment = moment.astimezone(UTC)
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match period:
        case Period.QUARTER_HOUR:
            return moment.replace(minute=moment.minute // 15 * 15, second=0, microsecond=0)
        case Period.HOUR:
            return moment.replace(minute=0, second=0, microsecond=0)
        case Period.DAY:
            return midnight
        case Period.WEEK:
            return midnight - timedelta(days=midnight.weekday())
        case Period.MONTH:
            return midnight.replace(day=1)
        case _:
            assert_never(period)


def period_end(moment: datetime, period: Period) -> datetime:
    """Return the start of the following period."""
    start = period_start(moment, period)
    if period is Period.MONTH:
        return (start + timedelta(days=32)).replace(day=1)
    return start + LENGTHS[period]


def lock_id(task: str, moment: datetime, period: Period) -> str:
    """Name the lock of the period that a moment is in."""
    return f"{task}:{period_start(moment, period):%Y-%m-%dT%H:%MZ}"
