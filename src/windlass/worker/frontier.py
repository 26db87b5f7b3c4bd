"""Where a claim begins to look."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from windlass.job import Claim
from windlass.records import Wanted

EVERYWHERE_EVERY = 0.1
TIMES_AS_LONG = 4
"""Looking everywhere takes at most a fifth of the time: after each look this many times as long goes by without one."""


class Frontier:
    """Remembers how far the last claim came, so that the next one can begin there.

    PostgreSQL keeps the traces of jobs that were handed out until nobody can see them any more, and a look from the
    beginning passes all of them: while an old transaction is open, those of everything that was done since it began.
    A claim that got all it asked for took what came before its last job. What has become available before that since
    then is found by looking everywhere: a few times a second, and whenever a claim comes back with less.
    """

    def __init__(self) -> None:
        self._pairs: Sequence[Wanted] = ()
        self._turn: datetime | None = None
        self._everywhere_at = 0.0
        self.has_passed_over = False
        """Whether a claim has come back with less although it had not looked everywhere; until somebody resets it."""

    def since(self, pairs: Sequence[Wanted], now: float) -> datetime | None:
        """The turn from which on to look for jobs of these pairs; None for everywhere."""
        if pairs != self._pairs or any(pair.fair is not None for pair in pairs):
            self._pairs, self._turn = pairs, None
        return None if now >= self._everywhere_at else self._turn

    def note(
        self, claims: Sequence[Claim], *, limit: int, since: datetime | None, took: float, now: float
    ) -> None:
        """A claim has come back."""
        is_full = len(claims) >= limit
        self.has_passed_over = self.has_passed_over or (since is not None and not is_full)
        # Suspects stand in a line of their own.
        last = next((claim for claim in reversed(claims) if not claim.is_suspect), None)
        self._turn = last.turn if is_full and last is not None else None
        if since is None:
            self._everywhere_at = now + max(EVERYWHERE_EVERY, TIMES_AS_LONG * took)
