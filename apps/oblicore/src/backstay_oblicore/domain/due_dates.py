"""From a rule and its anchors to dates, each of which can explain itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import count, takewhile

from backstay_oblicore.domain import calendar
from backstay_oblicore.domain.due_rules import (
    AfterPeriod,
    Always,
    DueRule,
    Every,
    EveryHours,
    Offset,
    OnceOn,
    OnDate,
    OnDates,
    OnEvent,
    RelativeTo,
)
from backstay_oblicore.domain.errors import InvalidFacts
from backstay_oblicore.domain.words import Regulator

HORIZON = timedelta(days=365)


@dataclass(frozen=True)
class Situation:
    """What a rule is reckoned with: the dates and habits of one obligation."""

    base: date | None = None
    first_due: date | None = None  # the first date itself, where somebody has given it
    tracked_from: date | None = None  # earlier dates were somebody else's business
    last_completed: date | None = None
    completed_due: date | None = None  # which due date that completion answered
    anchors: Mapping[str, date] = field(default_factory=dict)
    hours_reached_on: date | None = None  # when a machine had run for as long as the rule allows
    working_days_only: bool = False
    regulator: Regulator = Regulator.EA
    clause: str = ""


@dataclass(frozen=True)
class Due:
    """One due date with the period it closes and the reasons for it."""

    day: date
    period_start: date
    period_end: date
    steps: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class NoDate:
    """There is no date, and this is why; `missing` names an anchor that somebody must supply."""

    reason: str
    missing: str | None = None


def next_due(rule: DueRule, situation: Situation) -> Due | NoDate:
    """Return the first date that is still to be answered, however long ago it was."""
    if isinstance(reason := _why_no_date(rule, situation), NoDate):
        return reason
    return next(upcoming(rule, situation), NoDate("the only date has been answered"))


def dues_until(rule: DueRule, situation: Situation, *, until: date) -> list[Due]:
    """Return every open due date up to `until`, at least the next one."""
    if _why_no_date(rule, situation):
        return []
    ahead = upcoming(rule, situation)
    first = next(ahead, None)
    if first is None:
        return []
    if counts_from_completion(rule):
        return [first]
    return [first, *takewhile(lambda due: due.day <= until, ahead)]


def upcoming(rule: DueRule, situation: Situation) -> Iterator[Due]:
    """Go through the open due dates of a rule that has any, in order and without end."""
    previous: date | None = None
    for nominal, why in _nominal_dates(rule, situation):
        if _is_answered(nominal, previous, situation, rule):
            previous = nominal
            continue
        yield _explained(rule, nominal, previous, why=why, situation=situation)
        previous = nominal


def shift_by(day: date, offset: Offset, *, backwards: bool = False, regulator: Regulator) -> date:
    """Move a date by an offset, clamping months and years, counting working days by the nation."""
    number = -offset.count if backwards else offset.count
    match offset.unit:
        case "days":
            return day + timedelta(days=number)
        case "weeks":
            return day + timedelta(weeks=number)
        case "months":
            return calendar.add_months(day, number)
        case "years":
            return calendar.add_months(day, 12 * number)
        case "working_days":
            return calendar.add_working_days(day, number, regulator)


def _why_no_date(rule: DueRule, situation: Situation) -> NoDate | None:
    match rule:
        case Always():
            return NoDate("holds at all times")
        case OnEvent(event):
            return NoDate(f"comes due when this happens: {event}")
        case EveryHours(or_months=None) if situation.hours_reached_on is None:
            return NoDate("comes due by running hours, not by date")
        case RelativeTo(anchor) | Every(first=RelativeTo(anchor)) if anchor not in situation.anchors:
            return NoDate(f"waits for a date: {anchor}", missing=anchor)
        case Every(interval) if interval.count <= 0:
            raise InvalidFacts(f"an interval must be positive, not {interval}")
        case Every(first=None) | EveryHours(or_months=int()) if (
            situation.base is None and situation.first_due is None
        ):
            return NoDate("waits for a base date", missing="base date")
        case _:
            return None


def _nominal_dates(rule: DueRule, situation: Situation) -> Iterator[tuple[date, str]]:
    match rule:
        case OnceOn(day):
            yield day, f"fixed date {day}"
        case RelativeTo(anchor, offset, before):
            day = situation.anchors[anchor]
            yield (
                shift_by(day, offset, backwards=before, regulator=situation.regulator),
                f"{anchor}: {day}",
            )
        case OnDate(month, day_of_month, every_years):
            yield from _anniversaries(month, day_of_month, every_years, situation)
        case OnDates(days):
            yield from _days_of_the_year(days, situation)
        case AfterPeriod(months, offset):
            yield from _after_periods(months, offset, situation)
        case Every(interval, rolling) if situation.first_due and not (rolling and situation.last_completed):
            yield situation.first_due, "first date as given"
            yield from _intervals(interval, situation.first_due, situation)
        case Every(interval, rolling, first) if first and not (rolling and situation.last_completed):
            [(day, why)] = _nominal_dates(first, situation)
            yield day, f"first: {why}"
            yield from _intervals(interval, day, situation)
        case Every(interval, rolling):
            origin = situation.last_completed if rolling else None
            yield from _intervals(interval, origin or _base(situation), situation)
        case EveryHours():
            yield from _hours_or_months(rule, situation)
        case _:
            return


def _intervals(interval: Offset, base: date, situation: Situation) -> Iterator[tuple[date, str]]:
    # Each date is counted from the base, so that a month's end that was clamped does not stay clamped.
    for n in count(1):
        total = Offset(interval.count * n, interval.unit)
        yield shift_by(base, total, regulator=situation.regulator), f"base date {base} + {total}"


def counts_from_completion(rule: DueRule) -> bool:
    """Say whether the next date follows from the last completion, so that later ones are not known yet."""
    return isinstance(rule, EveryHours) or (isinstance(rule, Every) and rule.rolling)


def _hours_or_months(rule: EveryHours, situation: Situation) -> Iterator[tuple[date, str]]:
    """Whichever is sooner: the day on which the hours were run, or the months since the last time."""
    found = []
    if situation.hours_reached_on is not None:
        found.append(
            (situation.hours_reached_on, f"{rule.hours} hours were reached on {situation.hours_reached_on}")
        )
    if rule.or_months:
        origin = situation.last_completed or _base(situation)
        found.append(next(_intervals(Offset(rule.or_months, "months"), origin, situation)))
    yield min(found)


def _anniversaries(month: int, day: int, years: int, situation: Situation) -> Iterator[tuple[date, str]]:
    start = situation.base or situation.tracked_from
    if start is None:
        raise InvalidFacts("a yearly date needs a base date to start from: set base_date")
    first = start.year if _clamped(start.year, month, day) > start else start.year + 1
    for year in count(first, years):
        yield _clamped(year, month, day), f"first after {start}"


def _days_of_the_year(days: tuple[tuple[int, int], ...], situation: Situation) -> Iterator[tuple[date, str]]:
    start = situation.base or situation.tracked_from
    if start is None:
        raise InvalidFacts("yearly dates need a base date to start from: set base_date")
    for year in count(start.year):
        for day in sorted(_clamped(year, month, day) for month, day in days):
            if day > start:
                yield day, f"first after {start}"


def _clamped(year: int, month: int, day: int) -> date:
    return min(calendar.month_end(date(year, month, 1)), date(year, month, 1) + timedelta(days=day - 1))


def _after_periods(months: int, offset: Offset, situation: Situation) -> Iterator[tuple[date, str]]:
    start = situation.base or situation.tracked_from
    if start is None:
        raise InvalidFacts("a duty after each period needs a base date to start from: set base_date")
    end = calendar.period_end(start, months)
    while True:
        yield (
            shift_by(end, offset, regulator=situation.regulator),
            f"period ended {end}",
        )
        end = calendar.period_end(end + timedelta(days=1), months)


def _is_answered(nominal: date, previous: date | None, situation: Situation, rule: DueRule) -> bool:
    if counts_from_completion(rule):
        is_untracked = situation.tracked_from is not None and nominal < situation.tracked_from
        return situation.last_completed is None and situation.hours_reached_on is None and is_untracked
    if situation.completed_due is not None:
        return nominal <= situation.completed_due
    if situation.last_completed is not None:
        # A completion answers the period that it falls into, even when it comes early.
        return (previous or date.min) < situation.last_completed or nominal <= situation.last_completed
    # What comes round is looked at from the day when tracking began; a date that comes once is never passed over.
    is_once = isinstance(rule, OnceOn | RelativeTo)
    return not is_once and situation.tracked_from is not None and nominal < situation.tracked_from


def _explained(rule: DueRule, nominal: date, previous: date | None, *, why: str, situation: Situation) -> Due:
    steps = [("clause", situation.clause), ("rule", str(rule)), ("anchor", why), ("nominal", str(nominal))]
    due = nominal
    if situation.working_days_only:
        due = calendar.previous_working_day(nominal, situation.regulator)
        if due != nominal:
            reason = calendar.holiday_name(nominal, situation.regulator) or f"{nominal:%A}"
            steps.append(("shift", f"{nominal} is no working day ({reason}): moved back to {due}"))
    steps.append(("due", str(due)))
    start = (previous or situation.base or nominal) + timedelta(days=1)
    return Due(due, min(start, due), due, tuple(steps))


def _base(situation: Situation) -> date:
    assert situation.base is not None
    return situation.base
