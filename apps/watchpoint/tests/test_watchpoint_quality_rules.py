"""Verification, calibration, canaries, payloads, archive form, brake, strip and health."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np
import pytest

from backstay_watchpoint.domain import audit_archive, calibration, canaries, payloads, verification
from backstay_watchpoint.domain.brake import Candidates, reason_to_stop
from backstay_watchpoint.domain.calibration import DEFAULT, RadarPoint, exceeds_bound, violations
from backstay_watchpoint.domain.catalogue import TASKS, task_named
from backstay_watchpoint.domain.day_strip import Cell, RunSeen, day_strip
from backstay_watchpoint.domain.forecasts import Model
from backstay_watchpoint.domain.health import all_health, task_health
from backstay_watchpoint.domain.payloads import TaskType, TimeRange
from backstay_watchpoint.domain.verification import Pair

NOW = datetime(2026, 3, 18, 12, 40, tzinfo=UTC)


def test_the_verified_window_is_a_day_old() -> None:
    """WPT-033: 24 to 48 hours before now."""
    assert verification.window(NOW) == TimeRange(NOW - timedelta(hours=48), NOW - timedelta(hours=24))
    keys = verification.observation_keys(Model.MEDIUM_RANGE, datetime(2026, 3, 17, 6, tzinfo=UTC))
    assert keys[0] == "isd/20260317/0600.csv"
    assert keys[-1] == "isd/20260318/0300.csv"


def test_metrics_of_known_errors() -> None:
    """WPT-037: known data give known numbers."""
    pairs = [Pair(3.0, 1.0), Pair(1.0, 3.0), Pair(5.0, 1.0)]

    assert verification.rmse(pairs) == pytest.approx((24 / 3) ** 0.5)
    assert verification.bias(pairs) == pytest.approx(4 / 3)
    assert verification.brier([Pair(0.9, 1.0), Pair(0.2, 0.0)]) == pytest.approx((0.01 + 0.04) / 2)


def test_the_line_is_numpys_line() -> None:
    """WPT-037: least squares agree with another implementation."""
    random = np.random.default_rng(5)
    xs = random.uniform(0, 60, 80)
    ys = 0.4 * xs - 2 + random.normal(0, 1, 80)
    line = calibration.least_squares([RadarPoint(float(x), float(y)) for x, y in zip(xs, ys, strict=True)])
    slope, base = np.polyfit(xs, ys, 1)

    assert (line.slope, line.base) == (pytest.approx(slope), pytest.approx(base))
    with pytest.raises(ValueError, match="two different"):
        calibration.least_squares([RadarPoint(1, 1), RadarPoint(1, 2)])


def test_a_tile_is_fitted_stretch_by_stretch() -> None:
    """WPT-036: a known slope is found again; thin stretches keep what they have."""
    points = [RadarPoint(x, 0.03 * x - 0.5) for x in (20.0, 25.0, 30.0, 39.0)] + [
        RadarPoint(50, 1),
        RadarPoint(51, 1),
    ]
    fitted = calibration.fit(points, DEFAULT)

    assert fitted.mid_slope == pytest.approx(0.03)
    assert fitted.mid_base == pytest.approx(-0.5)
    assert (fitted.high_slope, fitted.low_base) == (DEFAULT.high_slope, DEFAULT.low_base)


@pytest.mark.parametrize(
    ("before", "after", "exceeds"),
    [
        (1.0, 1.1499, False),
        (1.0, 1.15, True),
        (1.0, 1.1501, True),
        (1.0, 0.8501, False),
        (1.0, 0.85, True),
        (-2.0, -2.2998, False),
        (-2.0, -2.3, True),
        (-0.2, 0.2, True),
        (0.0, 0.0, False),
        (0.0, 1e-9, True),
    ],
)
def test_fifteen_percent_needs_a_person(before: float, after: float, exceeds: bool) -> None:
    """WPT-036: below 15 % is applied, from 15 % on it is a candidate, and any change of a zero."""
    assert exceeds_bound(before, after) is exceeds


def test_a_violation_names_what_would_change() -> None:
    """WPT-036: the reason for the person who approves."""
    proposed = msgspec.structs.replace(DEFAULT, mid_slope=0.03)
    [found] = violations(DEFAULT, proposed)

    assert found.reason == "delta_exceeded_15_percent: mid_slope 0.02 → 0.03"
    assert violations(DEFAULT, msgspec.structs.replace(DEFAULT, mid_slope=0.021)) == []


def canary(expected: object, triggered: bool) -> canaries.Canary:
    return canaries.Canary("w1", {"system_role": "canary", "canary_expect_trigger": expected}, triggered)


def test_a_canary_alerts_in_both_directions() -> None:
    """WPT-035: match none, mismatch an alert of its own name, critical."""
    assert canaries.check([canary(True, True), canary(False, False)]) == []
    [missed] = canaries.check([canary(True, False)])
    [false] = canaries.check([canary(False, True)])
    assert (missed.name, false.name) == ("CanaryMissedTrigger", "CanaryFalseTrigger")
    assert missed.severity == false.severity == "critical"
    assert not canaries.is_canary({"system_role": "user"})


def test_each_task_type_has_its_input() -> None:
    """WPT-053, WPT-015: coefficients for the nowcast only; windows where they belong."""
    run = datetime(2026, 3, 18, 6, tzinfo=UTC)
    nowcast = payloads.inference(
        Model.NOWCAST, run, "s3://f/p/", ["g", "m"], calibration={"1.0": DEFAULT}
    ).as_json()
    medium = payloads.inference(
        Model.MEDIUM_RANGE, run, "s3://f/p/", ["k"], calibration={"1.0": DEFAULT}
    ).as_json()
    window = verification.window(NOW)
    verify = payloads.verification(
        Model.NOWCAST, run, "s3://f/p/", observations=["o"], window=window
    ).as_json()
    calibrate = payloads.calibration(["1.0"], calibration.time_range(NOW), "s3://f/c/").as_json()

    assert nowcast["input_config"]["calibration"]["1.0"]["mid_slope"] == 0.02
    assert "calibration" not in medium["input_config"]
    assert medium["input_config"]["gfs_source_paths"] == ["k"] or medium["input_config"][
        "gfs_source_paths"
    ] == ("k",)
    assert verify["task_type"] == TaskType.VERIFICATION
    assert set(verify["input_config"]) == {"observation_paths", "verification_window"}
    assert set(calibrate["input_config"]) == {"calibration_time_range", "tiles"}
    for built in (nowcast, medium, verify, calibrate):
        assert payloads.read_payload(msgspec.json.decode(msgspec.json.encode(built))).as_json() == built


def test_a_payload_with_unknown_fields_is_refused() -> None:
    """WPT-053: the shape is checked."""
    built = payloads.calibration(["1.0"], calibration.time_range(NOW), "s3://f/c/").as_json()

    with pytest.raises(msgspec.ValidationError):
        payloads.read_payload({**built, "surprise": 1})


def test_an_archive_holds_its_rows_and_is_the_same_twice() -> None:
    """WPT-048: the same rows make the same key and bytes; read back they are equal."""
    rows = [{"id": f"a{n}", "created_at": NOW, "action": "wäit", "details": {"n": n}} for n in range(3)]
    packed = audit_archive.pack(rows)

    assert packed == audit_archive.pack(rows)
    assert packed.key.startswith("audit/2026/03/18/a0-")
    assert audit_archive.unpack(packed.key, packed.body) == rows
    assert audit_archive.pack(rows[:2]).key != packed.key
    with pytest.raises(audit_archive.BadArchive, match="does not hold what its name says"):
        audit_archive.unpack("audit/2026/03/18/a0-0000000000000000.ndjson.gz", packed.body)
    with pytest.raises(audit_archive.BadArchive, match="not a gzip file"):
        audit_archive.unpack(packed.key, packed.body[:20])


@pytest.mark.parametrize(
    ("candidates", "rows", "earlier", "stops"),
    [
        (120, 130, [], False),  # below the minimum
        (300, 10_000, [20, 25, 30], True),
        (300, 10_000, [100, 100, 100], False),
        (300, 1_000, [290, 300, 310], True),  # a third of the table
        (300, 10_000, [20], False),  # too little is known of the usual
    ],
)
def test_the_brake_stops_what_is_unusual(candidates: int, rows: int, earlier: list[int], stops: bool) -> None:
    """WPT-045: a runaway deletion waits for a person."""
    found = [Candidates("organizations", candidates, rows)]

    assert (reason_to_stop(found, earlier=earlier) is not None) is stops


def test_the_brake_counts_all_sorts_together_and_judges_shares_apart() -> None:
    """WPT-045: invites may expire all at once, organisations may not; together they are compared with other runs."""
    invites = Candidates("invites", 300)

    assert reason_to_stop([invites, Candidates("organizations", 10, 12)], earlier=[]) is None
    assert reason_to_stop([invites], earlier=[20, 25, 30]) == (
        "300 candidates are more than 5 times the usual 25"
    )
    assert reason_to_stop([invites, Candidates("organizations", 250, 500)], earlier=[]) == (
        "250 organizations are 50% of 500"
    )


def strip_cells(runs: list[RunSeen], now: datetime = NOW) -> dict[int, Cell]:
    day = datetime(2026, 3, 18, tzinfo=UTC)
    fires = [day + timedelta(minutes=15 * step) for step in range(96)]
    [row] = day_strip(day, {"poll_data": fires}, runs, now=now, grace=timedelta(minutes=10))
    return {hour: cell.cell for hour, cell in enumerate(row.cells)}


def test_the_strip_shows_each_hour_at_its_worst() -> None:
    """WPT-005: done, skipped, failed, missing, back-filled and due hours of a day."""
    day = datetime(2026, 3, 18, tzinfo=UTC)

    def hour(number: int, status: str, *, back_fill: bool = False, but: int = 4) -> list[RunSeen]:
        fires = [day + timedelta(hours=number, minutes=15 * quarter) for quarter in range(but)]
        return [RunSeen("poll_data", fire, status, 1, back_fill) for fire in fires]

    runs = (
        hour(0, "success")
        + hour(1, "success", back_fill=True)
        + hour(2, "skipped")
        + hour(3, "success", but=3)
    )
    runs += [*hour(4, "success", but=3), RunSeen("poll_data", day + timedelta(hours=4, minutes=45), "failed")]
    runs += [RunSeen("poll_data", day, "failed"), RunSeen("poll_data", day, "skipped")]
    cells = strip_cells(runs)

    assert [cells[number] for number in range(5)] == ["done", "back-filled", "skipped", "missing", "failed"]
    assert cells[13] == cells[23] == "due"
    assert cells[11] == "missing"


def test_a_task_is_late_after_its_period_and_grace() -> None:
    """WPT-005: the missed-run alarm's rule."""
    task = task_named("poll_data")
    early = NOW - timedelta(days=400)

    assert not task_health(task, NOW - timedelta(minutes=25), installed_at=early, now=NOW).is_late
    late = task_health(task, NOW - timedelta(minutes=25, seconds=1), installed_at=early, now=NOW)
    assert late.is_late
    assert late.line == "LATE poll_data last success 2026-03-18T12:14:59Z"
    assert not task_health(task, None, installed_at=NOW, now=NOW).is_late
    assert all(line.is_late for line in all_health(TASKS, {}, installed_at=early, now=NOW))


def test_a_back_fill_of_last_month_does_not_hide_what_was_missed_today() -> None:
    """WPT-005: what counts is the time that a run took for now, by the task's own period."""
    task, early = task_named("cleanup_soft_deletes"), NOW - timedelta(days=200)
    by_hand = NOW.replace(hour=18) - timedelta(days=1)

    assert task_health(task, NOW - timedelta(days=30), installed_at=early, now=NOW).is_late
    assert task_health(task, by_hand, installed_at=early, now=NOW).is_late  # the fire of 02:00 came after it
    assert not task_health(task, NOW.replace(hour=2, minute=0), installed_at=early, now=NOW).is_late
    assert not task_health(task, None, installed_at=NOW.replace(hour=3), now=NOW).is_late


def test_a_strip_begins_with_the_installation() -> None:
    """WPT-005: before it nothing is missing; what ran is shown all the same."""
    day = datetime(2026, 3, 18, tzinfo=UTC)
    fires = [day + timedelta(hours=hour) for hour in range(24)]
    installed = day + timedelta(hours=10, minutes=30)
    seen = [RunSeen("verification", fires[3], "success", is_back_fill=True)]
    [row] = day_strip(
        day, {"verification": fires}, seen, now=NOW, grace=timedelta(minutes=10), since=installed
    )

    shown = {hour: cell.cell for hour, cell in enumerate(row.cells) if cell.cell is not Cell.IDLE}
    assert {hour for hour in shown if hour < 11} == {3}
    assert shown[3] is Cell.BACK_FILLED
    assert (shown[11], shown[12], shown[13]) == (Cell.MISSING, Cell.MISSING, Cell.DUE)
