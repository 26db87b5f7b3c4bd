"""Answers that several visitors may share for a few seconds, so that open pages do not load the database."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from backstay.kit.environment import monotonic

T = TypeVar("T")

MOST_KEPT = 500


@dataclass
class _Answer(Generic[T]):
    value: T
    at: float


class Recent(Generic[T]):
    """Keeps what was asked under a key for `seconds`; callers of the same moment wait for one answer."""

    def __init__(self, seconds: float, *, clock: Callable[[], float] = monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._answers: dict[str, _Answer[T]] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def get(self, key: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Return the kept answer, or ask for a new one."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            kept = self._answers.get(key)
            if kept is None or self._clock() - kept.at > self._seconds:
                if len(self._answers) > MOST_KEPT:
                    self._answers.clear()
                kept = self._answers[key] = _Answer(await ask(), self._clock())
            return kept.value

    def forget(self) -> None:
        """Ask anew from now on: somebody has changed something and wants to see it."""
        self._answers.clear()
