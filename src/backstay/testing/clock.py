"""Time that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOON = datetime(2030, 5, 17, 12, 0, tzinfo=UTC)


class FrozenClock:
    """A clock to hand to `open_database(url, clock=…)`: it says the same time until it is moved.

    >>> clock = FrozenClock()
    >>> clock.advance(timedelta(minutes=5))
    >>> clock() - NOON
    datetime.timedelta(seconds=300)
    """

    def __init__(self, start: datetime = NOON) -> None:
        if start.tzinfo is None:
            raise ValueError(f"{start!r} has no time zone: a clock needs one")
        self._now = start

    def __call__(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> None:
        """Move on by this much."""
        self._now += by

    def set(self, to: datetime) -> None:
        """Move to this moment, forwards or back."""
        if to.tzinfo is None:
            raise ValueError(f"{to!r} has no time zone: a clock needs one")
        self._now = to
