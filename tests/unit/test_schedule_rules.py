"""Which fires become jobs, and what those jobs are given."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backstay.errors import InvalidSchedule
from backstay.model.job import JobId
from backstay.model.schedules.schedule import (
    Definition,
    Fire,
    JobTemplate,
    Schedule,
    ScheduleOverride,
    job_for,
    plan,
    preview,
)
from backstay.model.schedules.zones import tzdata_version, zone_of

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
JOB = JobTemplate(kind="report", queue="default")
ID = UUID(int=7)


def schedule(due: datetime = NOON, *, run_count: int = 0, **wanted: Any) -> Schedule:
    given: dict[str, Any] = {"cron": "* * * * *", "job": JOB, **wanted}
    return Schedule(
        id=ID,
        name="reports",
        tenant="",
        declared=Definition(**given),
        source="code",
        declared_by="test",
        next_fire_at=due,
        run_count=run_count,
    )


def times(fires: tuple[Fire, ...]) -> list[datetime]:
    return [fire.fire_time for fire in fires]


def test_a_fire_in_time_becomes_one_job_under_every_policy() -> None:
    for missed in ("coalesce", "catch_up", "skip"):
        decided = plan(schedule(missed=missed), NOON + timedelta(seconds=3))

        assert (times(decided.fires), decided.next_fire_at, decided.dropped) == ([NOON], NOON + MINUTE, 0)


def test_a_day_of_missed_minutes_becomes_one_run_that_knows_how_many() -> None:
    decided = plan(schedule(), NOON + DAY - MINUTE)

    assert decided.fires == (Fire(NOON + DAY - MINUTE, missed=1439),)
    assert decided.next_fire_at == NOON + DAY


def test_catching_up_goes_in_order_a_hundred_at_a_time_and_reports_what_it_drops() -> None:
    due, now = schedule(missed="catch_up", catch_up=250), NOON + DAY - MINUTE
    found: list[datetime] = []
    dropped = 0
    while due.next_fire_at is not None and due.next_fire_at <= now:
        decided = plan(due, now)
        assert len(decided.fires) <= 100
        found += times(decided.fires)
        dropped += decided.dropped
        due = replace(due, next_fire_at=decided.next_fire_at)

    assert found == [NOON + DAY - turn * MINUTE for turn in range(250, 0, -1)]
    assert (dropped, due.next_fire_at) == (1440 - 250, NOON + DAY)


def test_skipping_leaves_out_what_is_too_late() -> None:
    late = plan(schedule(cron="0 * * * *", missed="skip"), NOON + 90 * MINUTE)
    in_time = plan(schedule(cron="0 * * * *", missed="skip"), NOON + HOUR + timedelta(seconds=59))

    assert (late.fires, late.dropped, late.next_fire_at) == ((), 2, NOON + 2 * HOUR)
    assert (times(in_time.fires), in_time.dropped) == ([NOON + HOUR], 1)


def test_years_of_missed_seconds_are_decided_at_once() -> None:
    old = schedule(NOON - 3000 * DAY, cron=None, every=timedelta(seconds=1), missed="catch_up")

    decided = plan(old, NOON)

    assert times(decided.fires)[-1] == NOON
    assert (len(decided.fires), decided.dropped) == (100, 9_901)


def test_no_more_runs_than_allowed() -> None:
    decided = plan(schedule(missed="catch_up", max_runs=5, run_count=3), NOON + HOUR)

    assert times(decided.fires) == [NOON, NOON + MINUTE]


def test_nothing_fires_after_its_end() -> None:
    decided = plan(schedule(missed="catch_up", expires_at=NOON + 2 * MINUTE), NOON + HOUR)

    assert times(decided.fires) == [NOON, NOON + MINUTE, NOON + 2 * MINUTE]
    assert decided.next_fire_at is None


def test_a_single_moment_is_exhausted_when_it_has_fired() -> None:
    decided = plan(schedule(cron=None, at=NOON), NOON + HOUR)

    assert (times(decided.fires), decided.next_fire_at) == ([NOON], None)


def test_the_stored_time_fires_even_if_the_zone_has_changed_its_rules_since() -> None:
    stored = NOON + timedelta(seconds=17)

    decided = plan(schedule(stored, cron="0 9 * * *"), stored)

    assert times(decided.fires) == [stored]


@settings(deadline=None, max_examples=60)  # it may count thousands of fires
@given(
    st.sampled_from(["*/7 * * * *", "0 * * * *", "30 2 * * *", "@hourly"]),
    st.sampled_from(["coalesce", "catch_up", "skip"]),
    st.integers(0, 10 * 24 * 60),
    st.integers(1, 40),
)
def test_every_fire_is_run_covered_or_dropped_and_none_twice(
    cron: str, missed: str, late: int, cap: int
) -> None:
    wanted = schedule(cron=cron, missed=missed, catch_up=cap)
    due = preview(wanted.declared, NOON, 1)[0]
    now = due + late * MINUTE

    decided = plan(replace(wanted, next_fire_at=due), now)

    count = len([moment for moment in preview(wanted.declared, NOON, 5000) if moment <= now])
    assert times(decided.fires) == sorted(set(times(decided.fires)))
    assert len(decided.fires) + decided.dropped == count
    assert decided.next_fire_at is not None
    assert decided.next_fire_at > now


def test_a_job_knows_the_time_of_its_fire() -> None:
    template = replace(JOB, args='{"day":"{fire_date}","at":["{fire_time}"],"text":"{schedule} {x}","n":1}')
    wanted = schedule(job=template, zone="Pacific/Auckland")

    job = job_for(wanted, Fire(NOON), JobId(ID))

    assert json.loads(job.args) == {
        "reference_time": "2026-06-01T12:00:00Z",
        "day": "2026-06-02",
        "at": ["2026-06-01T12:00:00Z"],
        "text": "reports {x}",
        "n": 1,
    }
    assert (job.run_at, job.created_by) == (NOON, "schedule:reports")


def test_a_reference_time_of_its_own_is_kept() -> None:
    wanted = schedule(job=replace(JOB, args='{"reference_time":"2020-01-01T00:00:00Z"}'))

    assert json.loads(job_for(wanted, Fire(NOON), JobId(ID)).args)["reference_time"] == "2020-01-01T00:00:00Z"


def test_jitter_stays_in_its_bounds_and_is_the_same_for_everyone() -> None:
    wanted = schedule(jitter=10 * MINUTE)
    starts = [job_for(wanted, Fire(NOON + turn * HOUR), JobId(ID)).run_at for turn in range(50)]

    delays = [start - (NOON + turn * HOUR) for turn, start in enumerate(starts) if start]

    assert starts == [job_for(wanted, Fire(NOON + turn * HOUR), JobId(ID)).run_at for turn in range(50)]
    assert all(timedelta(0) <= delay < 10 * MINUTE for delay in delays)
    assert len(set(delays)) == 50


def test_an_operators_word_counts_and_the_declaration_stays() -> None:
    changed = replace(
        schedule(cron="0 3 * * *"), overrides={"every": ScheduleOverride(HOUR, "ann", NOON, "too rare")}
    )

    assert (changed.definition.every, changed.definition.cron, changed.definition.type) == (
        HOUR,
        None,
        "interval",
    )
    assert changed.declared.cron == "0 3 * * *"


def test_the_next_fires_end_where_the_runs_end() -> None:
    wanted = Definition(job=JOB, cron="0 3 * * *", max_runs=2)

    assert preview(wanted, NOON, 5) == [NOON + 15 * HOUR, NOON + 39 * HOUR]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Europe/Berlln", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("../etc/passwd", "UTC"),
        ("", "UTC"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest_one(name: str, hint: str) -> None:
    with pytest.raises(InvalidSchedule, match="no time zone has this name") as caught:
        zone_of(name)

    assert hint in str(caught.value)


def test_the_edition_of_the_rules_is_known() -> None:
    assert tzdata_version().startswith("20")
