"""Finding in a condition's words when it is due."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date

from backstay_oblicore.domain.due_rules import (
    Always,
    DueRule,
    Every,
    Offset,
    OnceOn,
    OnDate,
    OnEvent,
    RelativeTo,
)
from backstay_oblicore.domain.permits.calendar_words import (
    DAY_MONTH,
    after_periods,
    fixed_dates,
    yearly_dates,
)
from backstay_oblicore.domain.permits.interval_words import intervals, running_hours
from backstay_oblicore.domain.permits.vocabulary import (
    EVENT_OPENING,
    MILESTONE,
    NUMBER,
    REPORTING_VERB,
    UNIT,
    WITHOUT_DELAY,
    Timing,
    number_of,
    unit_of,
)

I = re.IGNORECASE  # noqa: E741 - as everywhere in patterns
ONCE_IN_EACH = (
    r"\b(?:once|twice)\s+(?:in|per|during|for)\s+(?:each|every)\s+(?!period\b)(?P<what>[a-z][\w -]{2,40})"
)
GOES_ON = (
    r"\b(?:thereafter|subsequent(?:ly)?|afterwards|and\s+then|the\s+first|first\s+such|starting|beginning|"
    r"commencing|after\s+that|from\s+(?:that\s+da(?:te|y)|then))\b"
)

BUILDING = (
    r"\bcompletion\b(?!\s+of)|"
    r"\bcompletion\s+of\s+(?:the\s+)?(?:\w+\s+)?(?:construct|commission|work|install|build|upgrade)"
)

INTENDS = (
    r"(?:it|you|(?:the\s+)?\w+)\s+(?:intends?|proposes?|plans?|expects?)\s+to\s+"
    r"(?:cease|close|stop|surrender|shut)\w*"
)
# Something of the site's own that begins once, such as "the boiler first burns wood" or "dosing starts".
BEGINS = r"(?:\w+\s+){1,5}?(?:first\s+\w+|starts?|begins?|commences?)\b(?:\s+(?!and\b|or\b)\w+){0,2}"
DONE_REGULARLY = r"\bbe\s+(?:\w+ly\s+)?[\w-]+\s+(?:daily|weekly|fortnightly|monthly|quarterly)\b"
DONE_AT_ONCE = (
    r"\b(?:shall|must|(?:is|are)\s+to)\s+(?:be\s+\w+(?:\s+(?:with|up|out))?\s+)?(?:immediately|at\s+once|forthwith|"
    r"without\s+(?:undue\s+)?delay|straight\s*away)\b(?!\s+(?:adjacent|next|above|below|up|down|outside|beside))"
)
IN_ITS_TIME = r"\bwithin\s+the\s+(?:time\s+)?(?:period|time)s?\s+(?:specified|stated|given|set\s+out)\b"


def read_timing(text: str) -> Timing:
    """Return the most telling rule of a condition; a duty without words of time holds at all times."""
    text = re.sub(r"\bthe\s+first\s+day\s+of\s+(?=[A-Z])", "1 ", text)
    for finder in FINDERS:
        found = next(finder(text), None)
        if found is not None:
            return found
    return Timing(Always(), "")


# What is done again and again, so that "since the last one" names a completion.
DONE_AGAIN = (
    r"(?:test|inspection|survey|check|sampl\w+|calibration|servic\w+|review|audit|measurement|examination|"
    r"assessment|emptying|cleaning|occasion|time)"
)
LAST_TIME = (
    r"\b(?:after|since|of|from|following)\s+(?:the|its)\s+(?:last|previous|preceding|most\s+recent)\s+"
    rf"(?:\w+\s+)?{DONE_AGAIN}"
)


def _since_last(text: str) -> Iterator[Timing]:
    """Find what is counted from the last time: "within twelve months of the previous inspection"."""
    last = re.search(LAST_TIME, text, I)
    if last is None:
        return
    for match in re.finditer(
        rf"\b(?:within|no(?:t)?\s+later\s+than|not\s+more\s+than|at\s+least)\s+(?P<n>{NUMBER})\s+(?P<unit>{UNIT})\s+"
        rf"(?={LAST_TIME[2:]})",
        text,
        I,
    ):
        interval = Offset(number_of(match["n"]), unit_of(match["unit"]))
        yield Timing(Every(interval, rolling=True), f"{match[0]}{last[0]}")
    for found in intervals(text):
        if isinstance(found.rule, Every):
            yield Timing(replace(found.rule, rolling=True), f"{found.words} {last[0]}")


def _series(text: str) -> Iterator[Timing]:
    """Find what comes round from a first date of its own: "by 30 November 2026 and every year thereafter"."""
    again = next(intervals(text), None)
    if again is None or not isinstance(again.rule, Every):
        return
    fixed = next(fixed_dates(text), None)
    between = text.partition(fixed.words)[2].partition(again.words)[0] if fixed else ""
    if not re.search(GOES_ON, text, I) and not (again.words in text and re.search(r"\band\b", between, I)):
        return
    year = re.search(r"\b(?:in|from|with)\s+(?P<year>20\d\d)\b", text, I)
    once = [*fixed_dates(text), *_relative(text)]
    if year:
        once.append(Timing(OnceOn(date(int(year["year"]), 12, 31)), year[0]))
    for first in once:
        if isinstance(first.rule, OnceOn | RelativeTo) and not getattr(first.rule, "before", False):
            yield Timing(replace(again.rule, first=first.rule), f"{first.words} … {again.words}")
            return


def _regular_act(text: str) -> Iterator[Timing]:
    """Prefer "shall be run monthly" to a single yearly date that stands beside it: no month may be missed."""
    beside = next(yearly_dates(text), None)
    if beside and isinstance(beside.rule, OnDate) and re.search(DONE_REGULARLY, text, I):
        yield from intervals(text)


def _relative(text: str) -> Iterator[Timing]:
    for match in re.finditer(
        rf"\b(?:within|inside|no(?:t)?\s+later\s+than|not\s+more\s+than|before\s+the\s+(?:end|"
        rf"expiry)\s+of)\s+(?:a\s+(?:period\s+of\s+)?)?"
        rf"(?P<n>{NUMBER})\s+(?P<unit>{UNIT}|hours?)\s+(?:period\s+)?"
        rf"(?:of|after|from|following|beginning\s+with|starting\s+from)\s+(?P<rest>[^.;]{{2,120}})",
        text,
        I,
    ):
        yield Timing(_anchored(match["n"], match["unit"], match["rest"], before=False), match[0])
    for match in re.finditer(
        rf"\b(?:at\s+least|no(?:t)?\s+less\s+than|not\s+later\s+than|no\s+later\s+than|a\s+minimum\s+of)?\s*"
        rf"(?P<n>{NUMBER})\s+(?P<unit>{UNIT})(?:'s?)?(?:\s+(?:written\s+)?notice)?\s+(?:before|"
        rf"prior\s+to|in\s+advance\s+of|ahead\s+of)\s+"
        rf"(?P<rest>[^.;]{{2,120}})",
        text,
        I,
    ):
        is_duration = re.search(r"\b(?:longer|more)\s+than\b[^.;]{0,60}$", text[: match.start("n")], I)
        if not is_duration:
            yield Timing(_anchored(match["n"], match["unit"], match["rest"], before=True), match[0])
    for match in re.finditer(
        rf"\b(?P<n>{NUMBER})\s+(?P<unit>{UNIT})'?s?\s+(?:(?:prior|advance|written)\s+)*(?:notice|warning)\s+"
        rf"(?:in\s+writing\s+)?(?:of|before|prior\s+to)\s+(?P<rest>[^.;]{{2,120}})",
        text,
        I,
    ):
        yield Timing(
            OnEvent(_event_words(match["rest"]), _offset(match["n"], match["unit"]), before=True), match[0]
        )
    for match in re.finditer(
        rf"(?:^|[.;]\s+)(?P<n>{NUMBER})\s+(?P<unit>{UNIT})\s+after\s+(?P<rest>[^.;,]{{2,120}})", text, I
    ):
        yield Timing(_anchored(match["n"], match["unit"], match["rest"], before=False), match[0])
    yield from _first_stretch(text)
    yield from _bare_notice(text)
    for match in re.finditer(
        rf"\b(?:prior\s+to|before)\s+(?:the\s+)?(?P<rest>(?:{MILESTONE}|first\s+\w+)[^.;,]{{0,40}})", text, I
    ):
        yield Timing(RelativeTo(_anchor_name(match["rest"]), Offset(0, "days"), before=True), match[0])


def _first_stretch(text: str) -> Iterator[Timing]:
    """Read "before the end of the first year of operation"."""
    for match in re.finditer(
        rf"\b(?:by|before|within)\s+(?:the\s+end\s+of\s+)?(?:the|its)\s+first\s+(?P<n>{NUMBER}\s+)?"
        rf"(?P<unit>{UNIT})\s+of\s+(?:operations?|running|working|use)\b",
        text,
        I,
    ):
        offset = Offset(number_of(match["n"] or "one"), unit_of(match["unit"]))
        yield Timing(RelativeTo("start of operations", offset), match[0])


def _bare_notice(text: str) -> Iterator[Timing]:
    """Read notice of something that the sentence names elsewhere: "one month's notice", "14 days beforehand"."""
    stretch = rf"(?P<n>{NUMBER})\s+(?P<unit>{UNIT})"
    for pattern in (
        rf"\b{stretch}'?s?\s+(?:(?:prior|advance|written)\s+)*(?:notice|warning)\b",
        rf"\bnotice\s+of\s+(?:at\s+least\s+|no(?:t)?\s+less\s+than\s+)?{stretch}",
        rf"\b{stretch}\s+(?:beforehand|in\s+advance|earlier)\b",
        r"(?P<n>\b)(?P<unit>)prior\s+(?:written\s+)?(?:notice|notification)\s+of\b",
    ):
        for match in re.finditer(pattern, text, I):
            opening = re.search(EVENT_OPENING, text, I)
            words = text[opening.start() :] if opening else text
            offset = _offset(match["n"], match["unit"]) if match["n"] else Offset(0, "days")
            event = _event_words(words if match["n"] else text[match.end() :])
            yield Timing(OnEvent(event, offset, before=True), match[0])


def _from_date(text: str) -> Iterator[Timing]:
    """Read a standing duty that begins on a day: it has to be met by then."""
    day = rf"(?:on\s+and\s+)?(?:as\s+)?from\s+{DAY_MONTH},?\s+(?P<year>20\d\d)"
    for pattern in (rf"(?:^|[.;]\s+|\bwith\s+effect\s+){day}", rf"\b{day}(?=\s*\.?$)"):
        for match in re.finditer(pattern, text, I):
            words = f"by {match['day']} {match['month']} {match['year']}"
            yield from (Timing(found.rule, match[0].strip()) for found in fixed_dates(words))


def _anchored(number: str, unit: str, rest: str, *, before: bool) -> DueRule:
    milestone = re.match(
        rf"(?:the\s+)?(?:date\s+(?:of\s+|on\s+which\s+))?(?:the\s+|its\s+|this\s+)?(?:{MILESTONE}|{INTENDS}|{BEGINS})",
        rest,
        I,
    )
    offset = _offset(number, unit)
    # "the cessation of use of any generator" may happen again and again: an event, no milestone of the permit.
    happens_again = milestone and (
        re.match(r"[^,.;]{0,60}\bof\s+(?:any|each|every|a)\b", rest[milestone.end() :], I)
        or (milestone[0].lower().endswith("completion") and not re.search(BUILDING, rest, I))
    )
    if milestone and offset is not None and not happens_again:
        return RelativeTo(_anchor_name(milestone[0]), offset, before=before)
    return OnEvent(_event_words(rest), offset, before=before)


def _offset(number: str, unit: str) -> Offset | None:
    if not unit.lower().startswith("hour"):
        return Offset(number_of(number), unit_of(unit))
    hours = number_of(number)
    # Calendars have no hours: a day or more is kept in days, less is at once.
    return Offset(hours // 24, "days") if hours >= 24 else None


def _event(text: str) -> Iterator[Timing]:
    opening = re.search(EVENT_OPENING, text, I)
    delay = re.search(WITHOUT_DELAY, text, I)
    reporting = re.search(REPORTING_VERB, text, I)
    each = re.search(ONCE_IN_EACH, text, I)
    if opening and _is_side_remark(text, opening):
        opening = reporting = None
    if each:
        yield Timing(OnEvent(_event_words(f"each {each['what']}")), each[0])
    elif delay and (opening or reporting):
        yield Timing(OnEvent(_event_words(text[opening.start() :] if opening else text)), delay[0])
    elif at_once := re.search(DONE_AT_ONCE, text, I):
        yield Timing(OnEvent(_event_words(text)), at_once[0])
    elif set_time := re.search(IN_ITS_TIME, text, I):
        yield Timing(OnEvent(_event_words(text[opening.start() :] if opening else text)), set_time[0])
    elif opening and reporting:
        yield Timing(OnEvent(_event_words(text[opening.start() :])), opening[0])


def _is_side_remark(text: str, opening: re.Match[str]) -> bool:
    """Tell a standing duty that adds "and shall produce them on request" from one that begins with a request."""
    is_request = re.match(r"\W*(?:on|when|if|where)\s+(?:so\s+)?(?:request|asked)", opening[0], I)
    return bool(is_request and re.search(r"\b(?:shall|must)\b.*\band\b", text[: opening.start()], I))


def _event_within(text: str) -> Iterator[Timing]:
    for match in re.finditer(rf"\bwithin\s+(?P<n>{NUMBER})\s+(?P<unit>{UNIT}|hours?)\b", text, I):
        opening = re.search(EVENT_OPENING, text, I)
        words = text[opening.start() :] if opening else text
        yield Timing(OnEvent(_event_words(words), _offset(match["n"], match["unit"])), match[0])


def _anchor_name(words: str) -> str:
    plain = " ".join(words.lower().split())
    begins = re.fullmatch(BEGINS, plain)
    if begins and not re.match(
        r"(?:the\s+)?(?:operations?|plant|site|installation|activit\w+|work|you|it)\b", plain
    ):
        return plain[:60]
    for pattern, name in (
        (r"commission", "commissioning"),
        (r"variation", "issue of the variation"),
        (r"permit|issue|grant|consent|licen[cs]e|effective|this notice", "issue of the permit"),
        (r"commenc|start|begin|first\s+oper|bringing\s+into|operations?", "start of operations"),
        (r"construct", "completion of construction"),
        (r"decommission|closure|cessation|ceas|to\s+(?:close|stop|shut)", "closure"),
        (r"surrender", "surrender"),
    ):
        if re.search(pattern, plain):
            return name
    return plain[:60]


def _event_words(words: str) -> str:
    plain = re.sub(
        r"^(?:in\s+the\s+event\s+(?:of|that)|if|where|when|upon|on|following|should|after)\s+",
        "",
        words.strip(),
        flags=I,
    )
    plain = re.split(r"[,;:]", plain)[0].strip()
    return " ".join(plain.split()[:14]) or "the event that the condition names"


FINDERS: tuple[Callable[[str], Iterator[Timing]], ...] = (
    running_hours,
    _since_last,
    after_periods,
    _series,
    _regular_act,
    yearly_dates,
    fixed_dates,
    intervals,
    _relative,
    _event_within,
    _from_date,
    _event,
)
