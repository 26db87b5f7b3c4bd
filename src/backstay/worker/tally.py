"""Counts a worker's own attempts until its next sign of life adds them up in the database."""

from __future__ import annotations

from backstay.model.figures import Measure, Tallied, bucket_of
from backstay.model.job import Claim
from backstay.model.outcome import Complete, Fail, Outcome


class Tally:
    """Attempts that have ended since the last time it was taken. Not safe for threads: its owner has the lock."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, Measure, int], list[int]] = {}

    def note(self, claim: Claim, outcome: Outcome, seconds: float) -> None:
        """Count one attempt; only those whose handler returned or failed are counted."""
        if isinstance(outcome, Complete):
            measure = Measure.COMPLETED
        elif isinstance(outcome, Fail):
            measure = Measure.FAILED
        else:
            return
        self._add(claim, measure, int(seconds * 1000))
        self._add(claim, Measure.WAITED, max(0, claim.waited_ms))

    def _add(self, claim: Claim, measure: Measure, milliseconds: int) -> None:
        key = (claim.queue, claim.kind, measure, bucket_of(milliseconds))
        counted = self._counts.get(key)
        if counted is None:
            self._counts[key] = [1, milliseconds]
        else:
            counted[0] += 1
            counted[1] += milliseconds

    def take(self) -> list[Tallied]:
        """Return what was counted, and start again at nothing."""
        counts, self._counts = self._counts, {}
        return [
            Tallied(queue=queue, kind=kind, measure=measure, bucket=bucket, jobs=jobs, took_ms=took_ms)
            for (queue, kind, measure, bucket), (jobs, took_ms) in counts.items()
        ]
