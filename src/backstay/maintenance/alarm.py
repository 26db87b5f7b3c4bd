"""Calls a duty when its time has come, or as soon as that time has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress


class Alarm:
    """When a duty is due next; set anew as soon as a sooner time is known."""

    def __init__(self, due_in: float | None, *, shortest: float) -> None:
        self.due_in = due_in
        """So many seconds from when it was set, None when nothing is known to become due."""
        self._shortest = shortest
        self._changed = asyncio.Event()

    def set(self, due_in: float | None) -> None:
        """Wait for another time from now on."""
        self.due_in = due_in
        self._changed.set()

    async def call(self, serve: Callable[[], Awaitable[None]]) -> None:
        """Call whenever it is due, until cancelled; what is called leaves in `due_in` when it is due next."""
        while True:
            if self.due_in is not None and self.due_in <= 0:
                await serve()
            self._changed.clear()
            wait = None if self.due_in is None else max(self.due_in, self._shortest)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._changed.wait()
                    continue
            self.due_in = 0.0
