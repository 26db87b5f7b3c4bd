"""What a variation changed: conditions added, changed, renumbered, gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from rapidfuzz.fuzz import ratio

SAME = 99.5
ALIKE = 75.0


class Clause(Protocol):
    """Anything with a reference and words."""

    @property
    def reference(self) -> str: ...

    @property
    def text(self) -> str: ...


C = TypeVar("C", bound=Clause)


@dataclass(frozen=True)
class Change:
    """One line of a comparison."""

    kind: str  # ADDED | CHANGED | RENUMBERED | GONE | SAME
    old_reference: str | None
    new_reference: str | None
    old_text: str | None
    new_text: str | None


def compare(old: Sequence[Clause], new: Sequence[Clause]) -> list[Change]:
    """Tell what a new version changed: its conditions in their order, then those that are gone."""
    paired = pairs(old, new)
    before_of = {id(after): before for before, after in paired}
    lines = [
        _change(before_of[id(after)], after)
        if id(after) in before_of
        else Change("ADDED", None, after.reference, None, after.text)
        for after in new
    ]
    kept = {id(before) for before, _ in paired}
    gone = [
        Change("GONE", before.reference, None, before.text, None) for before in old if id(before) not in kept
    ]
    return [*lines, *gone]


def pairs(old: Sequence[C], new: Sequence[C]) -> list[tuple[C, C]]:
    """Pair the conditions of two versions: by reference and words first, then by likeness."""
    likely = sorted(
        (
            (_likeness(before, after), i, j)
            for i, before in enumerate(old)
            for j, after in enumerate(new)
            if _likeness(before, after) >= ALIKE
        ),
        reverse=True,
    )
    taken_old: set[int] = set()
    taken_new: set[int] = set()
    found = []
    for _, i, j in likely:
        if i in taken_old or j in taken_new:
            continue
        taken_old.add(i)
        taken_new.add(j)
        found.append((old[i], new[j]))
    return found


def says_the_same(before: Clause, after: Clause) -> bool:
    """Say whether two conditions have the same words, wherever they stand."""
    return ratio(before.text.lower(), after.text.lower()) >= SAME


def _likeness(before: Clause, after: Clause) -> float:
    same_place = 5.0 if before.reference == after.reference else 0.0
    return ratio(before.text.lower(), after.text.lower()) + same_place


def _change(before: Clause, after: Clause) -> Change:
    if not says_the_same(before, after):
        kind = "CHANGED"
    else:
        kind = "SAME" if before.reference == after.reference else "RENUMBERED"
    return Change(kind, before.reference, after.reference, before.text, after.text)
