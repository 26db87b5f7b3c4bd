"""The rules by which a duty comes due, as values that can be stored and read back."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date
from typing import Any, Literal

from backstay_oblicore.domain import texts
from backstay_oblicore.domain.errors import InvalidFacts, UnknownFrequency
from backstay_oblicore.domain.words import Frequency

Unit = Literal["days", "working_days", "weeks", "months", "years"]
UNITS: tuple[Unit, ...] = ("days", "working_days", "weeks", "months", "years")


@dataclass(frozen=True)
class Offset:
    """A stretch of time as a permit writes it: a count and a unit."""

    count: int
    unit: Unit

    def __str__(self) -> str:
        noun = self.unit.replace("_", " ")
        return f"{self.count} {noun[:-1] if abs(self.count) == 1 else noun}"


@dataclass(frozen=True)
class OnceOn:
    """One date, once."""

    date: date

    def __str__(self) -> str:
        return f"once, by {self.date:%-d %B %Y}"


@dataclass(frozen=True)
class RelativeTo:
    """Once, so long after (or before) something that has a date, which may not be known yet."""

    anchor: str
    offset: Offset
    before: bool = False

    def __str__(self) -> str:
        return f"{self.offset} {'before' if self.before else 'after'} {self.anchor}"


@dataclass(frozen=True)
class Every:
    """Every so many days, weeks, months or years, counted from a base date or from a first date of its own."""

    interval: Offset
    rolling: bool = False  # counted from the last completion instead of from the base
    first: OnceOn | RelativeTo | None = (
        None  # "within four months of issue, and every three years thereafter"
    )

    def __str__(self) -> str:
        origin = "counted from the last completion" if self.rolling else "counted from the base date"
        return f"every {self.interval}, {f'first {self.first}' if self.first else origin}"


@dataclass(frozen=True)
class OnDate:
    """A calendar date that comes back, such as 31 January each year."""

    month: int
    day: int
    every_years: int = 1

    def __str__(self) -> str:
        years = "each year" if self.every_years == 1 else f"every {self.every_years} years"
        return f"on {date(2000, self.month, self.day):%-d %B} {years}"


@dataclass(frozen=True)
class AfterPeriod:
    """So long after the end of each calendar month, quarter, half-year or year."""

    months: int
    offset: Offset

    def __str__(self) -> str:
        names = {1: "month", 3: "quarter", 6: "half-year", 12: "year"}
        return f"within {self.offset} of the end of each {names[self.months]}"


@dataclass(frozen=True)
class OnDates:
    """Several calendar dates that come back each year, such as 31 January and 31 July."""

    days: tuple[tuple[int, int], ...]  # month and day of the month, in the order of the year

    def __str__(self) -> str:
        names = [f"{date(2000, month, day):%-d %B}" for month, day in self.days]
        return f"on {', '.join(names[:-1])} and {names[-1]} each year"


@dataclass(frozen=True)
class OnEvent:
    """Whenever something happens, and then within this time (none: at once)."""

    event: str
    offset: Offset | None = None
    before: bool = False

    def __str__(self) -> str:
        if self.offset is None:
            return f"without delay on {self.event}"
        if self.before and not self.offset.count:
            return f"before {self.event}"
        return f"within {self.offset} {'before' if self.before else 'of'} {self.event}"


@dataclass(frozen=True)
class Always:
    """At all times: there is no date to miss."""

    def __str__(self) -> str:
        return "at all times"


@dataclass(frozen=True)
class EveryHours:
    """After so many running hours, or so many months if that is sooner."""

    hours: int
    or_months: int | None = None

    def __str__(self) -> str:
        text = f"every {self.hours} operating hours"
        return text + (f" or {self.or_months} months, whichever is sooner" if self.or_months else "")


DueRule = Every | OnDate | OnDates | AfterPeriod | OnceOn | RelativeTo | OnEvent | Always | EveryHours
KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (Every, OnDate, OnDates, AfterPeriod, OnceOn, RelativeTo, OnEvent, Always, EveryHours)
}
INTERVALS = {
    Frequency.DAILY: Offset(1, "days"),
    Frequency.WEEKLY: Offset(1, "weeks"),
    Frequency.MONTHLY: Offset(1, "months"),
    Frequency.QUARTERLY: Offset(3, "months"),
    Frequency.BIANNUAL: Offset(6, "months"),
    Frequency.ANNUAL: Offset(1, "years"),
}


def rule_for(frequency: str, *, base: date | None, rolling: bool = False) -> DueRule:
    """Turn a bare frequency into a rule; raise UnknownFrequency for a word without one."""
    try:
        word = Frequency(frequency)
    except ValueError:
        raise UnknownFrequency(texts.UNKNOWN_FREQUENCY.format(frequency=frequency)) from None
    if word in INTERVALS:
        return Every(INTERVALS[word], rolling=rolling)
    if word is Frequency.ONE_TIME:
        if base is None:
            raise InvalidFacts("a one-time obligation needs its date: set base_date")
        return OnceOn(base)
    if word is Frequency.CONTINUOUS:
        return Always()
    if word is Frequency.EVENT_TRIGGERED:
        return OnEvent("the event that the condition names")
    raise InvalidFacts(f"{word} needs a rule of its own: how many years, or how many hours?")


def frequency_of(rule: DueRule) -> Frequency:
    """Name the frequency that fits a rule best."""
    match rule:
        case Every(interval):
            return _frequency_of_interval(interval)
        case OnDate(every_years=years):
            return Frequency.ANNUAL if years == 1 else Frequency.N_YEARLY
        case OnDates(days):
            times = len(days)
            return (
                Frequency.BIANNUAL if times == 2 else Frequency.QUARTERLY if times <= 4 else Frequency.MONTHLY
            )
        case AfterPeriod(months=months):
            by_months = {
                1: Frequency.MONTHLY,
                3: Frequency.QUARTERLY,
                6: Frequency.BIANNUAL,
                12: Frequency.ANNUAL,
            }
            return by_months[months]
        case OnceOn() | RelativeTo():
            return Frequency.ONE_TIME
        case OnEvent():
            return Frequency.EVENT_TRIGGERED
        case Always():
            return Frequency.CONTINUOUS
        case EveryHours():
            return Frequency.HOURS_BASED


def _frequency_of_interval(interval: Offset) -> Frequency:
    for word, known in INTERVALS.items():
        if known == interval:
            return word
    if interval == Offset(12, "months"):
        return Frequency.ANNUAL
    months = interval.count * 12 if interval.unit == "years" else interval.count
    if interval.unit in ("years", "months") and months % 12 == 0 and months > 12:
        return Frequency.N_YEARLY
    nearest = {"days": Frequency.DAILY, "working_days": Frequency.DAILY, "weeks": Frequency.WEEKLY}
    return nearest.get(interval.unit, Frequency.MONTHLY)


def rule_to_json(rule: DueRule) -> dict[str, Any]:
    """Write a rule as plain JSON."""
    written: dict[str, Any] = {"kind": type(rule).__name__}
    for field in fields(rule):
        value = getattr(rule, field.name)
        if isinstance(value, Offset):
            value = {"count": value.count, "unit": value.unit}
        elif isinstance(value, date):
            value = value.isoformat()
        elif isinstance(value, OnceOn | RelativeTo):
            value = rule_to_json(value)
        written[field.name] = value
    return written


def rule_from_json(written: dict[str, Any]) -> DueRule:
    """Read a rule back; raise InvalidFacts for what no rule looks like."""
    try:
        kind = KINDS[written["kind"]]
        values = {name: _read_value(name, value) for name, value in written.items() if name != "kind"}
        rule: DueRule = kind(**values)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidFacts(f"not a due rule: {written!r} ({error})") from error
    return rule


def _read_value(name: str, value: Any) -> Any:
    if name in ("offset", "interval") and value is not None:
        if value["unit"] not in UNITS:
            raise ValueError(f"unknown unit {value['unit']!r}")
        return Offset(int(value["count"]), value["unit"])
    if name == "date":
        return date.fromisoformat(value)
    if name == "first" and value is not None:
        return rule_from_json(value)
    if name == "days":
        return tuple((int(month), int(day)) for month, day in value)
    return value
