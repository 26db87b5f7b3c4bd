"""Dates: months that clamp, working days, bank holidays of the four nations."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache

import holidays

from backstay_oblicore.domain.words import Regulator

SUBDIVISIONS = {
    Regulator.EA: "ENG",
    Regulator.SEPA: "SCT",
    Regulator.NRW: "WLS",
    Regulator.NIEA: "NIR",
}
ONE_DAY = timedelta(days=1)


def add_months(day: date, months: int) -> date:
    """Move by whole months; a day that the month does not have becomes its last.

    >>> add_months(date(2026, 1, 31), 1)
    datetime.date(2026, 2, 28)
    """
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last))


def month_end(day: date) -> date:
    """Return the last day of the month."""
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def period_end(day: date, months: int) -> date:
    """Return the end of the calendar period of `months` months (1, 3, 6, 12) that holds `day`."""
    first = (day.month - 1) // months * months + 1
    return month_end(date(day.year, first + months - 1, 1))


def is_bank_holiday(day: date, regulator: Regulator = Regulator.EA) -> bool:
    """Say whether the site's nation has a bank holiday on this day."""
    return day in bank_holidays(day.year, regulator)


def is_working_day(day: date, regulator: Regulator = Regulator.EA) -> bool:
    """Say whether offices of the site's nation are open."""
    return day.weekday() < 5 and not is_bank_holiday(day, regulator)


def previous_working_day(day: date, regulator: Regulator = Regulator.EA) -> date:
    """Return the day itself, or the last working day before it."""
    return _first(day, -ONE_DAY, lambda candidate: is_working_day(candidate, regulator))


def next_working_day(day: date, regulator: Regulator = Regulator.EA) -> date:
    """Return the first working day after this one."""
    return _first(day + ONE_DAY, ONE_DAY, lambda candidate: is_working_day(candidate, regulator))


def add_working_days(day: date, count: int, regulator: Regulator = Regulator.EA) -> date:
    """Count working days onwards (or back, for a negative count)."""
    step = ONE_DAY if count >= 0 else -ONE_DAY
    for _ in range(abs(count)):
        day = _first(day + step, step, lambda candidate: is_working_day(candidate, regulator))
    return day


def holiday_name(day: date, regulator: Regulator = Regulator.EA) -> str | None:
    """Return the bank holiday's name, for explanations."""
    return bank_holidays(day.year, regulator).get(day)


@cache
def bank_holidays(year: int, regulator: Regulator) -> dict[date, str]:
    """Return the bank holidays of one year in the regulator's nation."""
    found = holidays.country_holidays("GB", subdiv=SUBDIVISIONS[regulator], years=year)
    return {day: str(name) for day, name in found.items()}


def _first(day: date, step: timedelta, fits: Callable[[date], bool]) -> date:
    while not fits(day):
        day += step
    return day
