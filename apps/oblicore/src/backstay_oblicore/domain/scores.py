"""How well a company stands, as one number that can be explained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backstay_oblicore.domain.words import ObligationStatus


@dataclass(frozen=True)
class Compliance:
    """Counts by status, and the share of duties that are not late."""

    total: int
    complete: int
    pending: int
    overdue: int

    @property
    def score(self) -> float:
        """Duties that are completed or not overdue, in per cent with one decimal; 100 without duties."""
        if not self.total:
            return 100.0
        return round((self.total - self.overdue) / self.total * 100, 1)


def compliance(counts: Mapping[str, int]) -> Compliance:
    """Add up counts by status; what does not apply is left out."""
    relevant = {status: n for status, n in counts.items() if status != ObligationStatus.NOT_APPLICABLE}
    total = sum(relevant.values())
    complete = relevant.get(ObligationStatus.COMPLETED, 0)
    overdue = relevant.get(ObligationStatus.OVERDUE, 0)
    return Compliance(total, complete, total - complete - overdue, overdue)
