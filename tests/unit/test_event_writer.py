"""Events go to a log or a hook on a thread of their own, whatever those do with them."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from backstay.settings.event_writer import MOST_WAITING, EventWriter
from backstay.settings.logs import log_event

SOON = 20


def test_events_are_told_in_order_and_all_before_the_end() -> None:
    told: list[tuple[str, int]] = []
    writer = EventWriter(
        lambda event, /, **facts: told.append((threading.current_thread().name, facts["jobs"]))
    )

    writer.open()
    for number in range(1000):
        writer("jobs.claimed", jobs=number)
    writer.close()

    assert told == [("backstay-events", number) for number in range(1000)]


def test_a_hook_that_raises_loses_its_event_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []

    def tell(event: str, /, **facts: Any) -> None:
        if event == "jobs.claimed":
            raise SystemExit("no more")
        told.append(event)

    writer = EventWriter(tell)
    with caplog.at_level(logging.ERROR, logger="backstay"):
        writer.open()
        writer("jobs.claimed", jobs=1)
        writer("jobs.completed", jobs=1)
        writer.close()

    assert told == ["jobs.completed"]
    assert [record.getMessage() for record in caplog.records] == ["hook.failed"]


def test_a_hook_that_does_not_return_holds_up_nobody_and_what_is_lost_is_counted() -> None:
    told: list[dict[str, Any]] = []
    is_in, may_go_on, has_counted = threading.Event(), threading.Event(), threading.Event()

    def tell(event: str, /, **facts: Any) -> None:
        is_in.set()
        assert may_go_on.wait(SOON)
        told.append(facts)
        if event == "events.dropped":
            has_counted.set()

    writer = EventWriter(tell)
    writer.open()
    writer("jobs.claimed", jobs=0)
    assert is_in.wait(SOON)
    for number in range(1, MOST_WAITING + 4):
        writer("jobs.claimed", jobs=number)
    writer.close(timeout=0)
    may_go_on.set()

    assert has_counted.wait(SOON)
    assert told[-2:] == [{"jobs": MOST_WAITING}, {"events": 3}]


def test_what_the_log_does_not_want_is_not_kept_for_it(caplog: pytest.LogCaptureFixture) -> None:
    writer = EventWriter(log_event)

    with caplog.at_level(logging.INFO, logger="backstay"):
        writer("jobs.claimed", jobs=1)
        writer("leader.elected", worker="one")

    assert [record.getMessage() for record in caplog.records] == ["leader.elected"]
