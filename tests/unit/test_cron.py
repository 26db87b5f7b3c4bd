"""When cron rules fire, against a table made by hand, and how expressions are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.errors import InvalidSchedule
from backstay.model.schedules.cron import Cron, Every, Once, fires_between, next_fire, recent_fires
from backstay.model.schedules.cron_parser import read_rule

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2028, 1, 1, tzinfo=UTC)

PLACES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Havana",
    "Africa/Cairo",
    "Africa/Casablanca",
)

TABLE = [
    # Clocks in New York go from 01:59:59 EST to 03:00 EDT on 14 March 2027.
    ("gap, fixed time", "30 2 * * *", "America/New_York", "2027-03-13T12:00Z",
     ["2027-03-14T07:30Z", "2027-03-15T06:30Z", "2027-03-16T06:30Z"]),
    ("gap, the hour itself", "0 2 * * *", "America/New_York", "2027-03-14T00:00Z",
     ["2027-03-14T07:00Z", "2027-03-15T06:00Z"]),
    ("gap, every hour", "30 * * * *", "America/New_York", "2027-03-14T05:45Z",
     ["2027-03-14T06:30Z", "2027-03-14T07:30Z", "2027-03-14T08:30Z"]),
    ("gap, quarters of the missing hour", "*/15 2 * * *", "America/New_York", "2027-03-14T00:00Z",
     ["2027-03-14T07:00Z", "2027-03-14T07:15Z", "2027-03-14T07:30Z", "2027-03-14T07:45Z", "2027-03-15T06:00Z"]),
    ("gap, both hours named", "10 2,3 * * *", "America/New_York", "2027-03-14T00:00Z",
     ["2027-03-14T07:10Z", "2027-03-15T06:10Z", "2027-03-15T07:10Z"]),
    # They go from 01:59:59 EDT back to 01:00 EST on 1 November 2026.
    ("fold, fixed time", "30 1 * * *", "America/New_York", "2026-10-31T12:00Z",
     ["2026-11-01T05:30Z", "2026-11-02T06:30Z"]),
    ("fold, asked between the two", "30 1 * * *", "America/New_York", "2026-11-01T06:00Z",
     ["2026-11-02T06:30Z"]),
    ("fold, every hour", "0 * * * *", "America/New_York", "2026-11-01T04:30Z",
     ["2026-11-01T05:00Z", "2026-11-01T06:00Z", "2026-11-01T07:00Z"]),
    ("fold, quarters", "*/15 * * * *", "America/New_York", "2026-11-01T05:40Z",
     ["2026-11-01T05:45Z", "2026-11-01T06:00Z", "2026-11-01T06:15Z", "2026-11-01T06:30Z"]),
    # Half an hour, Lord Howe: 02:00 becomes 02:30 on 4 October 2026, 02:00 becomes 01:30 on 4 April 2027.
    ("half-hour gap", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00Z",
     ["2026-10-03T15:45Z", "2026-10-04T15:15Z"]),
    ("half-hour fold", "45 1 * * *", "Australia/Lord_Howe", "2027-04-03T00:00Z",
     ["2027-04-03T14:45Z", "2027-04-04T15:15Z"]),
    # At midnight, Havana: 00:00 becomes 01:00 on 8 March 2026.
    ("gap at midnight", "0 0 * * *", "America/Havana", "2026-03-07T12:00Z",
     ["2026-03-08T05:00Z", "2026-03-09T04:00Z"]),
    # A whole day was left out in Samoa: 30 December 2011.
    ("a day that never was", "0 9 * * *", "Pacific/Apia", "2011-12-29T00:00Z",
     ["2011-12-29T19:00Z", "2011-12-30T19:00Z", "2011-12-31T19:00Z"]),
    ("leap day", "0 0 29 2 *", "UTC", "2026-01-01T00:00Z", ["2028-02-29T00:00Z", "2032-02-29T00:00Z"]),
    ("leap day around 2100", "0 0 29 2 *", "UTC", "2096-03-01T00:00Z", ["2104-02-29T00:00Z"]),
    ("31st", "0 0 31 * *", "UTC", "2026-01-15T00:00Z",
     ["2026-01-31T00:00Z", "2026-03-31T00:00Z", "2026-05-31T00:00Z", "2026-07-31T00:00Z"]),
    ("last day", "0 0 L * *", "UTC", "2028-01-15T00:00Z",
     ["2028-01-31T00:00Z", "2028-02-29T00:00Z", "2028-03-31T00:00Z", "2028-04-30T00:00Z"]),
    ("last weekday", "0 0 LW * *", "UTC", "2026-01-01T00:00Z",
     ["2026-01-30T00:00Z", "2026-02-27T00:00Z", "2026-03-31T00:00Z"]),
    ("last Friday", "0 0 * * FRIL", "UTC", "2026-01-01T00:00Z", ["2026-01-30T00:00Z", "2026-02-27T00:00Z"]),
    ("Friday or the 13th", "0 0 13 * 5", "UTC", "2026-01-01T00:00Z",
     ["2026-01-02T00:00Z", "2026-01-09T00:00Z", "2026-01-13T00:00Z", "2026-01-16T00:00Z"]),
    ("new year", "59 23 31 12 *", "Pacific/Auckland", "2026-12-30T00:00Z", ["2026-12-31T10:59Z"]),
    ("EventBridge", "Cron(0 3 * * ? *)", "UTC", "2026-01-01T00:00Z", ["2026-01-01T03:00Z", "2026-01-02T03:00Z"]),
    ("EventBridge counts Sunday as 1", "cron(0 10 ? * 2-6 *)", "UTC", "2026-01-02T12:00Z",
     ["2026-01-05T10:00Z", "2026-01-06T10:00Z"]),
    ("EventBridge, second Tuesday", "cron(0 10 ? * 3#2 *)", "UTC", "2026-01-01T00:00Z", ["2026-01-13T10:00Z"]),
    ("EventBridge, years", "cron(0 0 1 1 ? 2027-2028)", "UTC", "2026-06-01T00:00Z",
     ["2027-01-01T00:00Z", "2028-01-01T00:00Z"]),
    ("EventBridge, rate", "rate(15 minutes)", "Europe/Berlin", "2026-03-29T00:50Z",
     ["2026-03-29T01:00Z", "2026-03-29T01:15Z", "2026-03-29T01:30Z"]),
    ("EventBridge, our document's spelling", "Rate(15 min)", "UTC", "2026-01-01T00:00Z", ["2026-01-01T00:15Z"]),
    ("EventBridge, an hour", "Rate(1 hour)", "Asia/Kolkata", "2026-01-01T00:10Z", ["2026-01-01T01:00Z"]),
]  # fmt: skip


def moments(texts: list[str]) -> list[datetime]:
    return [datetime.fromisoformat(text.replace("Z", "+00:00")) for text in texts]


@pytest.mark.parametrize(
    ("text", "zone", "after", "fires"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_the_table_made_by_hand(text: str, zone: str, after: str, fires: list[str]) -> None:
    found = islice(read_rule(text).fires(moments([after])[0], ZoneInfo(zone)), len(fires))

    assert list(found) == moments(fires)


def test_a_missing_time_can_be_left_out() -> None:
    rule = read_rule("30 2 * * *", gap="skip")

    found = islice(rule.fires(moments(["2027-03-13T12:00Z"])[0], ZoneInfo("America/New_York")), 2)

    assert list(found) == moments(["2027-03-15T06:30Z", "2027-03-16T06:30Z"])


def test_a_quarter_hourly_rule_fires_a_hundred_times_on_a_day_of_25_hours() -> None:
    begin, end = moments(["2026-11-01T04:00Z", "2026-11-02T05:00Z"])

    found, _ = fires_between(
        read_rule("*/15 * * * *"), ZoneInfo("America/New_York"), begin, end - MINUTE, most=1000
    )

    assert len(found) == 100
    assert {later - earlier for earlier, later in pairwise(found)} == {15 * MINUTE}


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("0 0 31 * *", ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30"]),
        ("0 0 30 * *", ["2026-01-30", "2026-02-28", "2026-03-30", "2026-04-30"]),
        ("0 0 29 2 *", ["2026-02-28", "2027-02-28", "2028-02-29", "2029-02-28"]),
        ("0 0 31 2 *", ["2026-02-28", "2027-02-28", "2028-02-29"]),
        ("0 0 */2 2 *", ["2026-02-01", "2026-02-03"]),
    ],
)
def test_clamping_takes_the_last_day_and_never_sticks_to_it(text: str, days: list[str]) -> None:
    rule = read_rule(text, month_end="clamp")

    found = islice(rule.fires(START, ZoneInfo("UTC")), len(days))

    assert [moment.date().isoformat() for moment in found] == days


def test_an_interval_does_not_drift_and_does_not_know_summer_time() -> None:
    zone = ZoneInfo("Europe/Berlin")
    begin = moments(["2026-03-28T22:10Z"])[0]

    found = list(islice(Every(timedelta(hours=7), anchor=begin).fires(begin - DAY, zone), 500))

    assert found == [begin + turn * timedelta(hours=7) for turn in range(500)]


def test_a_single_moment_fires_once() -> None:
    once = Once(START)

    assert next_fire(once, UTC, START - DAY) == START
    assert next_fire(once, UTC, START) is None


@given(
    st.datetimes(datetime(2024, 1, 1), datetime(2032, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001  # zone is given
    st.sampled_from(["*/7 * * * *", "30 2 * * *", "0 0 29 2 *", "0 9 * * 1-5", "0 0 31 * *", "45 1 1 */3 *"]),
    st.sampled_from(
        [
            "UTC",
            "Europe/Berlin",
            "America/New_York",
            "Australia/Lord_Howe",
            "America/Havana",
            "Africa/Cairo",
            "Africa/Casablanca",
            "America/Sao_Paulo",
        ]
    ),
)
def test_fires_rise_and_asking_again_from_each_gives_the_next(after: datetime, text: str, zone: str) -> None:
    rule, place = read_rule(text), ZoneInfo(zone)

    run = list(islice(rule.fires(after, place), 4))

    assert all(earlier < later for earlier, later in pairwise([after, *run]))
    assert [next_fire(rule, place, moment) for moment in [after, *run[:-1]]] == run
    assert recent_fires(rule, place, after, run[3], most=2) == run[2:]
    assert recent_fires(rule, place, run[0], run[2] - MINUTE / 60, most=5) == run[:2]


def test_the_newest_of_very_many_fires_are_found_at_once() -> None:
    long_ago = datetime(1990, 1, 1, tzinfo=UTC)

    assert recent_fires(Every(timedelta(seconds=1)), UTC, long_ago, END, most=2) == [END - MINUTE / 60, END]
    assert recent_fires(read_rule("0 0 29 2 *"), UTC, long_ago, END, most=1) == moments(["2024-02-29T00:00Z"])
    assert recent_fires(Once(END), UTC, long_ago, START, most=1) == []


BAD = [
    ("61 * * * *", 1, "61 is out of range: a minute is 0 to 59"),
    ("* 24 * * *", 3, "24 is out of range: a hour"),
    ("0 0 0 * *", 5, "0 is out of range"),
    ("0 0 * 13 *", 7, "13 is out of range: a month is 1 to 12, or JAN, FEB, MAR, …"),
    ("0 0 * * 8", 9, "8 is out of range"),
    ("0 0 1,32 * *", 7, "32 is out of range"),
    ("0 0 * * MOO", 9, "'MOO' is not known"),
    ("0 0 5-1 * *", 5, "goes backwards"),
    ("*/0 * * * *", 3, "a step of 0"),
    ("*/90 * * * *", 3, "a step of 90"),
    ("*/x * * * *", 3, "a step is a whole number"),
    ("1,,2 * * * *", 3, "something is missing"),
    ("- * * * *", 1, "something is missing"),
    ("0 0 15W * *", 5, "nearest"),
    ("0 0 * * L", 9, "FRIL"),
    ("0 0 * * 1#6", 9, "#1 to #5"),
    ("٣ * * * *", 1, "is not known"),  # a digit, but not one of ours
    ("0 0 0 0 0 0", 11, "seconds"),
    ("*/10 * * * * *", 14, "every='10s'"),
    ("* * *", 6, "3 fields where cron has five"),
    ("", 1, "0 fields"),
    ("1 2 3 4 5 6 7", 11, "7 fields"),
    ("@reboot", 1, "enqueue the job where it starts"),
    ("@fortnightly", 1, "@hourly, @daily"),
    ("@every 5m", 1, "rate(15 minutes)"),
    ("rate(0 minutes)", 6, "1 or more"),
    ("rate(5 parsecs)", 6, "minutes, hours or days"),
    ("rate(1.5 hours)", 6, "a whole number"),
    ("cron(0 3 * * ?)", 6, "cron(…) has six"),
    ("cron(0 3 * * 0 *)", 14, "0 is out of range"),
    ("0 0 ? * *", 5, "'?' is not known"),
    ("* " * 5000, 201, "10,000 characters"),
]


@pytest.mark.parametrize(("text", "position", "advice"), BAD, ids=[text[:20] for text, _, _ in BAD])
def test_what_cannot_be_read_is_refused_with_its_position_and_advice(
    text: str, position: int, advice: str
) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        read_rule(text)

    assert caught.value.position == position, str(caught.value)
    assert advice in str(caught.value)


@given(st.text(alphabet="0123456789*/,-#LW?@() MONTUEJAN", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        rule = read_rule(text)
    except InvalidSchedule:
        return

    assert isinstance(rule, Cron | Every)


@pytest.mark.parametrize("text", ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "cron(0 0 1 1 ? 1999)"])
def test_a_rule_that_never_fires_is_seen_without_a_long_search(text: str) -> None:
    assert next_fire(read_rule(text), ZoneInfo("Europe/Berlin"), START) is None
