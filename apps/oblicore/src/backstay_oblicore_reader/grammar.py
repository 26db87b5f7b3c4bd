"""Finding in a clause who must do what, how often, and how sure that is."""

from __future__ import annotations

import re
from typing import Any

I = re.IGNORECASE  # noqa: E741 - as everywhere in patterns
SECTION = re.compile(r"^\[\[(\d+)\]\]\s*(?:<([^>]*)>)?\s*(?:page (\d+))?\s*$", re.MULTILINE)
ACTOR = re.compile(
    r"\b(?:operator|permit\s+holder|holder|licensee|discharger|trader|occupier|company|"
    r"consent\s+holder|manager|staff|"
    r"personnel|contractors?|you)\b",
    I,
)
REGULATOR_ACTS = re.compile(
    r"^\W*(?:the\s+)?(?:environment\s+)?(?:agency|regulator|undertaker|council|authority|nrw|sepa|niea|"
    r"natural\s+resources\s+wales|secretary\s+of\s+state)\s+(?:shall|"
    r"will|must|may)\s+(?!be\b|have\s+access|receive|hear|know|get\b)",
    I,
)
GRADES: tuple[tuple[re.Pattern[str], float], ...] = (
    (re.compile(r"\b(?:shall|must)\b", I), 0.88),
    (re.compile(r"\b(?:may\s+(?:not|only)|(?:is|are)\s+(?:not\s+permitted|not\s+allowed|prohibited|"
     r"forbidden))\b", I), 0.86),
    (re.compile(r"\b(?:(?:is|are|be)\s+required\s+to|(?:has|have)\s+to|(?:is|are)\s+obliged\s+to|"
     r"(?:is|are)\s+(?:only\s+|also\s+)?to\s+be|(?:is|are)\s+(?:not|never)\s+to)\b", I), 0.86),
    (re.compile(r"^\W*(?:no|nothing|none|only)\b.*\b(?:may|can|(?:is|are)\s+(?:permitted|allowed|"
     r"authorised))\b", I), 0.86),
    (re.compile(r"\b(?:is|are)\s+to\b|\bneeds?\s+to\b|\bundertakes?\s+to\b|\bagrees?\s+to\b|"
     r"\bresponsible\s+for\b", I), 0.80),
    (re.compile(r"\b(?:not\s+exceed|no\s+more\s+than|maximum\s+of|limited\s+to)\b", I), 0.80),
    (re.compile(r"\b(?:you\s+can\s?not|can\s+only|(?:is|are)\s+only\s+(?:authorised|permitted|allowed))\b", I), 0.84),
    (re.compile(r"^(?:do\s+not|never|send|keep|tell|give|submit|provide|notify|ensure|maintain|record|report|"
     r"check|inspect|install|carry\s+out|make|take|remove|use|return|pay)\s", I), 0.80),
    (re.compile(r"^\W*(?:no|not\s+to)\s+\w", I), 0.74),
    (re.compile(r"\b(?:(?:half-?)?yearly|annually|monthly|weekly|daily|every\s+(?:\w+\s+)?(?:years?|months?|weeks?|"
     r"days?))\b", I), 0.70),
    (re.compile(r"\bshould\b|\bwill\b", I), 0.66),
)  # fmt: skip
EXPLAINS = re.compile(
    r"\b(?:means|shall\s+mean|has\s+the\s+meaning|for\s+information|guidance|is\s+intended\s+to|"
    r"explains?|describes?|"
    r"this\s+note|will\s+be\s+(?:charged|invoiced|published|issued))\b",
    I,
)
FREQUENCIES: tuple[tuple[str, str], ...] = (
    (r"\bdaily\b|\bevery\s+day\b|\beach\s+(?:working\s+)?day\b", "DAILY"),
    (r"\bweekly\b|\b(?:every|each|once\s+a)\s+week\b", "WEEKLY"),
    (r"\bmonthly\b|\b(?:every|each|once\s+a)\s+(?:calendar\s+)?month\b", "MONTHLY"),
    (r"\bquarterly\b|\b(?:every|each)\s+quarter\b|\bevery\s+three\s+months\b", "QUARTERLY"),
    (r"\b(?:six-monthly|twice\s+a\s+year|half-yearly|every\s+six\s+months)\b", "BIANNUAL"),
    (
        r"\bannually\b|\b(?:every|each|once\s+a)\s+(?:calendar\s+)?year\b|\bannual\s+(?:report|"
        r"return|review)\b",
        "ANNUAL",
    ),
    (r"\bevery\s+(?:\w+|\d+)\s+years\b", "N_YEARLY"),
    (
        r"\bin\s+the\s+event\b|\bwithin\s+\w+\s+(?:hours|days)\s+of\b|\bimmediately\b|\bforthwith\b",
        "EVENT_TRIGGERED",
    ),
)
CATEGORIES: tuple[tuple[str, str], ...] = (
    (r"\b(?:monitor|sampl|measur|test|analys|survey)\w*", "MONITORING"),
    (r"\b(?:report|notif|inform|submit|return|send|sent)\w*", "REPORTING"),
    (r"\b(?:record|log|retain|keep|kept)\w*", "RECORD_KEEPING"),
    (r"\b(?:maintain|inspect|servic|calibrat|repair|clean)\w*", "MAINTENANCE"),
)
SUBJECTIVE = re.compile(
    r"\b(?:as\s+appropriate|where\s+(?:necessary|practicable|appropriate)|reasonable\s+(?:measures|"
    r"endeavours)|"
    r"as\s+soon\s+as\s+(?:reasonably\s+)?practicable|to\s+the\s+satisfaction\s+of|"
    r"unless\s+otherwise\s+agreed|"
    r"appropriate\s+measures|suitable\s+provision|best\s+(?:endeavours|practicable\s+means))\b",
    I,
)


def obligations(text: str) -> list[dict[str, Any]]:
    """Return every duty of the sections that stand in the text, each with the words it was found in."""
    found: list[dict[str, Any]] = []
    marks = list(SECTION.finditer(text))
    for mark, following in zip(marks, [*marks[1:], None], strict=False):
        body = text[mark.end() : following.start() if following else len(text)]
        for sentence in _sentences(" ".join(body.split())):
            duty = _duty(sentence)
            if duty:
                place = {"section": int(mark[1]), "condition_reference": mark[2] or None}
                found.append({**place, "page": int(mark[3]) if mark[3] else None, **duty})
    return found


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+(?=[A-Z\"(])", text) if part.strip()]


def _duty(sentence: str) -> dict[str, Any] | None:
    grade = next((value for pattern, value in GRADES if pattern.search(sentence)), None)
    if grade is None or REGULATOR_ACTS.search(sentence) or EXPLAINS.search(sentence):
        return None
    if ACTOR.search(sentence):
        grade += 0.05
    if len(sentence.split()) < 5:
        grade -= 0.15
    phrases = sorted({match[0].lower() for match in SUBJECTIVE.finditer(sentence)})
    return {
        "text": sentence,
        "summary": sentence if len(sentence) <= 140 else sentence[:139].rsplit(" ", 1)[0] + " …",
        "category": next(
            (name for pattern, name in CATEGORIES if re.search(pattern, sentence, I)), "OPERATIONAL"
        ),
        "condition_type": "LIMIT" if re.search(r"exceed|maximum|limit", sentence, I) else "STANDARD",
        "frequency": next((name for pattern, name in FREQUENCIES if re.search(pattern, sentence, I)), None),
        "confidence_score": round(min(grade, 0.95), 2),
        "is_subjective": bool(phrases),
        "subjective_phrases": phrases,
    }
