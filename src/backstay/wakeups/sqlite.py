"""Hints on one host: within the process at once, between processes by the file's version number."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress

from backstay.wakeups.contract import ANYTHING

LOOK_EVERY = 0.025
AGAIN_AFTER = 1.0

_listeners: dict[str, list[Callable[[str], None]]] = {}
_lock = threading.Lock()


class SqliteWakeups:
    """Tells listeners of this process directly; sees other processes' commits by looking."""

    def __init__(self, path: str) -> None:
        self._path = path

    @property
    def can_listen(self) -> bool:
        return True

    def may_ride(self) -> bool:
        return False

    def send(self, *hints: str) -> None:
        with _lock:
            listeners = list(_listeners.get(self._path, ()))
        for listener in listeners:
            for hint in hints:
                listener(hint)

    async def listen(self, on_hint: Callable[[str], None]) -> None:
        loop = asyncio.get_running_loop()
        stop = threading.Event()

        def from_anywhere(hint: str) -> None:
            # The listener's loop may be closing down while another thread still sends.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(on_hint, hint)

        with _lock:
            _listeners.setdefault(self._path, []).append(from_anywhere)
        try:
            if self._path == ":memory:":
                await asyncio.Event().wait()
            await asyncio.to_thread(_watch, self._path, from_anywhere, stop)
        finally:
            stop.set()
            with _lock:
                _listeners[self._path].remove(from_anywhere)

    async def close(self) -> None:
        """Nothing to stop: hints are passed on at once."""


def _watch(path: str, on_change: Callable[[str], None], stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            _watch_version(path, on_change, stop)
        except sqlite3.Error:
            # Workers poll meanwhile, and tell what is wrong with the file when they claim.
            stop.wait(AGAIN_AFTER)


def _watch_version(path: str, on_change: Callable[[str], None], stop: threading.Event) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        seen = None
        while not stop.wait(LOOK_EVERY):
            version = connection.execute("PRAGMA data_version").fetchone()[0]
            if version != seen:
                seen = version
                on_change(ANYTHING)
    finally:
        connection.close()
