"""What a variation changed: conditions added, changed, renumbered, gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rapidfuzz.fuzz import ratio

SAME = 99.5
ALIKE = 75.0


class Clause(Protocol):
    """Anything with a reference and words."""

    @property
    def reference(self) -> str: ...

    @property
    def text(self) -> str: ...


@dataclass(frozen=True)
class Change:
    """One line of a comparison."""

    kind: str  # ADDED | CHANGED | RENUMBERED | GONE | SAME
    old_reference: str | None
    new_reference: str | None
    old_text: str | None
    new_text: str | None


def compare(old: Sequence[Clause], new: Sequence[Clause]) -> list[Change]:
    """Pair the conditions of two versions: by reference and words first, then by likeness."""
    left = list(old)
    changes: dict[int, Change] = {}
    pairs = sorted(
        (
            (_likeness(before, after), i, j)
            for i, before in enumerate(left)
            for j, after in enumerate(new)
            if _likeness(before, after) >= ALIKE
        ),
        reverse=True,
    )
    taken_old: set[int] = set()
    for _, i, j in pairs:
        if i in taken_old or j in changes:
            continue
        taken_old.add(i)
        changes[j] = _change(left[i], new[j])
    lines = [
        changes.get(j) or Change("ADDED", None, after.reference, None, after.text)
        for j, after in enumerate(new)
    ]
    gone = [
        Change("GONE", before.reference, None, before.text, None)
        for i, before in enumerate(left)
        if i not in taken_old
    ]
    return [*lines, *gone]


def _likeness(before: Clause, after: Clause) -> float:
    same_place = 5.0 if before.reference == after.reference else 0.0
    return ratio(before.text.lower(), after.text.lower()) + same_place


def _change(before: Clause, after: Clause) -> Change:
    if ratio(before.text.lower(), after.text.lower()) < SAME:
        kind = "CHANGED"
    else:
        kind = "SAME" if before.reference == after.reference else "RENUMBERED"
    return Change(kind, before.reference, after.reference, before.text, after.text)
