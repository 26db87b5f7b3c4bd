"""Hands events on from a thread of its own, so that neither a log nor a hook can hold up or end the engine."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from backstay.model.events import Emit
from backstay.settings.logs import is_logged, log_event

MOST_WAITING = 10_000
"""How many events wait for a slow log or hook; those after them are lost, and counted."""

FLUSH_SECONDS = 2.0


class EventWriter:
    """Takes events from any thread without waiting, and tells them one after another.

    What the hook raises is logged and harms nobody. Before it is opened and after it is closed, events are told at
    once, by whoever has them.
    """

    def __init__(self, tell: Emit) -> None:
        self._tell = tell
        self._is_wanted: Callable[[str], bool] = is_logged if tell is log_event else lambda event: True
        self._waiting: deque[Callable[[], None]] = deque()
        self._dropped = 0
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_busy = False
        self._is_open = False

    def __call__(self, event: str, /, **facts: Any) -> None:
        """Tell of an event soon."""
        if not self._is_wanted(event):
            return
        with self._condition:
            if self._is_open:
                return self._put(partial(self._tell, event, **facts))
        self._tell_safely(partial(self._tell, event, **facts))

    def open(self) -> None:
        """Tell from now on from a thread of its own."""
        with self._condition:
            self._is_open = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="backstay-events", daemon=True)
                self._thread.start()

    def close(self, *, timeout: float = FLUSH_SECONDS) -> None:
        """Wait until everything is told, but not for long: a log that nobody reads must not keep the program."""
        with self._condition:
            self._condition.wait_for(lambda: not self._waiting and not self._is_busy, timeout)
            self._is_open, self._thread = False, None
            self._condition.notify_all()

    def _put(self, telling: Callable[[], None]) -> None:
        if len(self._waiting) >= MOST_WAITING:
            self._dropped += 1
            return
        self._waiting.append(telling)
        if not self._is_busy:
            self._condition.notify_all()

    def _run(self) -> None:
        while (telling := self._next()) is not None:
            self._tell_safely(telling)

    def _next(self) -> Callable[[], None] | None:
        with self._condition:
            self._is_busy = False
            if not self._waiting:
                self._condition.notify_all()
            self._condition.wait_for(lambda: self._waiting or self._dropped or not self._is_open)
            self._is_busy = True
            if self._waiting:
                return self._waiting.popleft()
            if not self._dropped:
                return None
            dropped, self._dropped = self._dropped, 0
            return partial(self._tell, "events.dropped", events=dropped)

    def _tell_safely(self, telling: Callable[[], None]) -> None:
        try:
            telling()
        except (
            BaseException
        ) as error:  # the user's code: it must not end the thread that tells all the others
            _report(error)


def _report(error: BaseException) -> None:
    try:
        log_event("hook.failed", error=error)
    except Exception:  # a log of the user's, too
        return
