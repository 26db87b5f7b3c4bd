"""Where a claim begins to look."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import inf

from windlass.job import Claim
from windlass.records import Wanted

EVERYWHERE_EVERY = 0.1
_ALWAYS = datetime.min.replace(tzinfo=UTC)
TIMES_AS_LONG = 4
"""Looking everywhere takes at most a fifth of the time: after each look this many times as long goes by without one."""


class Frontier:
    """Remembers how far the last claim came, so that the next one can begin there.

    PostgreSQL keeps the traces of jobs that were handed out until nobody can see them any more and the table was
    vacuumed, and a look from the beginning passes all of them. A claim that got all it asked for took what came before
    its last job, and a hint that comes when all are taken mostly speaks of a job behind it. What has become available
    before that since then is found by looking everywhere: a few times a second while there is more than is asked for,
    soon after a claim that came back with less, and at once after one that came back with nothing.
    """

    def __init__(self) -> None:
        self._pairs: Sequence[Wanted] = ()
        self._turn: datetime | None = None
        self._has_more = False
        # Inf when the last look was everywhere and took all there was.
        self._everywhere_at = inf
        self.owed_at = inf
        """When to look everywhere after a claim that came back with less and had not; until somebody resets it."""

    def since(self, pairs: Sequence[Wanted], now: float, *, is_hinted: bool = False) -> datetime | None:
        """The turn from which on to look for jobs of these pairs; None for everywhere."""
        if pairs != self._pairs or any(pair.fair is not None for pair in pairs):
            self._pairs, self._turn = pairs, None
        if now >= self._everywhere_at or not (self._has_more or is_hinted):
            return None
        return self._turn

    def is_caught_up(self, now: float) -> bool:
        """Whether all there was is taken, and no look everywhere is due: then a hint can be followed by itself."""
        return not self._has_more and now < self._everywhere_at

    def behind_the_last(self) -> datetime:
        """The turn from which on to look for what a hint named; a look everywhere follows in any case."""
        return self._turn or _ALWAYS

    def note(
        self, claims: Sequence[Claim], *, limit: int, since: datetime | None, took: float, now: float
    ) -> None:
        """A claim has come back."""
        self._has_more = len(claims) >= limit
        # Suspects stand in a line of their own.
        last = next((claim for claim in reversed(claims) if not claim.is_suspect), None)
        if last is not None:
            self._turn = last.turn
        if since is None:
            pause = max(EVERYWHERE_EVERY, TIMES_AS_LONG * took)
            self._everywhere_at = now + pause if self._has_more else inf
            return
        self._everywhere_at = min(self._everywhere_at, now + EVERYWHERE_EVERY if claims else now)
        if not self._has_more:
            self.owed_at = min(self.owed_at, self._everywhere_at)
