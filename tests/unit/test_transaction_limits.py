"""Time limits of transactions, watched by one thread."""

from __future__ import annotations

import threading
import time
from queue import Queue

from backstay.stores.database.time_limits import TimeLimits

PATIENCE = 30


def test_what_is_over_is_called_in_the_order_of_its_end() -> None:
    limits, called = TimeLimits(time.monotonic), Queue[str]()

    limits.set(0.05, lambda: called.put("later"))
    limits.set(0.0, lambda: called.put("at once"))

    assert [called.get(timeout=PATIENCE), called.get(timeout=PATIENCE)] == ["at once", "later"]


def test_what_was_lifted_is_never_called() -> None:
    limits, called = TimeLimits(time.monotonic), Queue[str]()

    limits.set(0.01, lambda: called.put("lifted")).lift()
    limits.set(0.02, lambda: called.put("kept"))

    assert called.get(timeout=PATIENCE) == "kept"
    assert called.empty()


def test_one_thread_watches_all_and_leaves_when_nothing_is_left() -> None:
    limits, called = TimeLimits(time.monotonic), Queue[int]()

    for number in range(20):
        limits.set(0.05, lambda number=number: called.put(number))  # type: ignore[misc]  # bound early
    watching = [thread for thread in threading.enumerate() if thread.name == "backstay-time-limits"]

    assert len(watching) == 1
    assert sorted(called.get(timeout=PATIENCE) for _ in range(20)) == list(range(20))
    watching[0].join(PATIENCE)
    assert not watching[0].is_alive()
    limits.set(0.0, lambda: called.put(99))
    assert called.get(timeout=PATIENCE) == 99
