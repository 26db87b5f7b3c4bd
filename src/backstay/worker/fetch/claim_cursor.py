"""Where a claim begins to look."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import inf

from backstay.model.job import Claim
from backstay.model.records import Wanted

EVERYWHERE_EVERY = 0.1
"""Seconds between two looks everywhere while there is more than is asked for."""
EVERYWHERE_IN_COMPANY = 0.5
"""The same where other workers take from the line, because they look as well."""
TIMES_AS_LONG = 4
"""Looking everywhere takes at most a fifth of the time: after each look this many times as long goes by without one."""
PASSED_OVER = 0.75
"""How much of what others are thought to have taken a claim does not look at."""
MOST_TAKEN = 16
"""How many times as much as one claim of ours others are thought to take at most until the next."""

_NOTHING = timedelta(0)
_ALWAYS = datetime.min.replace(tzinfo=UTC)


class ClaimCursor:
    """Remembers how far the last claim came, so that the next one can begin there.

    PostgreSQL keeps the traces of jobs that were handed out until nobody can see them any more and the table was
    vacuumed, and a look from the beginning passes all of them. A claim that got all it asked for took what came before
    its last job, and a hint that comes when all are taken mostly speaks of a job behind it. What has become available
    before that since then is found by looking everywhere: a few times a second while there is more than is asked for,
    soon after a claim that came back with less, and at once after one that came back with nothing.

    Where other workers take from the line, a claim begins behind what they will have taken: to find jobs taken costs
    nearly as much as to take them. The distance between the last job of one claim and the first of the next is what
    they took, or a gap in the line. If it was a gap, what was passed over is found by looking everywhere, too, and
    worked off before anything is passed over again.
    """

    def __init__(self) -> None:
        self._pairs: Sequence[Wanted] = ()
        self._turn: datetime | None = None
        self._furthest: datetime | None = None
        self._has_more = False
        # How far the last claim reached, and how far behind the one before it began.
        self._stretch = self._distance = _NOTHING
        self.has_competitors = False
        """Whether other workers take from the same lines; a worker by itself passes nothing over."""
        # Inf when the last look was everywhere and took all there was.
        self._everywhere_at = inf
        self.owed_at = inf
        """When to look everywhere after a claim that came back with less and had not; until somebody resets it."""

    def since(self, pairs: Sequence[Wanted], now: float, *, is_hinted: bool = False) -> datetime | None:
        """The first turn to scan for jobs of these pairs; None to scan from the beginning."""
        if pairs != self._pairs or any(pair.fair is not None for pair in pairs):
            self._pairs, self._turn, self._furthest = pairs, None, None
            self._stretch = self._distance = _NOTHING
        if now >= self._everywhere_at or not (self._has_more or is_hinted):
            return None
        if self._turn is None or not self._has_more or self._turn != self._furthest:
            return self._turn
        return self._turn + self._taken_by_others * PASSED_OVER

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
        has_passed_some = since is not None and self._turn is not None and since > self._turn
        had_more, self._has_more = self._has_more, len(claims) >= limit
        # Suspects stand in a line of their own.
        first = next((claim.turn for claim in claims if not claim.is_suspect), None)
        last = next((claim.turn for claim in reversed(claims) if not claim.is_suspect), None)
        if first is not None and last is not None:
            # Jobs that were stored together have one turn, which says nothing about how much a claim takes.
            self._stretch = last - first if last > first else self._stretch
            if had_more and since is not None and self._turn is not None:
                self._distance = first - self._turn
            self._turn = last
            self._furthest = max(self._furthest or last, last) if self._has_more else last
        if not self._has_more:
            self._distance = _NOTHING
        every = EVERYWHERE_IN_COMPANY if self._taken_by_others else EVERYWHERE_EVERY
        if since is None:
            self._everywhere_at = now + max(every, TIMES_AS_LONG * took) if self._has_more else inf
            return
        is_sure = claims and (self._has_more or not has_passed_some)
        self._everywhere_at = min(self._everywhere_at, now + every if is_sure else now)
        if not self._has_more:
            self.owed_at = min(self.owed_at, self._everywhere_at)

    @property
    def _taken_by_others(self) -> timedelta:
        """How much of the line others take until our next claim."""
        if not self.has_competitors or self._distance <= self._stretch / 2:
            return _NOTHING
        return min(self._distance, self._stretch * MOST_TAKEN)
