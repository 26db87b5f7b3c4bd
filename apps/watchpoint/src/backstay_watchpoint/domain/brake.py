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


def reason_to_stop(
    candidates: int, *, table_rows: int, earlier: Sequence[int], rule: BrakeRule | None = None
) -> str | None:
    """Return why a run must wait for a person; None lets it go on.

    `earlier` are the numbers of candidates of earlier runs that went through.
    """
    rule = rule or BrakeRule()
    if candidates < rule.minimum:
        return None
    if table_rows and candidates > rule.share_of_table * table_rows:
        return f"{candidates} candidates are {candidates / table_rows:.0%} of {table_rows} rows"
    if len(earlier) < rule.fewest_runs:
        return None
    usual = median(earlier)
    if candidates > rule.times_usual * max(usual, 1):
        return f"{candidates} candidates are more than {rule.times_usual:g} times the usual {usual:g}"
    return None
