"""After an answer that did not fit: which budget next, in how many parts, or up to a person?

A pure function of what was tried, so that a retry, another worker or a test decides the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from backstay_parts.model.answers import Verdict


@dataclass(frozen=True, slots=True)
class Ladder:
    """First raise the budget, then divide the text, then give up."""

    first: int = 2_000
    most: int = 16_000
    factor: int = 2
    most_parts: int = 4
    """The text is divided into 2, then 4 … parts, up to this many."""


@dataclass(frozen=True, slots=True)
class Rung:
    """How to ask: with which budget a call, the text in how many parts."""

    budget: int
    parts: int = 1


@dataclass(frozen=True, slots=True)
class Tried:
    """A rung that was stood on, and what came of it."""

    rung: Rung
    verdict: Verdict


def next_rung(ladder: Ladder, tried: Sequence[Tried]) -> Rung | None:
    """How to ask next; None when the ladder ends.

    An answer that was cut, or a budget that was used up before any text, raises the budget; at the highest budget
    the text is divided. Every other verdict asks the same again: whether that makes sense is the caller's rule.
    """
    if not tried:
        return Rung(ladder.first)
    last = tried[-1]
    if last.verdict not in {Verdict.CUT, Verdict.BUDGET_USED_UP}:
        return last.rung
    if last.rung.budget < ladder.most:
        return Rung(min(ladder.most, last.rung.budget * ladder.factor), last.rung.parts)
    if last.rung.parts < ladder.most_parts:
        return Rung(last.rung.budget, last.rung.parts * 2)
    return None
