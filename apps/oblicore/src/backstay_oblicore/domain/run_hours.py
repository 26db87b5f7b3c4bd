"""Running hours of generators against their limits: year by anniversary, testing apart, forecast."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum

from backstay_oblicore.domain import calendar, texts
from backstay_oblicore.domain.errors import InvalidFacts
from backstay_oblicore.domain.words import Severity

CAP = Decimal("999.9")
LEVELS = (100, 90, 80)
TESTING_LIMIT_HOURS = Decimal(50)


class Purpose(StrEnum):
    """Why a generator ran."""

    TESTING = "TESTING"
    EMERGENCY = "EMERGENCY"
    OTHER = "OTHER"


class Period(StrEnum):
    """Which limit is meant."""

    ANNUAL = "annual"
    MONTHLY = "monthly"


@dataclass(frozen=True)
class Run:
    """One record of hours."""

    day: date
    hours: Decimal
    purpose: Purpose = Purpose.OTHER


@dataclass(frozen=True)
class Breach:
    """A level that was reached; `key` is what "already told" is remembered by."""

    level: int
    period: Period
    period_start: date
    percentage: Decimal
    limit: Decimal
    hours: Decimal

    @property
    def key(self) -> str:
        """Name the level in its limit period: the next period's breach is a new one."""
        return f"{self.period}:{self.period_start}:{self.level}"

    @property
    def severity(self) -> Severity:
        """Grade the level."""
        return {100: Severity.CRITICAL, 90: Severity.ERROR, 80: Severity.WARNING}[self.level]

    @property
    def title(self) -> str:
        """Return the heading that belongs to the level."""
        return {100: texts.RUN_HOURS_BREACHED, 90: texts.RUN_HOURS_90, 80: texts.RUN_HOURS_80}[self.level]

    def message(self, identifier: str) -> str:
        """Say what was reached, with the fresh sum."""
        template = texts.RUN_HOURS_ANNUAL if self.period is Period.ANNUAL else texts.RUN_HOURS_MONTHLY
        return template.format(
            identifier=identifier,
            percentage=self.percentage,
            threshold=self.level,
            limit=plain(self.limit),
            hours=plain(self.hours),
        )


def limit_year_start(anniversary: date, today: date) -> date:
    """Return the latest anniversary that is not after today."""
    years = today.year - anniversary.year
    start = calendar.add_months(anniversary, 12 * years)
    return start if start <= today else calendar.add_months(anniversary, 12 * (years - 1))


def total(runs: Sequence[Run], *, since: date, until: date, purpose: Purpose | None = None) -> Decimal:
    """Add up the hours from `since` to `until`, both included."""
    for run in runs:
        if run.hours < 0:
            raise InvalidFacts(f"hours cannot be negative: {run.hours} on {run.day}")
    return sum(
        (run.hours for run in runs if since <= run.day <= until and purpose in (None, run.purpose)),
        Decimal(0),
    )


def percentage(hours: Decimal, limit: Decimal | None) -> Decimal | None:
    """Return hours as a share of the limit with one decimal, capped; none where there is no limit."""
    if not limit or limit < 0:
        return None
    # Rounding down keeps 79.96 below the level that it has not reached.
    share = (hours / limit * 100).quantize(Decimal("0.1"), rounding="ROUND_FLOOR")
    return min(share, CAP)


def breach(
    hours: Decimal, limit: Decimal | None, *, period: Period, period_start: date, told: Collection[str]
) -> Breach | None:
    """Return the highest level that was reached, unless it has been told in this limit period."""
    share = percentage(hours, limit)
    if share is None or limit is None:
        return None
    level = next((level for level in LEVELS if share >= level), None)
    if level is None:
        return None
    found = Breach(level, period, period_start, share, limit, hours)
    return None if found.key in told else found


def forecast(runs: Sequence[Run], *, since: date, today: date, limit: Decimal | None) -> date | None:
    """Return the day on which the limit is reached at this period's rate; none if it is never."""
    used = total(runs, since=since, until=today)
    days = (today - since).days + 1
    if not limit or used <= 0 or days <= 0:
        return None
    if used >= limit:
        return today
    rate = used / days
    ahead = ((limit - used) / rate).to_integral_value(rounding="ROUND_CEILING")
    return today + timedelta(days=int(ahead)) if ahead < 36500 else None


def reached_on(machines: Iterable[Sequence[Run]], *, since: date, hours: Decimal) -> date | None:
    """Return the first day on which one of some machines had run so long since a day; none if none has."""
    days = []
    for runs in machines:
        ran = Decimal(0)
        for run in sorted(runs, key=lambda one: one.day):
            ran += run.hours if run.day > since else 0
            if ran >= hours:
                days.append(run.day)
                break
    return min(days, default=None)


def rolling_average(runs: Sequence[Run], *, today: date, years: int) -> Decimal:
    """Return the hours a year over the last `years` years."""
    since = calendar.add_months(today, -12 * years) + timedelta(days=1)
    hours = total(runs, since=since, until=today)
    return (hours / years).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)


def plain(number: Decimal) -> str:
    """Write a number without needless zeros or exponents."""
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
