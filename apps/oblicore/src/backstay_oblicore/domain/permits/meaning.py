"""What a sentence is about: its category, its type, and whether it only explains."""

from __future__ import annotations

import re

from backstay_oblicore.domain.permits.sentences import MODAL, has_limit, has_modal
from backstay_oblicore.domain.words import Category, ConditionType

I = re.IGNORECASE  # noqa: E741 - as everywhere in patterns
_PAPER = (
    r"(?:this|the)\s+(?:permit|consent|variation|notice|licence|agreement|registration|document|"
    r"schedule|certificate)"
)
_REGULATOR = (
    r"(?:the\s+)?(?:environment\s+agency|agency|natural\s+resources\s+(?:body\s+for\s+)?wales|nrw|"
    r"sepa|niea|regulator|council|(?:local\s+)?authority|secretary\s+of\s+state|"
    r"sewerage\s+undertaker|undertaker|water\s+company)"
)
_SPEAKERS_ACT = (
    r"(?:tell|write|ask|let|contact|send|inform|notify|change|publish|review|consider|aim|try|visit)"
)
_REGULATORS_OWN_ACT = (
    r"(?:determine|consider|respond|review|issue|confirm|decide|acknowledge|assess|aim|publish|"
    r"charge|serve|advise|act|reply|answer|keep\s+under\s+review|"
    r"endeavour|have\s+regard)"
)
DEFINITIONS: dict[str, re.Pattern[str]] = {
    "meaning": re.compile(
        r"^\W*(?:the\s+(?:term|expression|word|phrase)s?\s+)?[\"'“]?[\w\s,/()\"'-]{1,100}?[\"'”]?\s+"
        r"(?:shall\s+(?:mean|have\s+the\s+(?:same\s+)?meanings?)|means|has\s+the\s+meaning|"
        r"(?:shall|must|is\s+to)\s+be\s+(?:taken|understood|deemed|read)\s+(?:to\s+mean|as\s+meaning)|"
        r"is\s+to\s+be\s+(?:read|understood)\s+as)\b",
        I,
    ),
    "interpretation": re.compile(
        r"\b(?:references?|words?|expressions?|terms?|headings?|footnotes?)\b[^.]{0,120}?\b(?:shall|"
        r"must|(?:is|are)\s+to)\s+"
        r"(?:not\s+)?(?:be\s+)?(?:construed|interpreted|read|taken|treated|understood|"
        r"have\s+(?:the\s+same\s+)?effect|include)\b|"
        r"\bdefinitions?\b[^.]{0,60}\b(?:shall|will)\s+apply\b",
        I,
    ),
    "effect": re.compile(
        rf"^\W*{_PAPER}\s+(?:shall|will|must)\s+(?:come\s+into\s+(?:force|effect|operation)|"
        rf"take\s+effect|have\s+effect|"
        r"remain\s+in\s+force|be\s+(?:effective|governed|read)|commence|expire|continue\s+in\s+force|"
        r"apply\s+(?:from|to\s+the))",
        I,
    ),
    "saving": re.compile(
        rf"^\W*{_REGULATOR}\s+reserves?\s+the\s+right\b|"
        rf"^\W*nothing\s+in\s+{_PAPER}\s+(?:shall|will|must|is\s+to)\b|"
        r"\b(?:shall|will)\s+not\s+be\s+(?:taken|deemed|considered|regarded)\s+(?:to\s+have|as\s+having)\s+"
        r"(?:breached|failed|contravened)\b",
        I,
    ),
    "appeal": re.compile(
        r"^\W*(?:an\s+|any\s+|notice\s+of\s+)?appeals?\b[^.;]{0,80}\b(?:shall|must|should)\s+be\s+"
        r"(?:lodged|made|received|submitted|brought|sent|given)\b",
        I,
    ),
    "regulator": re.compile(
        rf"^\W*{_REGULATOR}\s+(?:shall|will|must)\s+(?:\w+ly\s+)?{_REGULATORS_OWN_ACT}\b|"
        # Where rules say "you" to the operator, "we" is the regulator.
        rf"^\W*we\s+(?:shall|will|must|may|can)\s+(?:\w+ly\s+)?{_SPEAKERS_ACT}\b",
        I,
    ),
}
_DEFINING_VERB = re.compile(
    r"\b(?:shall\s+(?:mean|have\s+the)|(?:shall|must)\s+be\s+(?:taken|deemed)|(?:is|are)\s+to\s+be\s+(?:read|understood|"
    r"construed|interpreted|taken)|"
    r"(?:shall|must)\s+(?:not\s+)?(?:be\s+)?(?:construed|interpreted|read|taken|treated|understood|"
    r"include|have\s+(?:the\s+same\s+)?effect))",
    I,
)
# What such a sentence says of the permit may hold words of duty ("until it must be returned"); a clause that
# stands beside it with a word of duty of its own binds somebody.
DUTY_OF_ITS_OWN = re.compile(
    rf"(?:[;:,]|\b(?:and|but|or|so|provided|except|however)\b)[^.;]*?(?:{MODAL.pattern})", I
)

_CATEGORY_VERBS: tuple[tuple[Category, str], ...] = (
    (Category.RECORD_KEEPING, r"record(?:s|ed|ing)?|log(?:s|ged|book)?|retain(?:ed)?|keep|kept|"
     r"register|documented"),
    (Category.REPORTING, r"notif\w+|inform(?:ed)?|report(?:s|ed)?|submit(?:ted)?|return(?:s)?|supply|"
     r"supplied|sent|send|provide[d]?|telephone"),
    (Category.MONITORING, r"monitor\w*|sampl\w+|measure[ds]?|test(?:ed|s|ing)?|survey(?:s|ed)?|"
     r"analys\w+|assess(?:ed|ment)?"),
    (Category.MAINTENANCE, r"maintain(?:ed)?|maintenance|inspect(?:ed|ion)?|servic(?:e|ed|ing)|"
     r"calibrat\w+|repair(?:ed)?|clean(?:ed)?"),
)  # fmt: skip


def definition_rule(sentence: str) -> str | None:
    """Name the rule by which a sentence binds nobody; none if another word of duty is left in it."""
    if MODAL.search(sentence) and not has_modal(sentence) and not has_limit(sentence):
        return "meaning"  # the word of duty stands between quotes
    for name, pattern in DEFINITIONS.items():
        match = pattern.search(sentence)
        if match is None:
            continue
        rest = sentence[: match.start()] + " " + sentence[match.end() :]
        rest = _DEFINING_VERB.sub(" ", rest)
        duty_left = DUTY_OF_ITS_OWN if name in ("saving", "effect") else MODAL
        if not duty_left.search(rest):
            return None if has_limit(rest) else name
    return None


def category_of(text: str) -> Category:
    """Choose the category by the first telling verb after the word of duty."""
    match = MODAL.search(text)
    scope = text[match.end() :] if match else text
    best: tuple[int, Category] | None = None
    for category, verbs in _CATEGORY_VERBS:
        found = re.search(rf"\b(?:{verbs})\b", scope, I) or re.search(rf"\b(?:{verbs})\b", text, I)
        if found and (best is None or found.start() < best[0]):
            best = (found.start(), category)
    return best[1] if best else Category.OPERATIONAL


def condition_type_of(text: str, *, reference: str | None, heading: str) -> ConditionType:
    """Tell limits, improvements, pre-operational measures and notifications from standing conditions."""
    code = (reference or "").upper()
    if re.match(r"I[CP]-?\d", code) or re.search(r"improvement", heading, I):
        return ConditionType.IMPROVEMENT
    if re.match(r"P[OC]-?\d", code) or re.search(r"pre-?operational", heading, I):
        return ConditionType.PRE_OPERATIONAL
    if has_limit(text) or re.search(r"\blimits?\b[^.]{0,80}\bshall\s+not\b", text, I):
        return ConditionType.LIMIT
    if re.search(r"\b(?:notif\w+|inform(?:ed)?)\b", text, I):
        return ConditionType.NOTIFICATION
    return ConditionType.STANDARD


def summary_of(text: str, *, most: int = 160) -> str:
    """Shorten a condition to a line that people recognise."""
    if len(text) <= most:
        return text
    cut = text[:most].rsplit(" ", 1)[0].rstrip(",;:")
    return f"{cut} …"
