"""How many requests somebody may send: tokens come evenly, and some are kept for a burst."""

from __future__ import annotations

from collections import OrderedDict
from math import ceil

from backstay.errors import InvalidSettings
from backstay.kit.environment import monotonic
from backstay.kit.problems import Problem

MOST_NAMES = 10_000


class RequestRate:
    """Lets each name send `a_minute` requests, and `burst` at once; more is answered with 429.

    Kept in this process, so that several processes let through as many times more.
    """

    def __init__(self, a_minute: int, *, burst: int | None = None) -> None:
        if a_minute < 1 or (burst is not None and burst < 1):
            raise InvalidSettings(
                "a rate of requests needs at least one a minute, and a burst of at least one"
            )
        self._a_second, self._burst = a_minute / 60, float(a_minute if burst is None else burst)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._now = monotonic

    def check(self, name: str) -> None:
        """Take a token of this name; raises a 429 problem where none is left."""
        now = self._now()
        left, at = self._left.pop(name, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._a_second)
        self._left[name] = (left - 1 if left >= 1 else left, now)
        # Whoever was quiet for longest has a full burst again, or nearly.
        while len(self._left) > MOST_NAMES:
            self._left.popitem(last=False)
        if left < 1:
            seconds = ceil((1 - left) / self._a_second)
            raise Problem(
                429,
                "too_many_requests",
                f"That is more than may be sent. Try again in {seconds} seconds.",
                headers={"Retry-After": str(seconds)},
            )
