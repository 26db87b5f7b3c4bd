"""The brake: a destructive task that finds far more than usual waits for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

RELEASE_SIGNAL = "release-brake"


@dataclass(frozen=True, slots=True)
class BrakeRule:
    """From how many candidates on the brake looks, and what counts as too many."""

    minimum: int = 200
    times_usual: float = 5.0
    share_of_table: float = 0.25
    fewest_runs: int = 3


@dataclass(frozen=True, slots=True)
class Candidates:
    """How many rows of one sort a run would delete, of how many.

    `of_rows` is None where nearly all may rightly go, as of keys that expire within a day.
    """

    what: str
    count: int
    of_rows: int | None = None


def reason_to_stop(
    found: Sequence[Candidates], *, earlier: Sequence[int], rule: BrakeRule | None = None
) -> str | None:
    """Return why a run must wait for a person; None lets it go on.

    `earlier` are the numbers of candidates, of all sorts together, of earlier runs that went through.
    """
    rule = rule or BrakeRule()
    for one in found:
        if one.count >= rule.minimum and one.of_rows and one.count > rule.share_of_table * one.of_rows:
            return f"{one.count} {one.what} are {one.count / one.of_rows:.0%} of {one.of_rows}"
    total = sum(one.count for one in found)
    if total < rule.minimum or len(earlier) < rule.fewest_runs:
        return None
    usual = median(earlier)
    if total > rule.times_usual * max(usual, 1):
        return f"{total} candidates are more than {rule.times_usual:g} times the usual {usual:g}"
    return None
