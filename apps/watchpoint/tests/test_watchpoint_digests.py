"""Digests and quiet hours in local time."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay_watchpoint.domain.digests import BadSchedule, first_after, next_digest, read_schedule, slot_of
from backstay_watchpoint.domain.quiet_hours import BadQuietHours, quiet_until, read_quiet_hours
from backstay_watchpoint.domain.zones import UnknownZone, moment_of, zone_named

ZONES = ["Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/New_York", "Pacific/Kiritimati"]


def preferences(schedule: str, zone: str = "UTC") -> dict[str, Any]:
    return {"digest": {"schedule": schedule}, "timezone": zone}


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.mark.parametrize(
    ("zone", "at", "after", "expected"),
    [
        ("Europe/Berlin", "02:30", "2026-03-28T12:00Z", "2026-03-29T01:00Z"),  # left out: 03:00 summer time
        ("Europe/Berlin", "02:30", "2026-10-24T12:00Z", "2026-10-25T00:30Z"),  # twice: the first
        ("Europe/Berlin", "08:00", "2026-03-29T00:00Z", "2026-03-29T06:00Z"),
        ("Asia/Kolkata", "08:30", "2026-03-28T12:00Z", "2026-03-29T03:00Z"),
        ("Australia/Lord_Howe", "02:15", "2026-10-03T12:00Z", "2026-10-03T15:30Z"),  # a gap of half an hour
        (
            "Australia/Lord_Howe",
            "01:45",
            "2026-04-04T10:00Z",
            "2026-04-04T14:45Z",
        ),  # an overlap of half an hour
        ("America/Santiago", "00:10", "2026-09-05T12:00Z", "2026-09-06T04:00Z"),  # a gap at midnight
    ],
)
def test_a_digest_comes_at_its_local_time(zone: str, at: str, after: str, expected: str) -> None:
    """WPT-024: gaps mean the first moment after, overlaps the first occurrence."""
    found = next_digest(preferences(at, zone), moment(after))

    assert found.at == moment(expected)
    assert found.warnings == ()


def test_the_next_digest_is_strictly_after() -> None:
    """WPT-024: the digest of this very moment is not the next one."""
    due = moment("2026-05-04T08:00Z")

    assert next_digest(preferences("08:00"), due).at == due + timedelta(days=1)


def test_weekly_digests_come_on_their_day() -> None:
    """WPT-024: weekly schedules."""
    assert next_digest(preferences("mon 07:15", "Europe/Berlin"), moment("2026-05-05T00:00Z")).at == moment(
        "2026-05-11T05:15Z"
    )


@pytest.mark.parametrize(
    "given",
    [{}, {"digest": {"enabled": False, "schedule": "08:00"}}, {"digest": {"schedule": "off"}}],
)
def test_digests_can_be_off(given: dict[str, Any]) -> None:
    """WPT-023: no next digest means digests are off."""
    assert next_digest(given, moment("2026-05-05T00:00Z")).at is None


def test_the_preferences_of_the_settings_page_are_read() -> None:
    """WPT-024: frequency and delivery_time are another spelling of a schedule."""
    given = {
        "digest": {"enabled": True, "frequency": "daily", "delivery_time": "06:45"},
        "timezone": "Asia/Kolkata",
    }

    assert next_digest(given, moment("2026-05-05T00:00Z")).at == moment("2026-05-05T01:15Z")


def test_a_bad_zone_counts_as_utc_and_warns() -> None:
    """WPT-024, WPT-055: an invalid zone does not stop digests."""
    found = next_digest(preferences("09:00", "Mars/Olympus"), moment("2026-05-05T00:00Z"))

    assert found.at == moment("2026-05-05T09:00Z")
    assert "no time zone 'Mars/Olympus'" in found.warnings[0]


def test_a_bad_schedule_counts_as_eight_in_utc_and_warns() -> None:
    """WPT-024, WPT-055: an unreadable schedule falls back to daily 08:00 UTC."""
    found = next_digest(preferences("whenever", "Asia/Kolkata"), moment("2026-05-05T00:00Z"))

    assert found.at == moment("2026-05-05T08:00Z")
    assert "write 08:30, mon 08:30 or off" in found.warnings[0]


@pytest.mark.parametrize("text", ["25:00", "8", "mon", "mon 24:00", "monthly 08:00", "", "08:00 mon"])
def test_schedules_that_mean_nothing_are_refused(text: str) -> None:
    """WPT-024: bad input gets a clear error."""
    with pytest.raises(BadSchedule):
        read_schedule(text)


@pytest.mark.parametrize("at", ["00:00", "02:30", "08:30", "23:45"])
@pytest.mark.parametrize("zone", ZONES)
def test_a_year_of_hourly_ticks_has_one_digest_a_local_day(zone: str, at: str) -> None:
    """WPT-023, WPT-024: exactly one a local day for a year, whatever the clocks do."""
    tick = moment("2026-01-01T00:00Z")
    due = next_digest(preferences(at, zone), tick).at
    days: Counter[date] = Counter()
    while tick < moment("2027-01-01T00:00Z"):
        if due is not None and due <= tick:
            days[due.astimezone(ZoneInfo(zone)).date()] += 1
            due = next_digest(preferences(at, zone), tick).at
        tick += timedelta(hours=1)

    assert set(days.values()) == {1}
    assert len(days) == (max(days) - min(days)).days + 1 >= 364


def test_three_days_without_ticks_make_one_digest() -> None:
    """WPT-025: after an outage the next digest lies in the future."""
    back = moment("2026-05-08T12:00Z")

    assert next_digest(preferences("08:00"), back).at == moment("2026-05-09T08:00Z")


def test_a_day_that_a_zone_leaves_out_has_no_digest() -> None:
    """WPT-024: Samoa had no 30 December 2011."""
    schedule = read_schedule("08:00")
    assert schedule is not None
    first = first_after(schedule, ZoneInfo("Pacific/Apia"), moment("2011-12-29T20:00Z"))

    assert first.astimezone(ZoneInfo("Pacific/Apia")).date() == date(2011, 12, 31)


def test_a_slot_names_one_digest_of_one_organisation() -> None:
    """WPT-026: the deduplication id."""
    assert slot_of("org-1", moment("2026-05-09T08:00Z")) == "digest:org-1:2026-05-09T08:00Z"


@given(
    zone=st.sampled_from(["Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "Africa/Casablanca"]),
    day=st.dates(date(2000, 1, 1), date(2030, 12, 31)),
    at=st.times().map(lambda value: value.replace(microsecond=0, tzinfo=None)),
)
def test_a_local_time_is_met_or_is_in_a_gap(zone: str, day: date, at: time) -> None:
    """WPT-024: the moment shows the wall time, or it is the first one after a gap."""
    found = moment_of(day, at, ZoneInfo(zone))
    shown = found.astimezone(ZoneInfo(zone)).replace(tzinfo=None)

    if shown != datetime.combine(day, at):
        before = (found - timedelta(seconds=1)).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        assert before < datetime.combine(day, at) < shown


def quiet(start: str, end: str, zone: str, days: list[str] | None = None) -> dict[str, Any]:
    window: dict[str, Any] = {"start": start, "end": end}
    if days:
        window["days"] = days
    return {"quiet_hours": {"enabled": True, "schedule": [window]}, "timezone": zone}


@pytest.mark.parametrize(
    ("given", "at", "until"),
    [
        (quiet("22:00", "07:00", "Europe/Berlin"), "2026-01-10T22:30Z", "2026-01-11T06:00Z"),
        (quiet("22:00", "07:00", "Europe/Berlin"), "2026-01-11T05:59Z", "2026-01-11T06:00Z"),
        (quiet("22:00", "07:00", "Europe/Berlin"), "2026-01-11T06:00Z", None),
        (
            quiet("22:00", "07:00", "Europe/Berlin"),
            "2026-03-28T23:30Z",
            "2026-03-29T05:00Z",
        ),  # the short night
        (quiet("22:00", "07:00", "Europe/Berlin"), "2026-10-24T22:30Z", "2026-10-25T06:00Z"),  # the long one
        (
            quiet("01:00", "02:30", "Europe/Berlin"),
            "2026-03-29T00:30Z",
            "2026-03-29T01:00Z",
        ),  # ends in the gap
        (quiet("12:00", "13:00", "Asia/Kolkata"), "2026-01-10T07:00Z", "2026-01-10T07:30Z"),
        (quiet("22:00", "07:00", "UTC", ["fri"]), "2026-01-10T05:00Z", "2026-01-10T07:00Z"),  # Friday's night
        (quiet("22:00", "07:00", "UTC", ["fri"]), "2026-01-10T23:00Z", None),
    ],
)
def test_quiet_hours_defer_until_their_end(given: dict[str, Any], at: str, until: str | None) -> None:
    """WPT-041: over midnight and over changes of the clock, in the organisation's zone."""
    hours = read_quiet_hours(given)
    assert hours is not None

    assert quiet_until(hours, moment(at)) == (None if until is None else moment(until))


def test_touching_windows_are_one_quiet_period() -> None:
    """WPT-041: nothing is woken only to wait again."""
    given = {
        "quiet_hours": {"schedule": [{"start": "20:00", "end": "23:00"}, {"start": "23:00", "end": "06:00"}]},
    }
    hours = read_quiet_hours(given)
    assert hours is not None

    assert quiet_until(hours, moment("2026-01-10T21:00Z")) == moment("2026-01-11T06:00Z")


def test_bad_quiet_hours_are_refused() -> None:
    """WPT-041: bad input gets a clear error."""
    with pytest.raises(BadQuietHours, match="needs days, start and end"):
        read_quiet_hours({"quiet_hours": {"schedule": [{"start": "22:00"}]}})
    with pytest.raises(UnknownZone):
        read_quiet_hours(quiet("22:00", "07:00", "Nowhere"))
    with pytest.raises(UnknownZone):
        zone_named("../etc/passwd")
    assert read_quiet_hours({"quiet_hours": {"enabled": False, "schedule": [{"start": "22:00"}]}}) is None
