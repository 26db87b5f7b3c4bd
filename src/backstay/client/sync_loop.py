"""The event loop behind blocking calls: one thread a process, started when first needed."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from backstay.errors import StoreError, SyncOnLoop

T = TypeVar("T")


class SyncLoop:
    """Runs coroutines for callers that block; after a fork the child gets a thread of its own.

    `finish` is run on the loop before it ends, at the latest when the program exits.
    """

    def __init__(self, finish: Callable[[], Awaitable[Any]]) -> None:
        self._finish = finish
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._starting = threading.Lock()

    def run(self, call: Callable[[], Awaitable[T]], *, name: str) -> T:
        """Make the call on the background loop and wait for it; raises SyncOnLoop where a loop is running."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            raise SyncOnLoop(name)

        async def made() -> T:
            return await call()

        return asyncio.run_coroutine_threadsafe(made(), self._running()).result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None or self._pid != os.getpid():
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name="backstay-sync", daemon=True
                )
                self._thread.start()
                atexit.unregister(self._close_at_exit)
                atexit.register(self._close_at_exit)
            return self._loop

    def close(self) -> None:
        """Finish and end the thread."""
        with self._starting:
            loop, self._loop = self._loop, None
        if loop is None or self._pid != os.getpid():
            return

        async def finished() -> None:
            await self._finish()

        atexit.unregister(self._close_at_exit)
        asyncio.run_coroutine_threadsafe(finished(), loop).result(timeout=10)
        loop.call_soon_threadsafe(loop.stop)
        if self._thread is not None:
            self._thread.join(timeout=2)

    def _close_at_exit(self) -> None:
        # Everything that was promised is committed; only courtesy is lost where the database is out of reach.
        with suppress(StoreError, TimeoutError):
            self.close()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()
