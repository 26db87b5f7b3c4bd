"""Reads how people write schedules: five cron fields, `@daily`, `rate(15 minutes)`, `cron(0 3 * * ? *)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from backstay.errors import InvalidSchedule
from backstay.model.schedules.cron import Cron, Days, Every, Gap, MonthEnd

LONGEST = 200
SHORTEST_INTERVAL = timedelta(seconds=1)

_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_UNITS = {
    "min": timedelta(minutes=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}
_CALL = re.compile(r"(rate|cron)\((.*)\)", re.IGNORECASE | re.DOTALL)
_RATE = re.compile(r"([0-9]{1,6})\s+([a-z]+?)s?", re.IGNORECASE)
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"), start=1
    )
}
_WEEKDAYS = {name: number for number, name in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"))}


@dataclass(frozen=True, slots=True)
class _Field:
    """One of the fields: its name, its bounds and its words."""

    name: str
    low: int
    high: int
    words: Mapping[str, int]


_MINUTE = _Field("minute", 0, 59, {})
_HOUR = _Field("hour", 0, 23, {})
_DAY_OF_MONTH = _Field("day of month", 1, 31, {})
_MONTH = _Field("month", 1, 12, _MONTHS)
_DAY_OF_WEEK = _Field("day of week", 0, 7, _WEEKDAYS)
# EventBridge counts weekdays from Sunday, 1.
_AWS_DAY_OF_WEEK = _Field("day of week", 1, 7, {name: number + 1 for name, number in _WEEKDAYS.items()})
_YEAR = _Field("year", 1970, 2199, {})


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of the expression, and where it begins."""

    text: str
    at: int
    whole: str

    def refuse(self, problem: str, *, at: int | None = None) -> InvalidSchedule:
        return InvalidSchedule(self.whole, problem, position=(self.at if at is None else at) + 1)


def read_rule(text: str, *, gap: Gap = "shift", month_end: MonthEnd = "skip") -> Cron | Every:
    """The rule that an expression stands for; raises InvalidSchedule with the position of what is wrong.

    `gap` and `month_end` say what becomes of times that do not exist and of days that a month does not have.
    """
    if not isinstance(text, str):
        raise InvalidSchedule(str(text), f"it must be text such as '0 3 * * *', not {type(text).__name__}")
    if len(text) > LONGEST:
        raise InvalidSchedule(
            f"{text[:20]}…",
            f"it has {len(text):,} characters, and {LONGEST} are the most: make several schedules of it",
            position=LONGEST + 1,
        )
    start = len(text) - len(text.lstrip())
    stripped = text.strip()
    if call := _CALL.fullmatch(stripped):
        inside = _Part(call.group(2), start + call.start(2), text)
        return _rate(inside) if call.group(1).lower() == "rate" else _event_bridge(inside, gap, month_end)
    if stripped.startswith("@"):
        return read_rule(_macro(_Part(stripped, start, text)), gap=gap, month_end=month_end)
    return _cron(_Part(text, 0, text), gap, month_end)


def _macro(part: _Part) -> str:
    meant = _MACROS.get(part.text.lower())
    if meant is not None:
        return meant
    if part.text.lower() == "@reboot":
        raise part.refuse("a schedule is not tied to a machine that starts: enqueue the job where it starts")
    if part.text.lower().startswith("@every"):
        raise part.refuse("give the interval by itself, such as every='15m', or write rate(15 minutes)")
    raise part.refuse(f"{part.text} is not known: use one of {', '.join(_MACROS)}")


def _rate(part: _Part) -> Every:
    found = _RATE.fullmatch(part.text.strip())
    unit = _UNITS.get(found.group(2).lower()) if found else None
    if found is None or unit is None:
        raise part.refuse("a rate is a whole number and minutes, hours or days, such as rate(15 minutes)")
    if int(found.group(1)) == 0:
        raise part.refuse("a rate of 0 would fire without end: give 1 or more")
    return Every(int(found.group(1)) * unit)


def _cron(whole: _Part, gap: Gap, month_end: MonthEnd) -> Cron:
    parts = _split(whole)
    if len(parts) == 6:
        raise parts[5].refuse(
            "six fields: cron has five, minute first; leave a field for seconds out, "
            "use every='10s' for less than a minute, or write cron(…) for a field of years"
        )
    if len(parts) != 5:
        at = parts[5].at if len(parts) > 5 else len(whole.whole.rstrip())
        raise whole.refuse(
            f"{len(parts)} fields where cron has five: minute, hour, day of month, month, day of week", at=at
        )
    return _rule(parts, _DAY_OF_WEEK, gap, month_end)


def _event_bridge(whole: _Part, gap: Gap, month_end: MonthEnd) -> Cron:
    parts = _split(whole)
    if len(parts) != 6:
        raise whole.refuse(
            f"{len(parts)} fields where cron(…) has six: minute, hour, day of month, month, day of week, year"
        )
    parts = [
        _Part("*", part.at, part.whole) if part.text == "?" and index in (2, 4) else part
        for index, part in enumerate(parts)
    ]
    return _rule(parts, _AWS_DAY_OF_WEEK, gap, month_end)


def _split(whole: _Part) -> list[_Part]:
    return [
        _Part(found.group().upper(), whole.at + found.start(), whole.whole)
        for found in re.finditer(r"\S+", whole.text)
    ]


def _rule(parts: list[_Part], of_week: _Field, gap: Gap, month_end: MonthEnd) -> Cron:
    minute, hour, month = parts[0], parts[1], parts[3]
    return Cron(
        minutes=tuple(sorted(_numbers(minute, _MINUTE))),
        hours=tuple(sorted(_numbers(hour, _HOUR))),
        days=_days(parts[2], parts[4], of_week, month_end),
        months=frozenset(_numbers(month, _MONTH)),
        years=frozenset(_numbers(parts[5], _YEAR)) if len(parts) == 6 and parts[5].text != "*" else None,
        repeats=minute.text.startswith("*") or hour.text.startswith("*"),
        gap=gap,
    )


def _days(of_month: _Part, of_week: _Part, field: _Field, month_end: MonthEnd) -> Days:
    numbers: set[int] = set()
    last = last_weekday = False
    for item in _items(of_month):
        last, last_weekday = last or item.text == "L", last_weekday or item.text == "LW"
        if item.text.endswith("W") and item.text[:-1].isdigit():
            raise item.refuse("the weekday nearest to a day is not supported: use LW, or a day of the week")
        if item.text not in ("L", "LW"):
            numbers |= _item(item, _DAY_OF_MONTH)
    weekdays, nth = _weekdays(of_week, field)
    starred = of_month.text.startswith("*"), of_week.text.startswith("*")
    return Days(
        of_month=frozenset(numbers),
        of_week=weekdays,
        nth=nth,
        last=last,
        last_weekday=last_weekday,
        both=any(starred),
        clamp=month_end == "clamp" and bool(numbers) and not starred[0],
    )


def _weekdays(part: _Part, field: _Field) -> tuple[frozenset[int], frozenset[tuple[int, int]]]:
    # In both dialects Sunday comes out as 0.
    shift = field.low
    plain: set[int] = set()
    nth: set[tuple[int, int]] = set()
    for item in _items(part):
        day, mark, which = item.text.partition("#")
        if mark:
            if which not in ("1", "2", "3", "4", "5"):
                raise item.refuse(f"{item.text}: the day of a month's week is #1 to #5")
            nth.add(((_value(_Part(day, item.at, item.whole), field) - shift) % 7, int(which)))
        elif item.text == "L":
            raise item.refuse("L needs a day of the week before it, such as FRIL or 5L for the last Friday")
        elif item.text.endswith("L"):
            nth.add(((_value(_Part(item.text[:-1], item.at, item.whole), field) - shift) % 7, 0))
        else:
            plain |= {(value - shift) % 7 for value in _item(item, field)}
    return frozenset(plain), frozenset(nth)


def _numbers(part: _Part, field: _Field) -> set[int]:
    return {value for item in _items(part) for value in _item(item, field)}


def _items(part: _Part) -> list[_Part]:
    at, items = part.at, []
    for text in part.text.split(","):
        items.append(_Part(text, at, part.whole))
        at += len(text) + 1
    return items


def _item(part: _Part, field: _Field) -> set[int]:
    """`*`, `5`, `1-5`, `*/10`, `1-9/2` or `5/10`, which goes on to the end."""
    span, slash, step_text = part.text.partition("/")
    step_at = part.at + len(span) + 1
    if slash and not (step_text.isdigit() and step_text.isascii() and len(step_text) <= 4):
        raise part.refuse(f"a step is a whole number after the slash, such as {span or '*'}/5", at=step_at)
    step = int(step_text) if slash else 1
    if not 1 <= step <= field.high - field.low + 1:
        raise part.refuse(
            f"a step of {step} does not fit {field.name}s from {field.low} to {field.high}", at=step_at
        )
    # Sunday has two numbers, and a step must not count it twice.
    high = field.high - 1 if field is _DAY_OF_WEEK else field.high
    if span == "*":
        return set(range(field.low, high + 1, step))
    first_text, dash, last_text = span.partition("-")
    first = _value(_Part(first_text, part.at, part.whole), field)
    if not dash:
        return set(range(first, max(high, first) + 1, step)) if slash else {first}
    last = _value(_Part(last_text, part.at + len(first_text) + 1, part.whole), field)
    if last < first:
        raise part.refuse(
            f"{span} goes backwards: write {first_text}-{field.high},{field.low}-{last_text}, two ranges"
        )
    return set(range(first, last + 1, step))


def _value(part: _Part, field: _Field) -> int:
    if part.text in field.words:
        return field.words[part.text]
    needs = f"a {field.name} is {field.low} to {field.high}"
    if field.words:
        needs += f", or {', '.join(list(field.words)[:3])}, …"
    if not part.text:
        raise part.refuse(f"something is missing here: {needs}")
    if not (part.text.isdigit() and part.text.isascii() and len(part.text) <= 4):
        raise part.refuse(f"{part.text!r} is not known: {needs}")
    value = int(part.text)
    if not field.low <= value <= field.high:
        raise part.refuse(f"{value} is out of range: {needs}")
    return value
