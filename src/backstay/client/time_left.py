"""A time limit for several waits in a row."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta


class TimeLeft:
    """What is left of a time limit, each time it is asked."""

    def __init__(self, timeout: timedelta | float | None, monotonic: Callable[[], float]) -> None:
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        self._monotonic = monotonic
        self._until = None if seconds is None else monotonic() + seconds

    def __call__(self) -> timedelta | None:
        """The time that is left, never less than none; None without a limit."""
        return None if self._until is None else timedelta(seconds=max(self._until - self._monotonic(), 0))
