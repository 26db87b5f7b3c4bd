"""The words of time that permits use."""

from __future__ import annotations

import re
from dataclasses import dataclass

from backstay_oblicore.domain.due_rules import DueRule, Unit

MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December|"
    "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec"
)
NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fourteen": 14, "fifteen": 15, "eighteen": 18, "twenty": 20,
    "twenty-one": 21, "twenty-four": 24, "twenty-eight": 28, "thirty": 30, "forty-eight": 48, "sixty": 60,
    "seventy-two": 72, "ninety": 90,
}  # fmt: skip
_NUMBER_WORDS = "|".join(
    sorted((re.escape(word).replace(r"\-", "[- ]") for word in NUMBERS), key=len, reverse=True)
)
NUMBER = rf"(?:(?:\d{{1,4}}|{_NUMBER_WORDS})\b(?:\s+\(\d{{1,3}}\))?)"
UNIT = r"(?:calendar\s+|consecutive\s+)?(?:working|business)?\s*(?:days?|weeks?|months?|years?)(?:'|\b)"
_MILESTONE_NOUN = (
    r"(?:issue|issuing|grant|granting|commissioning|commencement|start(?:ing)?|completion|permit|variation|"
    r"this\s+permit|this\s+consent|this\s+variation|this\s+notice|first\s+operation|"
    r"operations?\s+commenc|construction|"
    r"effective\s+date|coming\s+into\s+(?:force|effect)|bringing\s+into\s+(?:use|operation|service)|"
    r"closure|surrender|"
    r"decommissioning|cessation|determination)"
)
MILESTONE = rf"(?:(?:full|final|initial|hot|cold|successful|permanent|definitive)\s+)?{_MILESTONE_NOUN}"
QUANTITY_BEFORE = (
    r"(?:tonnes?|kg|kilograms?|m3|m³|litres?|cubic\s+met(?:re|er)s?|hours?|mg|(?<![A-Za-z0-9])\d[\d,.]*|%|per\s+cent|times|samples?|"
    r"vehicles?|loads?|MWh|kWh|gallons?|runs?|minutes?)\s*\)?\s*(?:of\s+\w+\s+)?(?:in\s+)?$"
)
EVENT_OPENING = (
    r"(?:\bin\s+the\s+event\b|(?:^|[.,;:]\s*|\band\s+)(?:if|where|when|whenever|upon|following|should)\b|"
    r"\bin\s+case\s+of\b|\bas\s+a\s+result\s+of\b|\bwhere\s+(?:any|a|the|there)\b|\bif\s+(?:any|a|"
    r"the|there|so)\b|"
    r"\bon\s+(?:becoming\s+aware|request|receipt|detection|discovery)\b|"
    # What a thing is kept for is no event: "absorbent to contain any spillage".
    r"(?<!contain\s)(?<!prevent\s)(?<!avoid\s)(?<!collect\s)\bany\s+(?:breach|incident|"
    r"spill|accident|failure|"
    r"malfunction|breakdown|exceedance|complaint|change)|\bin\s+response\s+to\b|"
    r"\bwhen\s+(?:requested|notified|required)\b|"
    r"\b(?:when|if|where|whenever)\s+(?:so\s+)?(?:requested|asked|notified|required|directed|instructed)\b|\bon\s+any\s+occasion\b)"
)
WITHOUT_DELAY = (
    r"\b(?:immediately|without\s+(?:undue\s+)?delay|forthwith|as\s+soon\s+as\s+(?:is\s+)?(?:reasonably\s+)?"
    r"(?:practicable|possible)|as\s+soon\s+as\s+(?:\w+\s+){1,4}(?:knows?|learns?|becomes?|is|are|has|have)|promptly|at\s+once|straight\s*away)\b"
)
REPORTING_VERB = (
    r"\b(?:notif(?:y|ied|ication)|inform(?:ed)?|sen[dt]|report(?:ed)?\s+to|submit(?:ted)?|investigate[d]?|"
    r"cease[d]?|stop(?:ped)?|"
    r"suspend(?:ed)?|advise[d]?|telephone[d]?|tell|told|hear|let|supply|supplied|provide[d]?|review(?:ed)?|"
    r"made\s+available|"
    r"produce[d]?)\b"
)


@dataclass(frozen=True)
class Timing:
    """A rule that was found, and the words it was found in."""

    rule: DueRule
    words: str


def number_of(words: str) -> int:
    """Read a number in digits or in words."""
    plain = re.sub(r"\s*\(\d+\)", "", words).strip().lower().replace(" ", "-")
    return int(plain) if plain.isdigit() else NUMBERS[plain]


def unit_of(words: str) -> Unit:
    """Read a unit of time; fortnights are not taken here, the caller counts them as weeks."""
    plain = words.lower()
    if "working" in plain or "business" in plain:
        return "working_days"
    for stem, unit in (("day", "days"), ("week", "weeks"), ("month", "months"), ("year", "years")):
        if stem in plain:
            return unit  # type: ignore[return-value]  # the four stems name four units
    return "weeks"
