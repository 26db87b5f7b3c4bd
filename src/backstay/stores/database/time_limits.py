"""Time limits of transactions: one thread watches all of them, because most end long before their limit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class TimeLimit:
    """One limit; `call` is called when its time is over, unless it was lifted before."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def lift(self) -> None:
        """Never call."""
        self._call = None

    def reach(self) -> None:
        """Call, if it was not lifted."""
        if (call := self._call) is not None:
            call()


class TimeLimits:
    """Limits by a clock of the caller's; the thread runs while there are any, lifted ones included."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._due: list[tuple[float, int, TimeLimit]] = []
        self._numbers = count()
        self._changed = threading.Condition()
        self._is_watched = False

    def set(self, seconds: float, call: Callable[[], None]) -> TimeLimit:
        """Call this after so long."""
        limit = TimeLimit(call)
        with self._changed:
            heappush(self._due, (self._monotonic() + seconds, next(self._numbers), limit))
            if not self._is_watched:
                self._is_watched = True
                threading.Thread(target=self._watch, name="backstay-time-limits", daemon=True).start()
            elif self._due[0][2] is limit:
                self._changed.notify()
        return limit

    def _watch(self) -> None:
        while (limit := self._next()) is not None:
            limit.reach()

    def _next(self) -> TimeLimit | None:
        """The limit whose time is over, when it is; None when there are none left."""
        with self._changed:
            while self._due:
                left = self._due[0][0] - self._monotonic()
                if left <= 0:
                    return heappop(self._due)[2]
                self._changed.wait(left)
            self._is_watched = False
            return None
