"""When the next sample is due, and how a result stands against its limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum

from backstay_oblicore.domain import calendar
from backstay_oblicore.domain.words import Priority, Regulator, Severity

NEAR_LIMIT = Decimal("0.8")
DEFAULT_FREQUENCIES = {
    "ph": "DAILY",
    "temperature": "DAILY",
    "bod": "WEEKLY",
    "cod": "WEEKLY",
    "ss": "WEEKLY",
    "suspended solids": "WEEKLY",
}


@dataclass(frozen=True)
class NextSample:
    """The next sample date; `assumed` says that the frequency was not understood and weekly was taken."""

    date: date
    assumed: bool = False


def next_sample(
    frequency: str, *, last: date | None, created: date, weekday: int = 0, regulator: Regulator = Regulator.EA
) -> NextSample:
    """Return the date of the next sample, from the last one or from the parameter's beginning."""
    base = last or created
    match frequency:
        case "DAILY":
            return NextSample(calendar.next_working_day(base, regulator))
        case "WEEKLY":
            return NextSample(base + timedelta(days=(weekday - base.weekday() - 1) % 7 + 1))
        case "MONTHLY":
            return NextSample(calendar.add_months(base.replace(day=1), 1))
        case "QUARTERLY":
            return NextSample(calendar.period_end(base, 3) + timedelta(days=1))
        case "BIANNUAL":
            return NextSample(calendar.period_end(base, 6) + timedelta(days=1))
        case "ANNUAL":
            return NextSample(_anniversary_after(created, base))
        case _:
            return NextSample(base + timedelta(days=7), assumed=True)


def _anniversary_after(created: date, base: date) -> date:
    # The anniversary of the parameter's beginning that follows the last sample, at least half a year on:
    # a sample taken shortly before its anniversary answers that anniversary.
    years = 1
    while (due := calendar.add_months(created, 12 * years)) <= base + timedelta(days=182):
        years += 1
    return due


def default_frequency(parameter: str) -> str:
    """Return how often a parameter is sampled where the consent is silent."""
    return DEFAULT_FREQUENCIES.get(parameter.strip().lower(), "MONTHLY")


def reminder_severity(due: date, *, today: date) -> Severity | None:
    """Grade the reminder for a sample by how late it is; none while it lies ahead."""
    late = (today - due).days
    if late < 0:
        return None
    if late > 7:
        return Severity.ERROR
    return Severity.WARNING if late > 0 else Severity.INFO


def reminder_priority(frequency: str) -> Priority:
    """The more often a sample is due, the sooner its reminder should be read."""
    if frequency == "DAILY":
        return Priority.URGENT
    return Priority.HIGH if frequency == "WEEKLY" else Priority.NORMAL


class LimitKind(StrEnum):
    """Which side of a limit is the wrong one."""

    MAXIMUM = "MAXIMUM"
    MINIMUM = "MINIMUM"
    RANGE = "RANGE"


class Standing(StrEnum):
    """How a result stands against its limit."""

    WITHIN = "WITHIN"
    NEAR = "NEAR"
    EXCEEDED = "EXCEEDED"
    NO_LIMIT = "NO_LIMIT"


@dataclass(frozen=True)
class Limit:
    """A limit as the consent sets it; the lower limit alone stands in `minimum`."""

    kind: LimitKind
    maximum: Decimal | None = None
    minimum: Decimal | None = None
    unit: str = ""

    def __str__(self) -> str:
        if self.kind is LimitKind.RANGE and None not in (self.minimum, self.maximum):
            words = f"Allowed: {self.minimum} to {self.maximum}"
        elif self.kind is LimitKind.MINIMUM and self.minimum is not None:
            words = f"Allowed: at least {self.minimum}"
        elif self.maximum is not None:
            words = f"Allowed: at most {self.maximum}"
        else:
            return "No limit is set."
        return f"{words} {self.unit}".rstrip() + "."


def standing(value: Decimal, limit: Limit) -> Standing:
    """Compare a result with its limit: exceeded beyond it, near it from four fifths on."""
    above = limit.kind is not LimitKind.MINIMUM and limit.maximum is not None and value > limit.maximum
    below = limit.kind is not LimitKind.MAXIMUM and limit.minimum is not None and value < limit.minimum
    if above or below:
        return Standing.EXCEEDED
    if limit.maximum is None and limit.minimum is None:
        return Standing.NO_LIMIT
    if limit.kind is LimitKind.MAXIMUM and limit.maximum and value >= NEAR_LIMIT * limit.maximum:
        return Standing.NEAR
    return Standing.WITHIN


def alert_severity(stands: Standing) -> Severity | None:
    """Grade a result that people are told of at once (beyond its limit) or with the day's mail (near it)."""
    return {Standing.EXCEEDED: Severity.ERROR, Standing.NEAR: Severity.WARNING}.get(stands)


def trend_per_month(results: Sequence[tuple[date, Decimal]]) -> Decimal | None:
    """Return the slope of a straight line through the results, in units a month; none below three results."""
    if len({day for day, _ in results}) < 3:
        return None
    days = [Decimal(day.toordinal()) for day, _ in results]
    values = [value for _, value in results]
    zero = Decimal(0)
    mean_day, mean_value = sum(days, zero) / len(days), sum(values, zero) / len(values)
    spread = sum(((day - mean_day) ** 2 for day in days), zero)
    moments = ((d - mean_day) * (v - mean_value) for d, v in zip(days, values, strict=True))
    slope = sum(moments, zero) / spread
    return (slope * Decimal("30.4375")).quantize(Decimal("0.001"))
