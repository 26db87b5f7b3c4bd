"""Service levels: each at its boundary, and unknown where nothing was measured."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from backstay.model.figures import Figures, FiguresAt
from backstay.model.records import WorkerRecord
from backstay.model.service_levels import ServiceSituation, percentile_95, service_levels, uptime_percent

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def judged(**facts: object) -> dict[str, bool | None]:
    nothing: dict[str, object] = {
        "submissions_ms": [],
        "whole": Figures(),
        "minutes": [],
        "waiting": 0,
        "workers": [],
    }
    seen = ServiceSituation(**{**nothing, **facts}, since=NOW - DAY, now=NOW)  # type: ignore[arg-type]  # a table of facts
    return {level.name: level.holds for level in service_levels(seen)}


def minute(completed: int) -> list[FiguresAt]:
    return [FiguresAt(NOW, Figures(completed=completed))]


def worker(state: str, *, started: timedelta, heard: timedelta) -> WorkerRecord:
    return WorkerRecord(
        id="w",
        state=state,
        host="h",
        boot_id=None,
        pid=1,
        version="1",
        kinds=(),
        queues=(),
        concurrency=1,
        running=0,
        started_at=NOW - started,
        heartbeat_at=NOW - heard,
        silent_for=heard,
    )


@pytest.mark.parametrize(
    ("level", "facts", "holds"),
    [
        ("submission_p95", {"submissions_ms": [99.9] * 20}, True),
        ("submission_p95", {"submissions_ms": [100.0] * 20}, False),
        ("submission_p95", {"submissions_ms": [5.0] * 19 + [900.0]}, True),
        ("start_p95", {"whole": Figures(wait_p95_ms=4999.0)}, True),
        ("start_p95", {"whole": Figures(wait_p95_ms=5000.0)}, False),
        ("completion", {"whole": Figures(completed=96, dead=4)}, True),
        ("completion", {"whole": Figures(completed=95, dead=5)}, False),
        ("dead", {"whole": Figures(completed=995, dead=5)}, True),
        ("dead", {"whole": Figures(completed=99, dead=1)}, False),
        ("jobs_a_minute", {"minutes": minute(101)}, True),
        ("jobs_a_minute", {"minutes": minute(100), "waiting": 1}, False),
        ("jobs_a_minute", {"minutes": minute(100), "waiting": 0}, None),
    ],
)
def test_each_level_holds_just_beyond_its_limit(
    level: str, facts: dict[str, object], holds: bool | None
) -> None:
    """ENG-143."""
    assert judged(**facts)[level] is holds


def test_nothing_is_said_where_nothing_was_measured() -> None:
    assert set(judged().values()) == {None}
    assert percentile_95([]) is None


def test_a_worker_that_died_counts_as_away() -> None:
    alive = worker("alive", started=DAY, heard=timedelta(0))
    stopped = worker("stopped", started=DAY, heard=DAY / 2)
    dead = worker("dead", started=DAY, heard=timedelta(minutes=6))

    assert uptime_percent([alive, stopped], NOW - DAY, NOW) == 100
    assert uptime_percent([dead], NOW - DAY, NOW) == pytest.approx(100 * (1 - 6 / 1440))
    assert judged(workers=[alive])["worker_uptime"] is True
    assert judged(workers=[dead, stopped])["worker_uptime"] is True
    assert judged(workers=[worker("dead", started=DAY, heard=DAY / 2)])["worker_uptime"] is False
