"""A brake on guessing: after some failures each further one costs a longer wait."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta

from backstay.kit.environment import monotonic
from backstay.kit.problems import Problem


@dataclass
class _Failures:
    count: int
    blocked_until: float
    forget_at: float


class Throttle:
    """Counts failures by a name (an account, an address) and says how long to wait.

    The first `free` failures cost nothing, each further one doubles the wait up to `longest`. Kept in this
    process; the oldest names are forgotten beyond `most` of them, so that guessing cannot fill the memory.
    """

    def __init__(
        self,
        *,
        free: int = 5,
        first: timedelta = timedelta(seconds=2),
        longest: timedelta = timedelta(minutes=15),
        most: int = 10_000,
    ) -> None:
        self._free = free
        self._first = first.total_seconds()
        self._longest = longest.total_seconds()
        self._most = most
        self._failures: OrderedDict[str, _Failures] = OrderedDict()
        self._now = monotonic

    def check(self, *names: str) -> None:
        """Raise a 429 problem if one of the names still has to wait."""
        wait = max((self.wait_of(name) for name in names), default=0.0)
        if wait > 0:
            seconds = int(wait) + 1
            raise Problem(
                429,
                "too_many_attempts",
                f"Too many failed attempts. Try again in {seconds} seconds.",
                headers={"Retry-After": str(seconds)},
            )

    def wait_of(self, name: str) -> float:
        """Return the seconds that a name still has to wait."""
        known = self._failures.get(name)
        return max(known.blocked_until - self._now(), 0.0) if known else 0.0

    def failed(self, *names: str) -> None:
        """Count a failure."""
        now = self._now()
        for name in names:
            known = self._failures.pop(name, None)
            count = known.count + 1 if known and known.forget_at > now else 1
            wait = (
                min(self._first * 2 ** min(count - self._free - 1, 30), self._longest)
                if count > self._free
                else 0
            )
            self._failures[name] = _Failures(count, now + wait, now + wait + self._longest)
        while len(self._failures) > self._most:
            self._failures.popitem(last=False)

    def succeeded(self, *names: str) -> None:
        """Forget the failures of somebody who got in."""
        for name in names:
            self._failures.pop(name, None)
