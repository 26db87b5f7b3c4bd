"""Usage roll-over, plan limits, enforcement and the comparison with Stripe."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay_watchpoint.domain.plans import (
    OVERAGE_GRACE,
    PAYMENT_GRACE,
    Candidate,
    DayUsage,
    PlanLimits,
    excess,
    is_grace_over,
    is_within,
    overage_started_at,
)
from backstay_watchpoint.domain.subscriptions import BillingState, drift, payment_failed_at, stale_before
from backstay_watchpoint.domain.usage import Counter, Snapshot, fresh_counter, merge, roll_over, target_date

NOW = datetime(2026, 3, 18, 1, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 18, tzinfo=UTC)
LIMITS = PlanLimits(watchpoints_max=5, api_calls_daily_max=100)


def counter(calls: int, period_end: datetime) -> Counter:
    return Counter("org", "web", calls, 4, period_end - timedelta(days=1), period_end)


def test_a_period_that_has_ended_is_closed_and_counted_anew() -> None:
    """WPT-027, WPT-028: the snapshot has the counts, the counter starts at 0 until the next UTC midnight."""
    closed = roll_over(counter(17, MIDNIGHT), NOW)

    assert closed is not None
    assert closed[0] == Snapshot("org", date(2026, 3, 17), "web", 17, 4)
    assert closed[1] == Counter("org", "web", 0, 0, NOW, datetime(2026, 3, 19, tzinfo=UTC))


def test_a_current_period_goes_on() -> None:
    """WPT-028: only rows whose period has ended; at its very end it has not."""
    assert roll_over(counter(17, MIDNIGHT + timedelta(days=1)), NOW) is None
    assert roll_over(counter(17, MIDNIGHT), MIDNIGHT) is None
    assert roll_over(counter(17, MIDNIGHT), MIDNIGHT + timedelta(microseconds=1)) is not None


@pytest.mark.parametrize("days", [1, 2, 3])
def test_a_late_snapshot_bears_the_day_of_its_period(days: int) -> None:
    """WPT-029: three missed days are dated right; the nightly run closes the day before."""
    closed = roll_over(counter(1, MIDNIGHT - timedelta(days=days - 1)), NOW)

    assert closed is not None
    assert closed[0].date == date(2026, 3, 18) - timedelta(days=days)
    assert target_date(NOW) == date(2026, 3, 17)


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 36)), max_size=30))
def test_no_call_is_lost_however_roll_overs_fall(calls: list[tuple[int, int]]) -> None:
    """WPT-027: what was closed and what is open is what was called."""
    at, current, closed = MIDNIGHT, fresh_counter("org", "web", MIDNIGHT), 0
    for count, hours in calls:
        at += timedelta(hours=hours)
        rolled = roll_over(current, at)
        if rolled is not None:
            closed += rolled[0].api_calls
            current = rolled[1]
        current = Counter(
            "org", "web", current.api_calls + count, 0, current.period_start, current.period_end
        )

    assert closed + current.api_calls == sum(count for count, _ in calls)


def test_two_snapshots_of_a_day_add_calls_and_keep_the_larger_stock() -> None:
    """WPT-028: a conflict updates the row."""
    first, second = (
        Snapshot("org", date(2026, 3, 17), "web", 5, 9),
        Snapshot("org", date(2026, 3, 17), "web", 7, 2),
    )

    assert merge(first, second) == Snapshot("org", date(2026, 3, 17), "web", 12, 9)


@pytest.mark.parametrize(("calls", "within"), [(60 + 50, False), (60 + 40, True), (99, True), (101, False)])
def test_equal_to_the_limit_is_within(calls: int, within: bool) -> None:
    """WPT-031: the sum over all sources counts."""
    assert is_within(DayUsage(calls, 5), LIMITS) is within
    assert is_within(DayUsage(0, 6), LIMITS) is False
    assert is_within(DayUsage(10**9, 10**9), PlanLimits(None, None)) is True


def test_an_overage_starts_once_and_ends_with_a_day_within() -> None:
    """WPT-031: cleared by a good day, set by the first bad one, kept by further ones."""
    earlier = NOW - timedelta(days=3)

    assert overage_started_at(DayUsage(110, 1), LIMITS, None, NOW) == NOW
    assert overage_started_at(DayUsage(110, 1), LIMITS, earlier, NOW) == earlier
    assert overage_started_at(DayUsage(100, 1), LIMITS, earlier, NOW) is None


@pytest.mark.parametrize("grace", [PAYMENT_GRACE, OVERAGE_GRACE])
def test_exactly_the_grace_period_is_not_over(grace: timedelta) -> None:
    """WPT-032: 7 and 14 days to the second."""
    assert is_grace_over(NOW - grace, NOW, grace) is False
    assert is_grace_over(NOW - grace - timedelta(seconds=1), NOW, grace) is True
    assert is_grace_over(None, NOW, grace) is False


def test_the_newest_beyond_the_plan_are_paused() -> None:
    """WPT-032: limit 5 with 8 pauses the 3 newest; a second time none."""
    active = [Candidate(f"w{number}", NOW + timedelta(minutes=number)) for number in range(8)]

    assert [found.id for found in excess(active[::-1], LIMITS)] == ["w7", "w6", "w5"]
    assert excess(active[:5], LIMITS) == []
    assert excess(active, PlanLimits(None, None)) == []


def test_drift_is_any_difference_and_no_subscription_is_the_free_plan() -> None:
    """WPT-042, WPT-044: plan and status are compared; a missing subscription means free, cancelled."""
    ours = BillingState("pro", "active")

    assert drift(ours, BillingState("pro", "active")) is None
    found = drift(ours, BillingState("business", "past_due"))
    assert found is not None
    assert found.message == "pro/active here, business/past_due at Stripe"
    gone = drift(ours, None)
    assert gone is not None
    assert gone.theirs == BillingState("free", "canceled")


def test_missing_payment_counts_from_when_it_was_first_seen() -> None:
    """WPT-042: the update is the webhook's."""
    earlier = NOW - timedelta(days=2)

    assert payment_failed_at(BillingState("pro", "past_due"), None, NOW) == NOW
    assert payment_failed_at(BillingState("pro", "past_due"), earlier, NOW) == earlier
    assert payment_failed_at(BillingState("pro", "active"), earlier, NOW) is None


def test_a_daily_run_finds_an_organisation_every_day() -> None:
    """WPT-042: stamped with the reference time and compared inclusively, nobody is left out every second day."""
    synced: datetime | None = None
    found = []
    for day in range(8):
        now = MIDNIGHT + timedelta(days=day)
        if synced is None or synced <= stale_before(now):
            found.append(day)
            synced = now

    assert found == list(range(8))
