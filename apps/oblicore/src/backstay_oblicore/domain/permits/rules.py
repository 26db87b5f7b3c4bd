"""The rules library: patterns of conditions that need no model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

LIBRARY_VERSION = "2026.1"
LEAST_CONFIDENCE = 0.90
MODULES = ("MODULE_1", "MODULE_2", "MODULE_3")
_WHO = (
    r"(?:the\s+)?(?:operator|responsible\s+person|permit\s+holder|licen[cs]e\s+holder|licensee|consent\s+holder|holder|"
    r"discharger|trader|occupier|"
    r"company|site\s+manager|person\s+responsible|applicant|registered\s+person)s?"
)
_MODAL = r"(?:shall|must)"


@dataclass(frozen=True)
class Rule:
    """One pattern with the confidence that its author gave it."""

    id: str
    module_code: str
    pattern: str
    confidence: float
    note: str = ""


@dataclass(frozen=True)
class Match:
    """A rule that fits a sentence."""

    rule_id: str
    confidence: float


def _rules(*rows: tuple[str, str, float, str]) -> tuple[Rule, ...]:
    return tuple(
        Rule(f"{name}", module, pattern, confidence, note)
        for name, pattern, confidence, note in rows
        for module in MODULES
    )


BUILT_IN: tuple[Rule, ...] = _rules(
    ("operator-duty", rf"\b{_WHO}(?:\s*,[^,]{{1,120}},)?\s+{_MODAL}\b"
     r"(?:\s*,[^,]{1,160},\s*|\s+)(?:(?:not|immediately|also|then|only)\s+|at\s+all\s+times\s+)?[a-z:—–-]",
     0.96, "the operator shall …"),
    ("prohibition", rf"^\W*(?:subject\s+to[^,]{{1,80}},\s*)?(?:no|neither|"
     rf"there\s+{_MODAL}\s+be\s+no)\b[^.]{{0,160}}\b(?:{_MODAL}|may)\b|"
     rf"\bthere\s+{_MODAL}\s+be\s+no\b|^\W*(?:no|nothing|only)\b[^.;]{{0,200}}\b"
     r"(?:may\s+be|(?:is|are)\s+(?:permitted|allowed|authorised))\b|"
     r"\b(?:is|are)\s+(?:permitted|allowed|authorised)\b[^.;]{0,60}\bonly\b|"
     r"\bonly\s+(?:[\w-]+\s+){1,4}may\b", 0.96, "no … shall"),
    ("required", r"\b(?:is|are)\s+required\b(?!\s+(?:by|under|in)\b)", 0.91, "… is required"),
    ("limit-not-exceeded", rf"\b{_MODAL}\s+not\s+(?:at\s+any\s+time\s+)?(?:be\s+)?exceed|"
     rf"\blimits?\b[^.]{{0,120}}{_MODAL}\s+not\s+be\s+exceeded|{_MODAL}\s+(?:be|lie|"
     rf"remain)\s+(?:not\s+(?:more|less)|no\s+(?:more|less)|between|within)\b", 0.97, "a limit"),
    ("records", rf"\brecords?\b[^.]{{0,160}}\b{_MODAL}\b|\b{_MODAL}\s+be\s+(?:recorded|logged|"
     rf"retained|kept)\b", 0.96, "records"),
    ("notification", rf"\b{_MODAL}\s+(?:be\s+)?(?:immediately\s+)?(?:notified|informed|given|"
     rf"supplied|submitted|sent|reported|made\s+available)\b|"
     rf"\bnotifications?\b[^.]{{0,80}}\b{_MODAL}\b", 0.95, "telling the regulator"),
    ("monitoring", rf"\b(?:monitoring|sampl\w+|measurements?|tests?|testing|analys[ei]s|"
     rf"surveys?)\b[^.]{{0,200}}\b{_MODAL}\b", 0.95, "monitoring"),
    ("passive-duty", rf"\b{_MODAL}\s+(?:,[^,]{{1,80}},\s*)?(?:not\s+)?(?:only\s+|all\s+|also\s+|"
     rf"normally\s+|at\s+all\s+times\s+)?be\s+(?:\w+ly\s+)?\w+(?:ed|en|t|pt|de|ne|"
     rf"wn)\b", 0.92, "… shall be done"),
    ("standing-state", rf"\b{_MODAL}\s+(?:not\s+)?(?:be\s+(?:free|of|at|in|kept|such|capable|"
     rf"sufficient|fit|subject|available|responsible)|comply|conform|remain|have|include|contain|"
     rf"consist|meet|apply|cause|give\s+rise|take|contain|cover|state|show|set\s+out|specify|"
     rf"provide)\b", 0.91, "… shall be, comply, have, include"),
    ("table-row", r"^\(from table\)", 0.93, "a row of a table of limits, monitoring, reporting or improvements"),
)  # fmt: skip


def match_rule(sentence: str, rules: Sequence[Rule]) -> Match | None:
    """Return the most confident rule that fits a sentence, if it reaches the library's threshold."""
    best: Match | None = None
    for rule in rules:
        if rule.confidence < LEAST_CONFIDENCE or (best and rule.confidence <= best.confidence):
            continue
        if _compiled(rule.pattern).search(sentence):
            best = Match(rule.id, rule.confidence)
    return best


def for_module(rules: Sequence[Rule], module_code: str) -> list[Rule]:
    """Return the rules of one module."""
    return [rule for rule in rules if rule.module_code == module_code]


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
