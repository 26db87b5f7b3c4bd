"""What one worker does once a second for the lists in Redis."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from backstay.dispatch.lines import DUE_IN_ONE_PASS, Lines
from backstay.dispatch.mirror import Mirror
from backstay.model.records import Vitals
from backstay.runtime.env import Env

LOOK_EVERY = 1.0
BEAT_EVERY = 10.0
MEND_EVERY = 10.0

Describe = Callable[[], tuple[str, str, Vitals]]
"""The id of a worker, its type, and how it is."""


class Repairs(Protocol):
    """What is done when Redis has lost something."""

    def mend(self) -> Awaitable[int]:
        """Put back those of the first in line that are missing; returns how many."""
        ...

    def rebuild_if_returned(self, seen: int) -> Awaitable[int]:
        """Make the lists anew if Redis was away and has come back; returns how often it has."""
        ...


class ListKeeper:
    """Starts what is due, gives signs of life, and sees whether anything was lost."""

    def __init__(self, lines: Lines, mirror: Mirror, repairs: Repairs, worker: Describe, env: Env) -> None:
        self._lines, self._mirror, self._repairs = lines, mirror, repairs
        self._worker, self._env = worker, env
        self._beat_at = self._mend_at = 0.0
        self._returned = 0

    async def keep(self) -> None:
        """Look again and again, until cancelled; then the worker is taken off the list."""
        try:
            while True:
                await self.look()
                await self._env.sleep(LOOK_EVERY)
        finally:
            await self._mirror.leave(self._worker()[0])

    async def look(self) -> None:
        """Look once."""
        now = self._env.monotonic()
        self._returned = await self._repairs.rebuild_if_returned(self._returned)
        await self._start_due()
        if now >= self._beat_at:
            self._beat_at = now + BEAT_EVERY
            worker, kind, vitals = self._worker()
            self._mirror.beat(worker, _stats(kind, vitals))
        if now >= self._mend_at:
            self._mend_at = now + MEND_EVERY
            await self._repairs.mend()

    async def _start_due(self) -> None:
        moved = DUE_IN_ONE_PASS
        while moved == DUE_IN_ONE_PASS:
            moved = await self._lines.move_due(int(self._env.wall().timestamp() * 1000))


def _stats(kind: str, vitals: Vitals) -> dict[str, object]:
    return {
        "type": kind,
        "running": vitals.running,
        "settled": vitals.settled,
        "cpu_percent": "" if vitals.cpu_percent is None else vitals.cpu_percent,
        "rss_mb": "" if vitals.rss_mb is None else vitals.rss_mb,
    }
