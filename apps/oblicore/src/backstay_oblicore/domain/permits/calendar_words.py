"""Words that name dates of the calendar: by 31 January each year, within a month of each quarter's end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from backstay_oblicore.domain import calendar
from backstay_oblicore.domain.due_rules import AfterPeriod, Every, Offset, OnceOn, OnDate, OnDates
from backstay_oblicore.domain.permits.interval_words import intervals
from backstay_oblicore.domain.permits.vocabulary import MONTHS, NUMBER, UNIT, Timing, number_of, unit_of

I = re.IGNORECASE  # noqa: E741 - as everywhere in patterns
DAY_MONTH = rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:day\s+)?(?:of\s+)?(?P<month>{MONTHS})\b"
_PLAIN_DATE = rf"\d{{1,2}}(?:st|nd|rd|th)?\s+(?:day\s+)?(?:of\s+)?(?:{MONTHS})\b(?!,?\s+(?:19|20)\d\d)"
_AND = r"(?:\s*,\s*(?:and\s+)?|\s+and\s+(?:(?:by|on)\s+)?(?:the\s+)?|\s*&\s*)"
DATES = re.compile(rf"\b{_PLAIN_DATE}(?:{_AND}{_PLAIN_DATE})*", I)
# May is a month only where it has its capital.
_NAMED = rf"(?-i:{MONTHS})\b(?!\s+(?:19|20)?\d\d)"
NAMED_MONTHS = re.compile(
    rf"\b(?:in|during|each|every)\s+(?:each\s+of\s+)?(?:the\s+(?:months?|course)\s+of\s+)?"
    rf"(?P<months>{_NAMED}(?:{_AND}{_NAMED})+)",
    I,
)
YEARLY_MONTH = re.compile(
    rf"\b(?:(?:each|every)\s+(?P<each>{_NAMED})|"
    rf"(?:by|at|before|on)\s+the\s+(?:end|last\s+day)\s+of\s+(?P<end>{_NAMED})|"
    rf"(?:in|during|by|before|in\s+the\s+course\s+of)\s+"
    rf"(?:the\s+month\s+of\s+)?(?P<in>{_NAMED})\s+(?:in\s+|of\s+)?(?:each|every)\s+(?:calendar\s+)?year|"
    rf"(?:yearly|annually|(?:each|every)\s+year),?\s+in\s+(?P<then>{_NAMED}))",
    I,
)
DAY_OF_MONTHS = re.compile(
    rf"\b(?:by|on|before)\s+(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+day)?\s+of\s+"
    rf"(?P<months>{_NAMED}(?:{_AND}{_NAMED})+)",
    I,
)
SEASONS = {"spring": (5, 31), "summer": (8, 31), "autumn": (11, 30), "winter": (2, 29)}
SEASON = re.compile(rf"\b(?:each|every)\s+(?P<season>{'|'.join(SEASONS)})\b", I)
YEAR_END = re.compile(r"\b(?:by|before|at)\s+the\s+end\s+of\s+(?:the\s+year\s+)?(?P<year>20\d\d)\b", I)
MONTH_OF_YEAR = re.compile(
    rf"\b(?P<how>by|before|in|during|(?:by|before|at|no(?:t)?\s+later\s+than)\s+the\s+end\s+of)\s+"
    rf"(?P<month>(?-i:{MONTHS}))\s+(?P<year>20\d\d)\b",
    I,
)
BY = (
    r"(?:by|before|on|no\s+later\s+than|not\s+later\s+than|on\s+or\s+before|by\s+no\s+later\s+than|"
    r"until|due|each)"
)
YEARLY = (
    r"(?:each|every|per|in\s+each|in\s+every|of\s+each|of\s+every|of\s+the\s+following|"
    r"in\s+the\s+following|a)"
)
FIXED_DATE = re.compile(
    rf"\b{BY}\s+(?:the\s+)?(?:{DAY_MONTH},?\s+(?P<year>20\d\d)|"
    r"(?P<numeric>\d{1,2}[/.-]\d{1,2}[/.-]20\d\d))",
    I,
)


def yearly_dates(text: str) -> Iterator[Timing]:
    """Find dates without a year that come back: one, or several in a list."""
    for match in DAY_OF_MONTHS.finditer(text):
        months = sorted({month_of(name) for name in re.findall(_NAMED, match["months"])})
        yield from _on([(month, min(int(match["day"]), _last_day(month))) for month in months], match[0])
    for match in DATES.finditer(text):
        before = text[max(0, match.start() - 40) : match.start()]
        after = text[match.end() : match.end() + 120]
        is_yearly = re.match(rf".{{0,100}}?\b{YEARLY}\s+(?:calendar\s+|successive\s+)?year", after, I)
        is_due = re.search(rf"\b{BY}\s+(?:the\s+)?$", before, I)
        names_period = re.search(
            r"\b(?:ending|ended|ends|from|beginning|starting|between|and|to)\s+(?:on\s+)?$", before, I
        )
        if (names_period and not is_due) or not (is_due or is_yearly):
            continue
        days = [_day(one) for one in re.finditer(DAY_MONTH, match[0], I)]
        yield from _on(sorted({day for day in days if day is not None}), match[0])
    for match in NAMED_MONTHS.finditer(text):
        months = sorted({month_of(name) for name in re.findall(_NAMED, match["months"])})
        yield from _on([(month, _last_day(month)) for month in months], match[0])
    for match in YEARLY_MONTH.finditer(text):
        month = month_of(match["each"] or match["end"] or match["in"] or match["then"])
        yield from _on([(month, _last_day(month))], match[0])
    for match in SEASON.finditer(text):
        yield from _on([SEASONS[match["season"].lower()]], match[0])


def _on(days: list[tuple[int, int]], words: str) -> Iterator[Timing]:
    if len(days) == 1:
        yield Timing(OnDate(*days[0]), words)
    elif days:
        yield Timing(OnDates(tuple(days)), words)


def _day(match: re.Match[str]) -> tuple[int, int] | None:
    month, day = month_of(match["month"]), int(match["day"])
    return (month, day) if 1 <= day <= _last_day(month) else None


def _last_day(month: int) -> int:
    return calendar.month_end(date(2000, month, 1)).day


def fixed_dates(text: str) -> Iterator[Timing]:
    """Find dates that come once."""
    for match in FIXED_DATE.finditer(text):
        try:
            if match["numeric"]:
                day, month, year = (int(part) for part in re.split(r"[/.-]", match["numeric"]))
            else:
                day, month, year = int(match["day"]), month_of(match["month"]), int(match["year"])
            yield Timing(OnceOn(date(year, month, day)), match[0])
        except ValueError:
            continue
    for match in YEAR_END.finditer(text):
        yield Timing(OnceOn(date(int(match["year"]), 12, 31)), match[0])
    for match in MONTH_OF_YEAR.finditer(text):
        first = date(int(match["year"]), month_of(match["month"]), 1)
        # "By March" is over when March begins; "in March" and "by the end of March" when it ends.
        is_early = match["how"].lower() in ("by", "before")
        yield Timing(OnceOn(first if is_early else calendar.month_end(first)), match[0])


PERIODS = {
    "month": 1, "calendar month": 1, "monthly": 1, "quarter": 3, "quarterly": 3, "three month": 3,
    "half-year": 6, "half year": 6, "six month": 6, "year": 12, "calendar year": 12, "annual": 12,
}  # fmt: skip


def after_periods(text: str) -> Iterator[Timing]:
    """Find duties that are due so long after each month, quarter, half-year or year."""
    period = (
        r"(?P<period>(?:calendar\s+)?month|(?:calendar\s+|reporting\s+)?quarter(?:ly)?|half[- ]year|"
        r"six[- ]month|three[- ]month|(?:calendar\s+|reporting\s+|financial\s+)?year|"
        r"(?:reporting|monitoring|sampling|relevant)\s+period|monthly|annual)"
    )
    patterns = (
        rf"\b(?:within|no(?:t)?\s+later\s+than|before|in)\s+(?P<n>{NUMBER})\s+(?P<unit>{UNIT})\s+"
        rf"(?:of|after|from|following)\s+(?:the\s+)?(?:end|expiry|close|last\s+day|completion)\s+of\s+"
        rf"(?:(?:each|every|the|that|any|a)\s+)?(?:[\w']+\s+)?{period}",
        rf"\b(?:within|no(?:t)?\s+later\s+than)\s+(?P<n>{NUMBER})\s+(?P<unit>{UNIT})\s+(?:of|after|"
        rf"from|following)\s+"
        rf"(?:each|every|the)\s+{period}(?:\s+end|'s\s+end)?\b(?!\s+of)",
        rf"\b(?P<n>{NUMBER})\s+(?P<unit>{UNIT})\s+after\s+(?:the\s+)?{period}[- ]end",
        rf"\b(?:within|in|during)\s+the\s+first\s+(?P<n>{NUMBER})\s+(?P<unit>{UNIT})\s+of\s+(?:each|every)\s+{period}",
    )
    for pattern in patterns:
        for match in re.finditer(pattern, text, I):
            months = _period_months(match["period"], text)
            offset = Offset(number_of(match["n"]), unit_of(match["unit"]))
            yield Timing(AfterPeriod(months, offset), match[0])
    yield from _after_named_ends(text)
    yield from _in_the_month_after(text, period)
    for match in re.finditer(
        r"\bby\s+the\s+(?P<day>\d{1,2})(?:st|nd|rd|th)(?:\s+day)?\s+of\s+(?:each|every|"
        r"the\s+following|the\s+next)\s+month",
        text,
        I,
    ):
        yield Timing(AfterPeriod(1, Offset(int(match["day"]), "days")), match[0])


def _in_the_month_after(text: str, period: str) -> Iterator[Timing]:
    """Read "by the last day (or the 15th) of the month following the end of each quarter"."""
    for match in re.finditer(
        rf"\b(?:by|on|before|within|in|during|no(?:t)?\s+later\s+than)\s+(?:or\s+before\s+)?(?:the\s+end\s+of\s+)?"
        rf"(?:the\s+(?:last|(?P<day>\d{{1,2}})(?:st|nd|rd|th)?)(?:\s+(?:working\s+)?day)?\s+of\s+)?"
        rf"the\s+(?:calendar\s+)?month\s+(?:next\s+)?(?:following|after)\s+(?:the\s+)?(?:end\s+of\s+)?"
        rf"(?:(?:each|every|the|that)\s+)?(?:such\s+)?{period}",
        text,
        I,
    ):
        offset = Offset(int(match["day"]), "days") if match["day"] else Offset(1, "months")
        yield Timing(AfterPeriod(_period_months(match["period"], text), offset), match[0])


def _after_named_ends(text: str) -> Iterator[Timing]:
    """Read periods that are named by their last days, such as "within 28 days of 30 June and 31 December"."""
    end = rf"\d{{1,2}}(?:st|nd|rd|th)?\s+(?:{MONTHS})\b(?!,?\s+20\d\d)"
    for match in re.finditer(
        rf"\bwithin\s+(?P<n>{NUMBER})\s+(?P<unit>{UNIT})\s+(?:of|after|from|following)\s+(?:the\s+)?"
        rf"(?P<ends>{end}(?:(?:\s*,\s*|\s+and\s+|\s*,\s*and\s+){end})*)",
        text,
        I,
    ):
        count = len(re.findall(end, match["ends"], I))
        if count in (1, 2, 4, 12):
            offset = Offset(number_of(match["n"]), unit_of(match["unit"]))
            yield Timing(AfterPeriod(12 // count, offset), match[0])


def _period_months(period: str, text: str) -> int:
    plain = re.sub(r"(?:reporting|financial|calendar)\s+(?=year|quarter|month)", "", period.lower()).replace(
        "-", " "
    )
    for name, months in PERIODS.items():
        if plain == name.replace("-", " "):
            return months
    interval = next(intervals(text), None)
    if interval and isinstance(interval.rule, Every):
        count, unit = interval.rule.interval.count, interval.rule.interval.unit
        months = count * 12 if unit == "years" else count if unit == "months" else 1
        return months if months in (1, 3, 6, 12) else 12
    return 12


def month_of(name: str) -> int:
    """Read a month's name or its short form."""
    names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    return 1 + names.index(name[:3].lower())
