"""Words that say how often: every so many months, twice a year, each fifth year, after so many hours."""

from __future__ import annotations

import re
from collections.abc import Iterator

from backstay_oblicore.domain.due_rules import Every, EveryHours, Offset, Unit
from backstay_oblicore.domain.permits.vocabulary import (
    NUMBER,
    QUANTITY_BEFORE,
    UNIT,
    Timing,
    number_of,
    unit_of,
)

I = re.IGNORECASE  # noqa: E741 - as everywhere in patterns
EVERY_NUMBER = re.compile(
    rf"\b(?:every|once\s+in\s+(?:every|any|each)|once\s+(?:every|in|per)|in\s+every|"
    rf"(?:at\s+)?(?:regular\s+)?intervals\s+(?:not\s+exceeding|of\s+(?:not|no)\s+(?:more|"
    rf"greater)\s+than|of(?:\s+at\s+most)?|no\s+(?:longer|greater)\s+than)|"
    rf"once\s+in\s+a)\s+(?:(?:subsequent|successive|consecutive|further|period\s+of)\s+)?"
    rf"(?P<n>{NUMBER})[\s-]+(?P<unit>{UNIT})",
    I,
)
NUMBER_LY = re.compile(rf"\b(?P<n>{NUMBER})[- ](?P<unit>year|month|week)(?:ly|(?:ly)?\s+intervals?)\b", I)
ORDINALS = {
    "other": 2, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "tenth": 10,
}  # fmt: skip
EVERY_ORDINAL = re.compile(
    rf"\b(?:every|each)\s+(?P<n>{'|'.join(ORDINALS)})\s+(?P<unit>(?:working\s+)?day|week|month|year)\b", I
)
TIMES_A = re.compile(
    rf"\b(?:(?P<twice>twice)|(?P<n>{NUMBER})\s+(?:\w+\s+)?(?:times|occasions|samples|visits|inspections)"
    rf"(?:\s+(?:shall|must|are\s+to|have\s+to)\s+be\s+\w+)?)\s+"
    rf"(?:(?:in\s+|during\s+)?(?:a|per|each|every|any|one)\s+)?(?:calendar\s+|working\s+|operational\s+)?"
    rf"(?P<unit>day|week|month|quarter|year|daily|weekly|monthly|quarterly|yearly|annually)\b",
    I,
)
WORDS: tuple[tuple[str, Offset], ...] = (
    (r"\b(?:half[- ]yearly|(?:each|every|once\s+a|once\s+per|per)\s+half[- ]year|six[- ]monthly|"
     r"bi-?annual(?:ly)?|semi-?annual(?:ly)?)\b", Offset(6, "months")),
    (r"\bbiennial(?:ly)?\b", Offset(2, "years")),
    (r"\b(?:annual(?:ly)?|yearly|once\s+(?:a|per|each|in\s+each|in\s+every|"
     r"every)\s+(?:calendar\s+)?year|(?:each|every)\s+(?:(?:calendar|licence|permit|financial|operating|reporting)\s+)?year|per\s+annum|"
     r"once\s+per\s+annum)\b", Offset(1, "years")),
    (r"\b(?:quarterly|(?:each|every|per|a)\s+(?:calendar\s+)?quarter|once\s+(?:a|per|"
     r"each)\s+quarter)\b", Offset(3, "months")),
    (r"\b(?:monthly|(?:each|every|once\s+a|once\s+per|per)\s+(?:calendar\s+)?month)\b", Offset(1, "months")),
    (r"\b(?:fortnightly|(?:every|each|once\s+a)\s+fortnight)\b", Offset(2, "weeks")),
    (r"\b(?:each|every)\s+(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b", Offset(1, "weeks")),
    (r"\b(?:weekly|(?:each|every|once\s+a|once\s+per|per)\s+(?:calendar\s+|working\s+)?week)\b", Offset(1, "weeks")),
    (r"\b(?:daily|(?:each|every|once\s+a|once\s+per|per)\s+(?:working\s+|operational\s+|"
     r"operating\s+)?(?:day|shift|morning|evening|afternoon|night))\b", Offset(1, "days")),
)  # fmt: skip
CAP_BEFORE = re.compile(
    r"(?:\bno(?:t)?\b[^.;]{0,60}?\b(?:more|greater)\s+(?:often\s+|frequently\s+)?than|\bexceed(?:s|ing)?|"
    r"\bup\s+to(?:\s+a\s+maximum\s+of)?|\bmaximum\s+of|\blimited\s+to)\s*$",
    I,
)


def intervals(text: str) -> Iterator[Timing]:
    """Find every interval, the shortest first: where several stand, no deadline is missed by it."""
    found = [*_counted(text), *_times(text)]
    for pattern, interval in WORDS:
        found += [
            (match, interval) for match in re.finditer(pattern, text, I) if not _is_quantity(text, match)
        ]
    # The yearly of "five-yearly" is no interval of its own.
    found = [one for one in found if not any(_is_inside(one[0], other) for other, _ in found)]
    found = [one for one in found if not CAP_BEFORE.search(text[: one[0].start()])]
    for match, interval in sorted(found, key=lambda one: (_length(one[1]), one[0].start())):
        yield Timing(Every(interval), match[0])


def _is_inside(match: re.Match[str], other: re.Match[str]) -> bool:
    return other.start() < match.start() and match.end() <= other.end()


def _counted(text: str) -> Iterator[tuple[re.Match[str], Offset]]:
    for match in EVERY_NUMBER.finditer(text):
        yield match, Offset(number_of(match["n"]), unit_of(match["unit"]))
    for match in NUMBER_LY.finditer(text):
        units: dict[str, Unit] = {"year": "years", "month": "months", "week": "weeks"}
        yield match, Offset(number_of(match["n"]), units[match["unit"].lower()])
    for match in EVERY_ORDINAL.finditer(text):
        yield match, Offset(ORDINALS[match["n"].lower()], unit_of(match["unit"]))


def _times(text: str) -> Iterator[tuple[re.Match[str], Offset]]:
    for match in TIMES_A.finditer(text):
        times = 2 if match["twice"] else number_of(match["n"])
        if times > 0:
            yield match, _spread(times, match["unit"].lower())


def _spread(times: int, unit: str) -> Offset:
    """Spread so many times evenly over a stretch; what does not divide it is done a little more often."""
    if unit.startswith(("day", "dai")):
        return Offset(1, "days")
    if unit.startswith("week"):
        return Offset(1, "weeks") if times == 1 else Offset(max(1, 7 // times), "days")
    months = {"m": 1, "q": 3}.get(unit[0], 12)
    if times <= months:
        return Offset(months // times, "months")
    weeks = {1: 4, 3: 13, 12: 52}[months]
    return Offset(max(1, weeks // times), "weeks") if times <= weeks else Offset(1, "days")


def _length(interval: Offset) -> int:
    days = {"days": 1, "working_days": 1, "weeks": 7, "months": 30, "years": 365}
    return interval.count * days[interval.unit]


def _is_quantity(text: str, match: re.Match[str]) -> bool:
    """Tell "500 tonnes per year" and "annual mean" from a frequency."""
    before = text[max(0, match.start() - 40) : match.start()]
    after = text[match.end() : match.end() + 40]
    word = match[0].lower()
    if re.match(r"(?:per|each|every|a)\b", word) and re.search(QUANTITY_BEFORE, before, I):
        return True
    if re.match(r"\s+(?:in\s+which|that|when|where)\b", after, I):
        return True
    return bool(
        re.match(
            r"[\s,-]+(?:(?!and\b|or\b)\w+\s+)?(?:mean|average|limit|maximum|minimum|total|volume|throughput|"
            r"quantit|tonnage|"
            r"value|rate|flow|load|discharge|capacity|production|emission|run-?hours?|"
            r"operating\s+hours|allowance|cap)",
            after,
            I,
        )
        and re.match(r"(?:annual|monthly|daily|weekly|quarterly|yearly)\b", word)
    )


def running_hours(text: str) -> Iterator[Timing]:
    """Find duties that come round with a machine's hours."""
    pattern = (
        rf"\b(?:every|each|once\s+(?:in\s+)?every|per|after)\s+(?P<hours>\d[\d,]*)\s+"
        rf"(?:\w+\s+)?hours?(?:\s+of\s+(?:operation|running|use))?"
        rf"(?P<or>[\s,]*or[\s,]+(?:once\s+)?(?:every\s+)?(?:\w+\s+){{0,2}}?(?P<n>{NUMBER})\s+(?P<unit>years?|months?))?"
    )
    for match in re.finditer(pattern, text, I):
        hours = int(match["hours"].replace(",", ""))
        if hours < 100:
            continue
        months = None
        if match["or"]:
            months = number_of(match["n"]) * (12 if match["unit"].lower().startswith("y") else 1)
        yield Timing(EveryHours(hours, months), match[0])
