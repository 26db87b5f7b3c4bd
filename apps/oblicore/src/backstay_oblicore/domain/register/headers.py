"""Which column of a register means which field."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz.fuzz import ratio

from backstay_oblicore.domain import texts
from backstay_oblicore.domain.errors import InvalidRequest, MissingColumns

REQUIRED = ("permit_number", "obligation_title", "frequency", "deadline_date", "site_id")
KNOWN_NAMES: dict[str, tuple[str, ...]] = {
    "permit_number": ("permit number", "permit no", "permit ref", "permit reference", "licence number"),
    "obligation_title": ("obligation title", "obligation", "title", "condition title", "requirement"),
    "obligation_description": ("obligation description", "description", "details", "notes"),
    "frequency": ("frequency", "how often", "recurrence", "interval"),
    "deadline_date": ("deadline date", "deadline", "due date", "due", "due by", "next due"),
    "site_id": ("site id", "site", "site name", "location"),
    "category": ("category", "type"),
    "assigned_to": ("assigned to", "owner", "responsible", "assignee"),
    "condition_reference": ("condition reference", "condition", "condition number", "clause"),
}
LEAST_SCORE = 85.0


@dataclass(frozen=True)
class Mapped:
    """Which column holds which field, and which headers nobody understood."""

    columns: dict[str, int]
    ignored: tuple[str, ...]


def map_headers(headers: Sequence[str], *, custom: Mapping[str, str] | None = None) -> Mapped:
    """Find the column of each field; raise MissingColumns, naming every required one that is absent.

    A custom mapping (header → field, or field → header) wins. Otherwise the best score of at least 85 counts;
    a header fits one field only, and of two columns with the same score neither is taken.
    """
    columns = _custom_columns(headers, custom or {})
    taken = set(columns.values())
    scores = {
        field: {index: _score(header, field) for index, header in enumerate(headers) if index not in taken}
        for field in KNOWN_NAMES
        if field not in columns
    }
    for field in sorted(scores, key=lambda name: -max(scores[name].values(), default=0)):
        candidates = {
            i: score for i, score in scores[field].items() if i not in taken and score >= LEAST_SCORE
        }
        best = _single_best(candidates)
        if best is not None:
            columns[field] = best
            taken.add(best)
    missing = [texts.MISSING_COLUMN.format(field=field) for field in REQUIRED if field not in columns]
    if missing:
        raise MissingColumns("; ".join(missing))
    return Mapped(columns, tuple(h for i, h in enumerate(headers) if i not in taken and h.strip()))


def read_mapping(lines: Sequence[str]) -> dict[str, str]:
    """Read which column means what as people type it: field=name of the column in the file."""
    mapping = {}
    for text in lines:
        field, equals, name = (part.strip() for part in text.partition("="))
        if not equals or not field or not name:
            raise InvalidRequest(f"a column is given as field=name in the file, not {text.strip()!r}")
        if field not in KNOWN_NAMES:
            raise InvalidRequest(f"there is no field {field!r}; there are {', '.join(KNOWN_NAMES)}")
        mapping[field] = name
    return mapping


def _custom_columns(headers: Sequence[str], custom: Mapping[str, str]) -> dict[str, int]:
    positions = {_plain(header): index for index, header in enumerate(headers)}
    columns = {}
    for left, right in custom.items():
        field, header = (left, right) if left in KNOWN_NAMES else (right, left)
        if field not in KNOWN_NAMES:
            raise MissingColumns(f"column_mapping names no known field: {left!r} → {right!r}")
        if _plain(header) not in positions:
            raise MissingColumns(f"column_mapping names a column that is not in the file: {header!r}")
        columns[field] = positions[_plain(header)]
    return columns


def _single_best(scores: Mapping[int, float]) -> int | None:
    if not scores:
        return None
    best = max(scores.values())
    winners = [index for index, score in scores.items() if score == best]
    return winners[0] if len(winners) == 1 else None


def _score(header: str, field: str) -> float:
    plain = _plain(header)
    return max(ratio(plain, name) for name in (*KNOWN_NAMES[field], field.replace("_", " ")))


def _plain(header: str) -> str:
    return " ".join(re.sub(r"[^a-z0-9]+", " ", header.lower()).split())
