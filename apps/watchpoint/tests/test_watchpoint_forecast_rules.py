"""Layouts, pairing, polling and the reconcile state machine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay_watchpoint.domain import layouts
from backstay_watchpoint.domain.forecasts import TIMEOUTS, Model, RunStatus, kept_since, tile_of
from backstay_watchpoint.domain.layouts import SourceId
from backstay_watchpoint.domain.nowcast import pair
from backstay_watchpoint.domain.polling import Available, KnownRun, PollInput, choose, look_since
from backstay_watchpoint.domain.reconcile import (
    CancelAndFail,
    GiveUp,
    LeaveAlone,
    MarkComplete,
    ProviderState,
    Resubmit,
    decide,
    is_overdue,
)

NOW = datetime(2026, 3, 18, 12, 40, tzinfo=UTC)
GOES = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)


def test_keys_of_the_public_layouts_are_read() -> None:
    """WPT-013: GFS, GOES and MRMS keys stand for moments."""
    run = datetime(2026, 3, 18, 6, tzinfo=UTC)
    radar = datetime(2026, 3, 18, 12, 2, 38, tzinfo=UTC)
    real_goes = (
        "ABI-L2-MCMIPC/2023/045/17/OR_ABI-L2-MCMIPC-M6_G16_s20230451701172_e20230451703545_c20230451704050.nc"
    )

    assert layouts.timestamp_of(SourceId.GFS, layouts.gfs_keys(run)[-1]) == run
    assert layouts.timestamp_of(SourceId.GOES, layouts.goes_key(GOES)) == GOES
    assert layouts.timestamp_of(SourceId.MRMS, layouts.mrms_key(radar)) == radar
    assert layouts.timestamp_of(SourceId.GOES, real_goes) == datetime(2023, 2, 14, 17, 1, 17, tzinfo=UTC)


@pytest.mark.parametrize(
    "key",
    [
        "gfs.20260318/06/atmos/gfs.t06z.pgrb2.0p25.f000",  # the run is still arriving
        "gfs.20260318/06/atmos/gfs.t12z.pgrb2.0p25.f120",  # contradicts itself
        "gfs.20261399/06/atmos/gfs.t06z.pgrb2.0p25.f120",  # no such day
        "gfs.20260318/06/atmos/gfs.t06z.pgrb2.0p25.f120.idx",
        "index.html",
    ],
)
def test_other_keys_are_passed_over(key: str) -> None:
    """WPT-013: what is not a complete run is not one."""
    assert layouts.timestamp_of(SourceId.GFS, key) is None


@pytest.mark.parametrize("source", list(SourceId))
def test_the_prefixes_hold_everything_after_since(source: SourceId) -> None:
    """WPT-013: prefixes cover midnight and the hour that `since` is in."""
    since = datetime(2026, 3, 17, 22, 59, tzinfo=UTC)
    listed = layouts.prefixes(source, since, NOW)
    moments = [datetime(2026, 3, 17, 23, tzinfo=UTC), datetime(2026, 3, 18, 0, tzinfo=UTC), GOES]
    if source is SourceId.GFS:
        keys = [layouts.gfs_keys(datetime(2026, 3, 18, hour, tzinfo=UTC))[-1] for hour in (0, 6, 12)]
    elif source is SourceId.GOES:
        keys = [layouts.goes_key(at) for at in moments]
    else:
        keys = [layouts.mrms_key(at) for at in moments]

    assert all(any(key.startswith(prefix) for prefix in listed) for key in keys)


@pytest.mark.parametrize(("seconds", "paired"), [(299, True), (300, True), (301, False)])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_tolerance_is_five_minutes_inclusive(seconds: int, paired: bool, sign: int) -> None:
    """WPT-014: 4:59, 5:00, 5:01, on either side."""
    assert bool(pair([GOES], [GOES + sign * timedelta(seconds=seconds)])) is paired


def test_two_images_near_one_composite_do_not_share_it() -> None:
    """WPT-014: each is used once, and the nearest gets it."""
    near, far = GOES + timedelta(minutes=1), GOES + timedelta(minutes=4)

    assert pair([far, near], [GOES]) == [(near, GOES)]


def test_a_missing_source_pairs_nothing_and_order_does_not_matter() -> None:
    """WPT-014: one source missing, unsorted input."""
    goes = [GOES + timedelta(minutes=5 * step) for step in range(12)]
    mrms = [at + timedelta(seconds=40) for at in goes]
    shuffled = goes[::2] + goes[1::2]

    assert pair(goes, []) == pair([], mrms) == []
    assert pair(shuffled, mrms[::-1]) == list(zip(goes, mrms, strict=True))


@given(st.lists(st.integers(0, 7200), max_size=25), st.lists(st.integers(0, 7200), max_size=25))
def test_pairs_are_close_and_disjoint_and_nothing_closer_was_left(goes: list[int], mrms: list[int]) -> None:
    """WPT-014: no two unused times lie within the tolerance."""
    images = {GOES + timedelta(seconds=s) for s in goes}
    composites = {GOES + timedelta(seconds=s) for s in mrms}
    pairs = pair(images, composites)
    used_images, used_composites = {one for one, _ in pairs}, {other for _, other in pairs}

    assert len(used_images) == len(used_composites) == len(pairs)
    assert all(abs(one - other) <= timedelta(minutes=5) for one, other in pairs)
    for image in images - used_images:
        assert all(abs(image - other) > timedelta(minutes=5) for other in composites - used_composites)


def available(hours: range) -> list[Available]:
    return [Available(Model.MEDIUM_RANGE, NOW - timedelta(hours=hour), (f"k{hour}",)) for hour in hours]


def test_a_limit_takes_the_oldest_so_that_none_is_left_out() -> None:
    """WPT-016: ten new ones with a limit of three start 3, 3, 3 and 1, oldest first."""
    known: list[KnownRun] = []
    started = []
    for _ in range(5):
        latest = max((run.run_timestamp for run in known), default=None)
        since = look_since(PollInput(limit=3), latest, NOW)
        offered = [run for run in available(range(1, 11)) if run.run_timestamp > since]
        chosen = choose(PollInput(limit=3), offered, known)
        known += [KnownRun(run.model, run.run_timestamp, RunStatus.RUNNING) for run in chosen]
        started.append([run.run_timestamp for run in chosen])

    assert [len(batch) for batch in started] == [3, 3, 3, 1, 0]
    assert [at for batch in started for at in batch] == sorted(
        run.run_timestamp for run in available(range(1, 11))
    )


def test_a_back_fill_looks_back_from_now() -> None:
    """WPT-008: backfill_hours counts from now, otherwise the latest run counts."""
    latest = NOW - timedelta(hours=1)

    assert look_since(PollInput(backfill_hours=48), latest, NOW) == NOW - timedelta(hours=48)
    assert look_since(PollInput(), latest, NOW) == latest
    assert look_since(PollInput(), None, NOW) == NOW - timedelta(hours=24)


def test_force_retry_starts_failed_runs_again() -> None:
    """WPT-008: failed runs only with force_retry, others never again."""
    failed = KnownRun(Model.NOWCAST, NOW, RunStatus.FAILED, ("a", "b"))
    done = KnownRun(Model.MEDIUM_RANGE, NOW - timedelta(hours=1), RunStatus.COMPLETE)

    assert choose(PollInput(), available(range(1, 2)), [failed, done]) == []
    [again] = choose(PollInput(force_retry=True), [], [failed, done])
    assert (again.is_retry, again.source_paths) == (True, ("a", "b"))


def test_negative_numbers_are_refused() -> None:
    """WPT-008: bad input gets a clear error."""
    with pytest.raises(ValueError, match="limit must be 0 or more, not -1"):
        PollInput(limit=-1)


@pytest.mark.parametrize("model", list(Model))
def test_a_run_is_overdue_after_its_models_timeout(model: Model) -> None:
    """WPT-018: 20 minutes and 3 hours, to the second."""
    timeout = TIMEOUTS[model]

    assert timeout == {Model.NOWCAST: timedelta(minutes=20), Model.MEDIUM_RANGE: timedelta(hours=3)}[model]
    assert not is_overdue(NOW - timeout + timedelta(seconds=1), NOW, timeout)
    assert not is_overdue(NOW - timeout, NOW, timeout)
    assert is_overdue(NOW - timeout - timedelta(seconds=1), NOW, timeout)


@pytest.mark.parametrize("provider", [ProviderState.RUNNING, ProviderState.QUEUED])
def test_a_hanging_run_is_cancelled_and_failed(provider: ProviderState) -> None:
    """WPT-019: still running past its timeout means Timeout, without a retry."""
    assert decide(provider, retry_count=0, has_output=False) == CancelAndFail("Timeout")


@pytest.mark.parametrize(
    "provider",
    [ProviderState.FAILED, ProviderState.CANCELLED, ProviderState.TIMED_OUT, ProviderState.UNKNOWN, None],
)
def test_a_dead_run_is_sent_three_times_at_most(provider: ProviderState | None) -> None:
    """WPT-019, WPT-020: counted first, so two resubmissions and then it is given up."""
    assert decide(provider, retry_count=0, has_output=False) == Resubmit(1)
    assert decide(provider, retry_count=1, has_output=False) == Resubmit(2)
    given_up = decide(provider, retry_count=2, has_output=False)
    assert isinstance(given_up, GiveUp)
    assert given_up.retry_count == 3
    assert "given up after 3 submissions" in given_up.reason


def test_finished_runs_are_marked_complete() -> None:
    """WPT-019: finished, or forgotten by the provider with its output there."""
    assert decide(ProviderState.COMPLETED, retry_count=2, has_output=False) == MarkComplete()
    assert decide(ProviderState.UNKNOWN, retry_count=2, has_output=True) == MarkComplete()


def test_an_unreachable_provider_changes_nothing() -> None:
    """WPT-019: the next hour looks again."""
    assert isinstance(decide(ProviderState.UNREACHABLE, retry_count=0, has_output=True), LeaveAlone)


def test_forecasts_are_kept_for_seven_and_ninety_days() -> None:
    """WPT-050: the limits of both models."""
    assert kept_since(Model.NOWCAST, NOW) == NOW - timedelta(days=7)
    assert kept_since(Model.MEDIUM_RANGE, NOW) == NOW - timedelta(days=90)


@pytest.mark.parametrize(
    ("latitude", "longitude", "tile"),
    [(52.5, 13.4, "1.0"), (90, 0, "0.0"), (-90, 359.9, "7.7"), (0, -0.1, "4.7"), (22.5, 180, "3.4")],
)
def test_a_place_has_a_tile(latitude: float, longitude: float, tile: str) -> None:
    """WPT-015: coefficients are kept by tile."""
    assert tile_of(latitude, longitude) == tile
    with pytest.raises(ValueError, match="outside"):
        tile_of(91, 0)
