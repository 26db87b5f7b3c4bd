"""Figures: counting attempts, adding them up, and estimating percentiles."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.model.figures import (
    Figures,
    Measure,
    Period,
    Tallied,
    TalliedAt,
    bucket_of,
    by_kind,
    by_time,
    figures_of,
    percentile,
)

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def tallied(
    measure: Measure = Measure.COMPLETED, *, jobs: int = 1, ms: int = 5, kind: str = "send"
) -> Tallied:
    return Tallied(
        queue="mail", kind=kind, measure=measure, bucket=bucket_of(ms), jobs=jobs, took_ms=jobs * ms
    )


def test_attempts_are_added_up_by_how_they_ended() -> None:
    found = figures_of([tallied(jobs=6), tallied(Measure.FAILED, jobs=1, ms=40), tallied(Measure.CRASHED)])

    assert (found.completed, found.failed, found.crashed, found.ended) == (6, 1, 1, 8)
    assert found.success_rate == 0.75
    assert found.average_ms == 10


def test_without_attempts_there_are_no_rates() -> None:
    assert figures_of([]) == Figures()
    assert Figures().success_rate is None


def test_a_crash_says_nothing_about_durations() -> None:
    found = figures_of([tallied(Measure.CRASHED, jobs=5, ms=0)])

    assert (found.average_ms, found.p50_ms) == (None, None)


@given(st.lists(st.integers(0, 10_000_000), min_size=1, max_size=200), st.sampled_from([0.5, 0.95, 0.99]))
def test_a_percentile_lies_in_the_bucket_of_the_true_one(durations: list[int], share: float) -> None:
    buckets: dict[int, int] = {}
    for each in durations:
        buckets[bucket_of(each)] = buckets.get(bucket_of(each), 0) + 1
    rank = max(1, -(-len(durations) * int(share * 100) // 100))
    true = sorted(durations)[rank - 1]

    estimate = percentile(buckets, share)

    assert estimate is not None
    assert estimate <= max(1, 2 * true) or true == 0
    assert estimate >= true / 2


def test_figures_are_grouped_by_time_and_by_kind() -> None:
    later = NOON + timedelta(minutes=1)
    found = [
        TalliedAt(later, tallied(kind="b")),
        TalliedAt(NOON, tallied(kind="a")),
        TalliedAt(NOON, tallied(kind="b", jobs=2)),
    ]

    assert [(one.at, one.figures.completed) for one in by_time(found, Period.MINUTE)] == [
        (NOON, 3),
        (later, 1),
    ]
    assert [(one.kind, one.figures.completed) for one in by_kind(found)] == [("a", 1), ("b", 3)]


@pytest.mark.parametrize(("ms", "bucket"), [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (1023, 10), (1024, 11)])
def test_buckets_double(ms: int, bucket: int) -> None:
    assert bucket_of(ms) == bucket


def test_waits_and_deaths_are_told_beside_the_ends_of_attempts() -> None:
    waits = [tallied(Measure.WAITED, jobs=3, ms=40), tallied(Measure.WAITED, jobs=1, ms=0)]

    found = figures_of([tallied(Measure.FAILED, jobs=4), tallied(Measure.DEAD, jobs=2, ms=0), *waits])

    assert (found.failed, found.dead, found.ended) == (4, 2, 4)
    assert (found.average_ms, found.wait_average_ms) == (5, 30)
    assert found.wait_p95_ms is not None
    assert 32 <= found.wait_p95_ms <= 64


@pytest.mark.parametrize(
    ("period", "begin"),
    [
        (Period.MINUTE, datetime(2026, 5, 7, 12, 34, tzinfo=UTC)),
        (Period.HOUR, datetime(2026, 5, 7, 12, tzinfo=UTC)),
        (Period.DAY, datetime(2026, 5, 7, tzinfo=UTC)),
        (Period.WEEK, datetime(2026, 5, 4, tzinfo=UTC)),
    ],
)
def test_periods_begin_where_they_do_on_a_calendar(period: Period, begin: datetime) -> None:
    assert period.begin(datetime(2026, 5, 7, 12, 34, 56, 789, tzinfo=UTC)) == begin
    assert period.begin(begin) == begin


def test_days_are_added_up_from_hours() -> None:
    found = [TalliedAt(NOON, tallied()), TalliedAt(NOON + timedelta(hours=3), tallied(jobs=2))]

    [day] = by_time(found, Period.DAY)

    assert (day.at.hour, day.figures.completed) == (0, 3)
