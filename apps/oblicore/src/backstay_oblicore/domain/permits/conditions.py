"""From pages to conditions: the whole reading, with every binding sentence accounted for."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from backstay_oblicore.domain.due_rules import (
    AfterPeriod,
    Always,
    DueRule,
    Every,
    EveryHours,
    OnDate,
    OnDates,
    frequency_of,
)
from backstay_oblicore.domain.permits import meaning, sentences, subjective
from backstay_oblicore.domain.permits.pages import Page, running_lines
from backstay_oblicore.domain.permits.rules import Match, Rule, match_rule
from backstay_oblicore.domain.permits.segments import Segment, segment
from backstay_oblicore.domain.permits.tables import TableDuty, duties_in_lines, read_tables
from backstay_oblicore.domain.permits.timing import read_timing
from backstay_oblicore.domain.words import Category, ConditionType, Frequency

IMPROVEMENT = re.compile(r"(?:I[CPR]|P[OCR])-?\d")
IMPROVEMENT_ROW = Match("table-row", 0.93)
LEAST_WORDS = 4  # of a sentence that orders something without a word of duty
NOT_PART = re.compile(
    r"does\s+not\s+form\s+(?:a\s+)?part\s+of\s+(?:the|this|these)\s+(?:\w+\s+)?"
    r"(?:permit|consent|licence|rules|conditions|notice|registration)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Condition:
    """One condition that binds the operator, with where it stands and when it is due."""

    reference: str
    text: str
    page: int
    heading: str
    category: Category
    condition_type: ConditionType
    due_rule: DueRule
    due_words: str
    confidence: float
    source: str  # rule:<id> | model:<name> | person
    subjective_phrases: tuple[str, ...] = ()
    summary: str = ""

    @property
    def frequency(self) -> Frequency:
        """How often it comes round."""
        return frequency_of(self.due_rule)

    @property
    def fingerprint(self) -> str:
        """A hash of the words, by which a second reading recognises the condition."""
        return fingerprint(self.text)


@dataclass(frozen=True)
class Sentence:
    """A sentence that must be accounted for, and what it was filed as."""

    text: str
    page: int
    reference: str | None
    filed: Literal["obligation", "definition", "open"]
    by: str  # the condition's reference, the rule's name, or empty


@dataclass(frozen=True)
class Reading:
    """What one document came to: conditions, accounted sentences, and what a model should look at."""

    conditions: tuple[Condition, ...]
    sentences: tuple[Sentence, ...]
    unmatched: tuple[Segment, ...]
    segment_count: int
    table_limits: tuple[TableDuty, ...] = field(default=())

    @property
    def open_sentences(self) -> tuple[Sentence, ...]:
        """The sentences that nobody has accounted for yet."""
        return tuple(one for one in self.sentences if one.filed == "open")

    @property
    def hit_rate(self) -> float:
        """The share of binding segments that the rules library covered."""
        total = len(self.conditions) + len(self.unmatched)
        return round(len(self.conditions) / total, 4) if total else 0.0


def read_pages(pages: Sequence[Page], rules: Sequence[Rule]) -> Reading:
    """Read a document by the rules library; what no rule covers is left open, for a model or a person."""
    row_duties, lines = duties_in_lines(running_lines(pages))
    in_tables = read_tables([table for page in pages for table in page.tables])
    running = segment(lines)
    segments = [*running, *in_tables.rest]
    conditions: list[Condition] = []
    filed: list[Sentence] = []
    unmatched: list[Segment] = []
    outside = _outside_permit(running)
    for index, piece in enumerate(segments):
        read = _read_segment(piece, rules, is_outside=index in outside)
        filed += read.sentences
        if read.condition:
            conditions.append(read.condition)
        elif read.is_unmatched:
            unmatched.append(piece)
    duties = [*in_tables.duties, *row_duties]
    for duty in duties:
        condition = _from_table(duty)
        conditions.append(condition)
        filed.append(Sentence(duty.text, duty.page, duty.reference, "obligation", condition.reference))
    return Reading(
        tuple(_unique(conditions)), tuple(filed), tuple(unmatched), len(segments) + len(duties), tuple(duties)
    )


@dataclass(frozen=True)
class _SegmentReading:
    condition: Condition | None
    sentences: list[Sentence]
    is_unmatched: bool


def _read_segment(piece: Segment, rules: Sequence[Rule], *, is_outside: bool) -> _SegmentReading:
    reference = piece.reference or f"page {piece.page}"
    filed: list[Sentence] = []
    matches = []
    open_left = False
    for sentence in sentences.split(piece.text):
        is_order = bool(IMPROVEMENT.match(piece.reference or "")) and _orders(sentence, piece.reference)
        is_order = is_order or (piece.reference is not None and sentences.is_command(sentence))
        if not (is_order or _must_be_accounted_for(sentence, piece)):
            continue
        rule_name = "outside the permit" if is_outside else meaning.definition_rule(sentence)
        if rule_name:
            filed.append(Sentence(sentence, piece.page, piece.reference, "definition", rule_name))
            continue
        match = match_rule(sentence, rules) or (IMPROVEMENT_ROW if is_order else None)
        if match:
            matches.append(match)
            filed.append(Sentence(sentence, piece.page, piece.reference, "obligation", reference))
        else:
            open_left = True
            filed.append(Sentence(sentence, piece.page, piece.reference, "open", ""))
    if open_left or not matches:
        # One sentence that no rule knows sends the whole segment on: its parts belong together.
        reopened = [replace(one, filed="open", by="") if one.filed == "obligation" else one for one in filed]
        return _SegmentReading(None, reopened, open_left)
    best = min(matches, key=lambda match: match.confidence)
    condition = build_condition(
        piece.text,
        reference=reference,
        page=piece.page,
        heading=piece.heading,
        confidence=best.confidence,
        source=f"rule:{best.rule_id}",
    )
    return _SegmentReading(condition, filed, False)


def _must_be_accounted_for(sentence: str, piece: Segment) -> bool:
    """Say whether a sentence may bind: by its words, by what it stands under, or as a numbered rule without a verb."""
    if piece.is_binding or sentences.MODAL.search(sentence) or sentences.has_limit(sentence):
        return True
    return piece.reference is not None and (sentences.is_bare_prohibition(sentence) or _comes_round(sentence))


def _comes_round(sentence: str) -> bool:
    """Say whether a numbered sentence names a date that comes back: "Fire extinguishers: a check every two years." """
    if not sentence.endswith(".") or len(sentence.split()) < LEAST_WORDS:
        return False
    return isinstance(read_timing(sentence).rule, Every | OnDate | OnDates | AfterPeriod | EveryHours)


def build_condition(
    text: str, *, reference: str, page: int, heading: str, confidence: float, source: str
) -> Condition:
    """Work out everything that follows from a condition's words."""
    timing = read_timing(_with_final_date(text, reference))
    return Condition(
        reference=reference,
        text=text,
        page=page,
        heading=heading,
        category=meaning.category_of(text),
        condition_type=meaning.condition_type_of(text, reference=reference, heading=heading),
        due_rule=timing.rule,
        due_words=timing.words,
        confidence=confidence,
        source=source,
        subjective_phrases=tuple(subjective.phrases_in(text)),
        summary=meaning.summary_of(text),
    )


def _with_final_date(text: str, reference: str) -> str:
    """Read the last cell of an improvement's row, a bare date, as the date by which it is due."""
    if not IMPROVEMENT.match(reference):
        return text
    return re.sub(
        r"(?<!by)(?<!on)(?<!than)(?<!before)[.;,]?\s+(\d{1,2}\s+\w+\s+20\d\d|\d{1,2}/\d{1,2}/20\d\d)\.?$",
        r", by \1.",
        text,
    )


def _orders(sentence: str, reference: str | None) -> bool:
    """Say whether a row of improvements asks for something: by a command, or by a date."""
    dated = _with_final_date(sentence, reference or "")
    return sentences.is_imperative(sentence) or not isinstance(read_timing(dated).rule, Always)


def _from_table(duty: TableDuty) -> Condition:
    condition = build_condition(
        duty.text,
        reference=duty.reference,
        page=duty.page,
        heading="",
        confidence=duty.confidence,
        source="rule:table-row",
    )
    kinds = {"LIMIT": ConditionType.LIMIT, "IMPROVEMENT": ConditionType.IMPROVEMENT}
    return replace(condition, condition_type=kinds.get(duty.kind, condition.condition_type))


def _outside_permit(segments: Sequence[Segment]) -> set[int]:
    """Return the segments before the first condition, if the document says that they are no part of it."""
    first = next((i for i, piece in enumerate(segments) if piece.reference is not None), 0)
    lead = range(first)
    return set(lead) if any(NOT_PART.search(segments[i].text) for i in lead) else set()


def _unique(conditions: Sequence[Condition]) -> list[Condition]:
    seen: dict[tuple[str, str], Condition] = {}
    for condition in conditions:
        seen.setdefault((condition.reference, condition.fingerprint), condition)
    return list(seen.values())


def fingerprint(text: str) -> str:
    """Hash the words of a text, without case, spaces and punctuation."""
    plain = re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()
    return hashlib.sha256(plain.encode()).hexdigest()
