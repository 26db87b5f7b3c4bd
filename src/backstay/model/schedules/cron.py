"""When a schedule fires: cron rules, intervals and single moments, in a time zone.

A cron rule speaks of wall clocks, and those jump. Where they jump forward, a time that does not exist counts as the
moment that a clock which nobody has changed would show it, so `30 2 * * *` fires at 03:30 that day. Where they jump
back, a time that comes twice fires the first time, unless the minute or the hour begins with `*`: such a rule means
every hour that really passes. An interval counts elapsed time and knows no wall clock.
"""

from __future__ import annotations

import calendar
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import takewhile
from typing import Literal

HORIZON = timedelta(days=9 * 366)
"""How far ahead fires are looked for; 29 February can be eight years away, around 2100."""

TOO_RARE = timedelta(days=5 * 366)
"""A rule whose first fire is further away than this is surely a mistake."""

_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Gap = Literal["shift", "skip"]
MonthEnd = Literal["skip", "clamp"]


@dataclass(frozen=True, slots=True)
class Days:
    """Which days a rule is about; `last` and `last_weekday` are those of the month.

    `nth` holds (weekday, which one of the month), 0 for the last. Weekdays count from Sunday, 0. The two halves must
    both fit if one of them begins with `*`, as in cron; otherwise one is enough.
    """

    of_month: frozenset[int]
    of_week: frozenset[int]
    nth: frozenset[tuple[int, int]] = frozenset()
    last: bool = False
    last_weekday: bool = False
    both: bool = True
    clamp: bool = False

    def fit(self, day: date) -> bool:
        """Whether this day is one of them."""
        if self.both:
            return self._fits_month(day) and self._fits_week(day)
        return self._fits_month(day) or self._fits_week(day)

    def _fits_month(self, day: date) -> bool:
        if day.day in self.of_month:
            return True
        if day.day < 26 or not (self.last or self.last_weekday or self.clamp):
            return False
        length = calendar.monthrange(day.year, day.month)[1]
        if self.last_weekday and day.day == _last_weekday(day.year, day.month, length):
            return True
        return day.day == length and (self.last or (self.clamp and max(self.of_month) > length))

    def _fits_week(self, day: date) -> bool:
        weekday = day.isoweekday() % 7
        if weekday in self.of_week:
            return True
        if not self.nth:
            return False
        if (weekday, (day.day + 6) // 7) in self.nth:
            return True
        return (weekday, 0) in self.nth and (day + 7 * _DAY).month != day.month


@dataclass(frozen=True, slots=True)
class Cron:
    """A rule about wall clocks; `repeats` when it means every real hour, also one that a clock shows twice."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: Days
    months: frozenset[int]
    years: frozenset[int] | None = None
    repeats: bool = False
    gap: Gap = "shift"

    def fires(self, after: datetime, zone: tzinfo) -> Iterator[datetime]:
        """Every fire later than `after`, in order, in UTC; ends where nothing comes for nine years."""
        last = after.astimezone(UTC)
        # A day before: what a jump of the clock has put off may come after midnight.
        day = last.astimezone(zone).date() - _DAY
        seen = day
        while day - seen < HORIZON and day.year < 9990:
            if day.month not in self.months or (self.years is not None and day.year not in self.years):
                day = (day.replace(day=1) + 32 * _DAY).replace(day=1)
                continue
            if self.days.fit(day):
                for moment in self._moments(day, zone, last):
                    if moment > last:
                        last, seen = moment, day
                        yield moment
            day += _DAY

    def _moments(self, day: date, zone: tzinfo, after: datetime) -> Iterator[datetime]:
        """The fires of one day, in order; of those before `after` it may leave some out."""
        start = datetime(day.year, day.month, day.day, tzinfo=zone)
        offset = start.utcoffset()
        if offset == (start + _DAY).utcoffset() == start.replace(hour=12).utcoffset():
            midnight = start.replace(tzinfo=UTC) - (offset or timedelta(0))
            if midnight + _DAY <= after:
                return
            for hour in self.hours:
                begin = midnight + timedelta(hours=hour)
                if begin + _HOUR > after:
                    yield from (begin + timedelta(minutes=minute) for minute in self.minutes)
            return
        walls = (start.replace(hour=hour, minute=minute) for hour in self.hours for minute in self.minutes)
        yield from sorted({moment for wall in walls for moment in self._real(wall)})

    def _real(self, wall: datetime) -> Iterator[datetime]:
        """The moments at which clocks show this time, on a day when they jump."""
        first, second = wall.astimezone(UTC), wall.replace(fold=1).astimezone(UTC)
        # In a gap the two readings are the other way round: the offset before it makes the later moment.
        if first > second:
            if self.gap == "shift" and len(self.hours) < 24:
                yield first
            return
        yield first
        if second > first and self.repeats:
            yield second


@dataclass(frozen=True, slots=True)
class Every:
    """Fires again and again after the same elapsed time, counted from `anchor`, so that it never drifts."""

    interval: timedelta
    anchor: datetime = _EPOCH

    def fires(self, after: datetime, zone: tzinfo) -> Iterator[datetime]:
        """Every fire later than `after`, in order, in UTC."""
        del zone
        turns = max((after - self.anchor) // self.interval + 1, 0)
        while True:
            yield (self.anchor + turns * self.interval).astimezone(UTC)
            turns += 1


@dataclass(frozen=True, slots=True)
class Once:
    """Fires at one moment."""

    at: datetime

    def fires(self, after: datetime, zone: tzinfo) -> Iterator[datetime]:
        """The moment, if it is later than `after`."""
        del zone
        if self.at > after:
            yield self.at.astimezone(UTC)


Rule = Cron | Every | Once


def next_fire(rule: Rule, zone: tzinfo, after: datetime) -> datetime | None:
    """The first fire later than `after`; None if it never fires again."""
    return next(rule.fires(after, zone), None)


def fires_between(
    rule: Rule, zone: tzinfo, first: datetime, last: datetime, *, most: int
) -> tuple[list[datetime], bool]:
    """The fires from `first` to `last`, both included, `most` at most; and whether there are more."""
    found: list[datetime] = []
    for moment in rule.fires(first - timedelta(microseconds=1), zone):
        if moment > last:
            break
        if len(found) == most:
            return found, True
        found.append(moment)
    return found, False


def recent_fires(rule: Rule, zone: tzinfo, first: datetime, last: datetime, *, most: int) -> list[datetime]:
    """The newest fires from `first` to `last`, both included, in order, without going through all before them."""
    if isinstance(rule, Every):
        first = max(first, last - most * rule.interval)
    back = _HOUR
    while True:
        begin = max(first, last - back)
        later = rule.fires(begin - timedelta(microseconds=1), zone)
        found = deque(takewhile(lambda moment: moment <= last, later), maxlen=most)
        if len(found) == most or begin == first:
            return list(found)
        back *= 4


def _last_weekday(year: int, month: int, length: int) -> int:
    return length - max(date(year, month, length).isoweekday() - 5, 0)
