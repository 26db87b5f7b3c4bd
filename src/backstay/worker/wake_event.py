"""Something to wait for that any thread may ring."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress


class WakeEvent:
    """Wakes the one coroutine that waits for it; ringing twice before it looks is the same as once."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._event = asyncio.Event()
        self._is_ringing = False

    def attach(self) -> None:
        """Belong to the loop that runs now."""
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        if self._is_ringing:
            self._event.set()

    def ring(self) -> None:
        """Wake the waiter, from whatever thread."""
        if self._is_ringing:
            return
        self._is_ringing = True
        loop = self._loop
        if threading.get_ident() == self._thread:
            self._event.set()
        elif loop is not None:
            # The loop may have closed while a handler was still at work; then nobody waits any more.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._event.set)

    async def wait(self, timeout: float | None = None) -> bool:
        """Wait to be woken; False when `timeout` seconds passed first."""
        try:
            async with asyncio.timeout(timeout):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        # In this order: what is rung from here on wakes the next wait.
        self._is_ringing = False
        return True
