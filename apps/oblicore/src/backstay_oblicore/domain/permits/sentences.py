"""Sentences, and whether one binds somebody."""

from __future__ import annotations

import re

ABBREVIATIONS = re.compile(
    r"\b(?:e\.g|i\.e|etc|no|nos|ltd|para|paras|fig|approx|ref|refs|cf|vol|pt|st|dr|mr|mrs|ms|co|inc|max|min|"
    r"sch|art|reg|regs|s|ss|ed|viz|temp|dept|tel|incl|excl)\.$",
    re.IGNORECASE,
)
BOUNDARY = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9\"'(\[])")
_BINDS = r"(?:operator|holder|person|company|trader|discharger|licensee|occupier|manager)s?"
# The words by which permits bind somebody, one way a line.
WORDS_OF_DUTY = (
    r"\b(?:shall|must|should|will)\b",
    r"\bmay\s+(?:not|only)\b",
    r"\bonly\s+(?:[\w-]+\s+){1,4}(?:may|can)\b",
    r"\b(?:be|was|were)\s+required\s+to\b",
    r"\b(?:is|are)\s+required\b(?!\s+(?:by|under|in)\b)",
    r"\brequired\s+that\b",
    r"\b(?:is|are)\s+(?:only\s+|also\s+|then\s+|always\s+)?to\s+be\b",
    r"\b(?:is|are)\s+(?:not|never)\s+to\b",
    rf"\b{_BINDS}\s+(?:is|are)\s+to\b",
    r"\b(?:has|have|having)\s+to\b",
    r"\b(?:needs?|ought)\s+to\b",
    r"\b(?:is|are)\s+(?:obliged|bound|liable)\s+to\b",
    r"\b(?:undertakes?|agrees?)\s+to\b",
    r"\b(?:is|are)\s+responsible\s+for\b",
)
WORDS_OF_PROHIBITION = (
    r"\b(?:is|are)\s+(?:\w+\s+)?(?:prohibited|forbidden|not\s+(?:permitted|allowed|authorised))\b",
    r"\b(?:is|are)\s+only\s+(?:authorised|permitted|allowed)\b",
    r"\b(?:is|are)\s+(?:authorised|permitted|allowed)\b[^.;]{0,60}\bonly\b",
    r"\b(?:you|operator|holder|licensee|occupier|company)s?\s+can(?:\s?not|\s+only)\b",
    # A prohibition may do without a word of duty: "no … is permitted", "nothing but … may be discharged".
    r"(?:^|[.;:]\s+|\d\s+)(?:no|nothing|none|neither|only)\b[^.;]{0,200}?\b"
    r"(?:may|can|(?:is|are)\s+(?:permitted|allowed|acceptable|authorised))\b",
)
MODAL = re.compile("|".join((*WORDS_OF_DUTY, *WORDS_OF_PROHIBITION)), re.IGNORECASE)
# "No burning of waste.", "Not to be stacked above 3 m.": a verb of duty is understood.
BARE_PROHIBITION = re.compile(r"^(?:no\s+(?!later|longer)\w|not\s+to\s+\w|never\s+\w)", re.IGNORECASE)
STRONG_MODAL = re.compile(r"\b(?:shall|must)\b", re.IGNORECASE)
QUANTITY = r"(?:\d[\d,. ]*|zero|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
LIMIT = re.compile(
    r"\b(?:not\s+(?:be\s+)?exceed(?:ed|ing)?|no\s+(?:more|greater|higher|less|lower)\s+than|"
    r"not\s+(?:be\s+)?(?:more|greater|higher|less|lower|above|below|outside)\b|"
    r"(?:upper|lower|maximum|minimum|emission|discharge|consent)\s+limits?\s+(?:of|is|are)|"
    r"(?:limited|restricted|capped)\s+(?:to|at)|maximum\s+of|up\s+to\s+a\s+maximum)\b",
    re.IGNORECASE,
)
IMPERATIVE = re.compile(
    r"^(?:\([a-z]+\)\s*)?(?:submit|provide|carry\s+out|undertake|install|prepare|produce|complete|review|"
    r"implement|notify|ensure|maintain|keep|record|report|monitor|sample|inspect|calibrate|do\s+not|never|"
    r"conduct|establish|confirm|demonstrate|repair|replace|fit|clean|test|measure|store|retain|send|"
    r"develop|design|investigate|inform|tell|give|use|make|take|remove|cover|check|return|pay)\b",
    re.IGNORECASE,
)


def split(text: str) -> list[str]:
    """Split running text into sentences; a list stays with the words that introduce it."""
    found: list[str] = []
    start = 0
    for match in BOUNDARY.finditer(text):
        head = text[start : match.start()].rstrip("\"')] ")
        if (
            ABBREVIATIONS.search(head)
            or re.search(r"\b[A-Z]\.$", head)
            or re.search(r"(?:^|[:;,]\s*)\d{1,3}\.$", head)
        ):
            continue
        found.append(text[start : match.start()].strip() + text[match.start() : match.end()].strip())
        start = match.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]


def has_modal(sentence: str) -> bool:
    """Say whether a word of duty stands in the sentence."""
    return bool(MODAL.search(_without_quoted_words(sentence)))


def has_strong_modal(sentence: str) -> bool:
    """Say whether the sentence says "shall" or "must" outright."""
    return bool(STRONG_MODAL.search(sentence))


def has_limit(sentence: str) -> bool:
    """Say whether the sentence sets a limit by words and a number."""
    return bool(LIMIT.search(sentence)) and bool(re.search(QUANTITY, sentence, re.IGNORECASE))


def is_candidate(sentence: str) -> bool:
    """Say whether the sentence must be accounted for: a word of duty, or a limit."""
    return has_modal(sentence) or has_limit(sentence)


def is_bare_prohibition(sentence: str) -> bool:
    """Say whether the sentence forbids without a verb of duty: "No burning of waste on the site." """
    return bool(BARE_PROHIBITION.match(sentence.strip()))


def is_imperative(sentence: str) -> bool:
    """Say whether the sentence orders something in the form of a command, as improvement tables do."""
    return bool(IMPERATIVE.match(sentence.strip()))


def is_command(sentence: str) -> bool:
    """Say whether a numbered rule is a command: "Keep all records for four years." """
    words = sentence.split()
    # "Report forms are in schedule 4" only looks like one.
    states = any(word.lower() in ("is", "are", "was", "were", "means", "has", "have") for word in words[1:4])
    return is_imperative(sentence) and len(words) >= 4 and sentence.endswith(".") and not states


def _without_quoted_words(sentence: str) -> str:
    """Leave out single words between quotes: a sentence about the word "must" uses none."""
    return re.sub(r"\"\w+\"", '""', sentence)
