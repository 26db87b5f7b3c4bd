"""What a language model is asked, and what is made of its answer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from rapidfuzz.fuzz import partial_ratio

from backstay_oblicore.domain.errors import AnswerInvalid
from backstay_oblicore.domain.permits import sentences
from backstay_oblicore.domain.permits.conditions import (
    Condition,
    Reading,
    Sentence,
    build_condition,
    fingerprint,
)
from backstay_oblicore.domain.permits.segments import Segment
from backstay_oblicore.domain.words import Category, Frequency, ReviewType

MOST_TOKENS = 100_000
GROUNDED = 90.0
SCHEMA_NAME = "permit_obligations"
FREQUENCY_WORDS = tuple(one.value for one in Frequency)
SYSTEM = (
    "You read conditions of environmental permits. For each section, return every duty that binds the operator: the "
    "exact words, a summary, category, condition type, frequency, and how confident you are, from 0 to 1. "
    f"A frequency is one of {', '.join(FREQUENCY_WORDS)}, or null where the words name none. Return nothing "
    "for sentences that only define, explain, or bind the regulator. Never invent words that are not in the section."
)
# What people and models write instead of the words that were asked for.
OTHER_WORDS_OF_FREQUENCY = {
    "ANNUALLY": Frequency.ANNUAL, "YEARLY": Frequency.ANNUAL, "QUARTER": Frequency.QUARTERLY,
    "HALF YEARLY": Frequency.BIANNUAL, "SIX MONTHLY": Frequency.BIANNUAL, "TWICE A YEAR": Frequency.BIANNUAL,
    "ONCE": Frequency.ONE_TIME, "ONE OFF": Frequency.ONE_TIME, "ONGOING": Frequency.CONTINUOUS,
    "ALWAYS": Frequency.CONTINUOUS, "AS REQUIRED": Frequency.EVENT_TRIGGERED, "ON EVENT": Frequency.EVENT_TRIGGERED,
}  # fmt: skip


def _text_or_nothing() -> dict[str, Any]:
    return {"type": ["string", "null"]}


# Strict mode takes a schema only if every object is closed and requires all of its fields.
_DUTY: dict[str, Any] = {
    "section": {"type": "integer"},
    "text": {"type": "string"},
    "summary": _text_or_nothing(),
    "category": {"type": "string", "enum": [one.value for one in Category]},
    "condition_type": _text_or_nothing(),
    "condition_reference": _text_or_nothing(),
    "page": {"type": ["integer", "null"]},
    "frequency": {"type": ["string", "null"], "enum": [*FREQUENCY_WORDS, None]},
    "confidence_score": {"type": "number"},
    "is_subjective": {"type": ["boolean", "null"]},
    "subjective_phrases": {"type": "array", "items": {"type": "string"}},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["obligations"],
    "properties": {
        "obligations": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": list(_DUTY),
                "properties": _DUTY,
            },
        }
    },
}


@dataclass(frozen=True)
class Chunk:
    """A request's text and the sections that it holds, by the numbers they carry in it."""

    text: str
    sections: dict[int, Segment]


@dataclass(frozen=True)
class Finding:
    """One duty that the model found."""

    section: int
    text: str
    category: Category
    frequency: Frequency | None
    confidence: float


@dataclass(frozen=True)
class Doubt:
    """Something about the model's answer that a person must look at."""

    review_type: ReviewType
    text: str
    reference: str | None
    reason: str


def estimated_tokens(text: str) -> int:
    """Estimate tokens from above: English has about four bytes a token, three are reckoned."""
    return math.ceil(len(text.encode()) / 3)


def chunks(segments: Sequence[Segment], *, most_tokens: int = MOST_TOKENS) -> list[Chunk]:
    """Pack segments into as few requests as the limit allows; one that is too long is cut between words."""
    packed: list[Chunk] = []
    parts: list[str] = []
    held: dict[int, Segment] = {}
    size = 0
    for number, (segment, body) in enumerate(_pieces(segments, most_tokens), start=1):
        text = f"[[{number}]] <{segment.reference or ''}> page {segment.page}\n{body}\n"
        tokens = estimated_tokens(text)
        if parts and size + tokens > most_tokens:
            packed.append(Chunk("".join(parts), held))
            parts, held, size = [], {}, 0
        parts.append(text)
        held[number] = segment
        size += tokens
    if parts:
        packed.append(Chunk("".join(parts), held))
    return packed


def _pieces(segments: Sequence[Segment], most_tokens: int) -> Iterable[tuple[Segment, str]]:
    most_bytes = (most_tokens - 100) * 3
    for segment in segments:
        piece: list[str] = []
        size = 0
        for word in segment.text.split():
            length = len(word.encode()) + 1
            if piece and size + length > most_bytes:
                yield segment, " ".join(piece)
                piece, size = [], 0
            piece.append(word)
            size += length
        if piece:
            yield segment, " ".join(piece)


def parse_answer(answer: Any, chunk: Chunk) -> list[Finding]:
    """Check the answer's shape; raise AnswerInvalid, saying which entry is wrong."""
    entries = answer.get("obligations") if isinstance(answer, Mapping) else None
    if not isinstance(entries, list):
        raise AnswerInvalid("the model's answer has no list of obligations")
    return [_finding(index, entry, chunk) for index, entry in enumerate(entries)]


def _finding(index: int, entry: Any, chunk: Chunk) -> Finding:
    try:
        section, text, confidence = (
            int(entry["section"]),
            str(entry["text"]),
            float(entry["confidence_score"]),
        )
        category = Category(entry["category"])
        frequency = frequency_named(entry.get("frequency"))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AnswerInvalid(f"entry {index} of the model's answer is not an obligation: {error}") from error
    if section not in chunk.sections:
        raise AnswerInvalid(
            f"entry {index} of the model's answer names section {section}, which was not asked about"
        )
    if not 0 <= confidence <= 1 or not text.strip():
        raise AnswerInvalid(
            f"entry {index} of the model's answer has no text, or a confidence outside 0 to 1"
        )
    return Finding(section, text, category, frequency, confidence)


def frequency_named(word: Any) -> Frequency | None:
    """Understand a frequency however it is written; none for a word that names none, which is only a hint."""
    plain = re.sub(r"[^A-Z]+", " ", str(word or "").upper()).strip()
    written = plain.replace(" ", "_")
    if written in FREQUENCY_WORDS:
        return Frequency(written)
    return OTHER_WORDS_OF_FREQUENCY.get(plain)


def merge(
    reading: Reading,
    answers: Sequence[tuple[Chunk, Sequence[Finding]]],
    *,
    model: str,
    most: int | None = None,
) -> tuple[Reading, list[Doubt]]:
    """Add what a model found to a reading; only what stands in the text counts, the rest is doubted."""
    doubts: list[Doubt] = []
    by_segment: dict[int, tuple[Segment, list[Finding]]] = {}
    for chunk, findings in answers:
        for finding in findings:
            segment = chunk.sections[finding.section]
            if not _stands_in(finding.text, segment.text):
                reason = "these words do not stand in the document"
                doubts.append(Doubt(ReviewType.HALLUCINATION, finding.text, segment.reference, reason))
                continue
            by_segment.setdefault(id(segment), (segment, []))[1].append(finding)
    conditions = list(reading.conditions)
    filed = list(reading.sentences)
    for segment, found in by_segment.values():
        condition, doubt = _condition(segment, found, model)
        if condition.fingerprint not in {one.fingerprint for one in conditions}:
            conditions.append(condition)
        doubts += [doubt] if doubt else []
        filed = [_filed(one, segment, found, condition) for one in filed]
    if most is not None and len(conditions) > most:
        doubts.append(
            Doubt(
                ReviewType.CONFLICT, "", None, f"only the first {most} of {len(conditions)} obligations kept"
            )
        )
        conditions = conditions[:most]
    matched = {id(segment) for segment, _ in by_segment.values()}
    left = tuple(one for one in reading.unmatched if id(one) not in matched)
    return replace(reading, conditions=tuple(conditions), sentences=tuple(filed), unmatched=left), doubts


def keep_known(reading: Reading, known: Set[str]) -> tuple[Reading, frozenset[str]]:
    """File the sections whose words are an obligation already; return the reading without them, and which they are."""
    kept = [segment for segment in reading.unmatched if fingerprint(segment.text) in known]
    filed = list(reading.sentences)
    for segment in kept:
        by = segment.reference or f"page {segment.page}"
        own = set(sentences.split(segment.text))
        filed = [
            replace(one, filed="obligation", by=by)
            if one.filed == "open" and one.reference == segment.reference and one.text in own
            else one
            for one in filed
        ]
    left = tuple(one for one in reading.unmatched if fingerprint(one.text) not in known)
    return (
        replace(reading, sentences=tuple(filed), unmatched=left),
        frozenset(fingerprint(one.text) for one in kept),
    )


def _condition(segment: Segment, found: Sequence[Finding], model: str) -> tuple[Condition, Doubt | None]:
    least = min(finding.confidence for finding in found)
    condition = build_condition(
        segment.text,
        reference=segment.reference or f"page {segment.page}",
        page=segment.page,
        heading=segment.heading,
        confidence=least,
        source=f"model:{model}",
    )
    condition = replace(condition, category=found[0].category)
    claimed = {finding.frequency for finding in found if finding.frequency}
    if claimed and condition.frequency not in claimed and condition.due_words:
        reason = f"the words say {condition.frequency}, the model says {', '.join(sorted(claimed))}"
        return condition, Doubt(ReviewType.CONFLICT, segment.text, segment.reference, reason)
    return condition, None


def _filed(one: Sentence, segment: Segment, found: Sequence[Finding], condition: Condition) -> Sentence:
    if one.filed != "open" or one.reference != segment.reference or one.page != segment.page:
        return one
    if one.text not in sentences.split(segment.text):
        return one
    if any(_stands_in(one.text, finding.text) or _stands_in(finding.text, one.text) for finding in found):
        return replace(one, filed="obligation", by=condition.reference)
    return one


def _stands_in(part: str, whole: str) -> bool:
    a, b = " ".join(part.lower().split()), " ".join(whole.lower().split())
    return bool(a) and (a in b or (len(a) <= len(b) + 5 and partial_ratio(a, b) >= GROUNDED))


def is_same(left: str, right: str) -> bool:
    """Say whether two texts have the same words."""
    return fingerprint(left) == fingerprint(right)
