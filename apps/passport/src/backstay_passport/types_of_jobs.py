"""Counting jobs by their type."""

from __future__ import annotations

from backstay import State
from backstay_passport.services import Services

UNFINISHED = (State.AVAILABLE, State.SCHEDULED, State.HELD, State.RUNNING)


def waiting_jobs(services: Services, kind: str | None = None) -> int:
    """Return how many jobs have not ended yet, of one type or of all."""
    counts = services.app.sync.jobs.counts()
    return sum(one.jobs for one in counts if one.state in UNFINISHED and kind in (None, one.kind))
