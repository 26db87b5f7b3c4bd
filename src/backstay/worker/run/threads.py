"""Threads for `def` handlers; they end with the process, even if a handler never returns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue


class ThreadPool:
    """Up to `size` threads, started when they are first needed."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], None]) -> None:
        """Run this in a thread as soon as one is free; it must not raise."""
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
            elif len(self._threads) < self._size:
                # Daemons: a handler that never returns must not keep the process from leaving.
                name = f"backstay-handler-{len(self._threads)}"
                thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()
        self._work.put(work)

    def close(self) -> None:
        """Let every idle thread end."""
        for _ in self._threads:
            self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()
            with self._lock:
                self._idle += 1
