"""Two years of fires in six zones, compared with other libraries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter
from cronsim import CronSim

from backstay.model.schedules.cron import fires_between
from backstay.model.schedules.cron_parser import read_rule

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2028, 1, 1, tzinfo=UTC)

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",  # jumps by half an hour
    "America/Havana",  # jumps at midnight
    "Asia/Kolkata",  # half an hour off, and never jumps
)
SPARSE = (
    "0 0 * * *", "30 1 * * *", "30 2 * * *", "15 2 * * *", "0 3 * * *", "30 0 * * *", "59 23 * * *", "0 12 * * *",
    "0 0 1 * *", "0 0 15 * *", "0 0 31 * *", "0 0 29 2 *", "30 4 1,15 * *", "0 22 * * 1-5", "0 9 * * MON",
    "0 9 * * SUN", "0 9 * * 7", "15 14 1 * *", "0 0 1 1 *", "0 0 1 JAN-MAR *", "5 4 * * sun", "0 0 1,15 * 3",
    "0 0 13 * FRI", "0 0 * * 5#2", "0 0 * * L5", "0 0 L * *", "45 1 * 3,11 *", "30 2 * 3,10 0", "0 8-18/2 * * *",
    "10,40 2 * * *", "0 1-4 * * *", "20 0,6,12,18 * * *", "@daily", "@weekly", "@monthly", "@yearly",
)  # fmt: skip
DENSE = ("0 * * * *", "*/15 * * * *", "@hourly", "*/20 1-3 * * *", "7,37 */3 * * *")
# What the two spell differently.
OURS = {"0 0 * * L5": "0 0 * * 5L"}


@cache
def segments(zone: str) -> list[tuple[datetime, datetime, timedelta]]:
    """Stretches of constant offset, found by walking through the years in steps of a quarter of an hour."""
    found: list[tuple[datetime, datetime, timedelta]] = []
    moment, begin = START - 3 * DAY, START - 3 * DAY
    offset = moment.astimezone(ZoneInfo(zone)).utcoffset()
    while moment < END + 3 * DAY:
        now = moment.astimezone(ZoneInfo(zone)).utcoffset()
        assert now is not None
        assert offset is not None
        if now != offset:
            found.append((begin, moment, offset))
            begin, offset = moment, now
        moment += 15 * MINUTE
    assert offset is not None
    return [*found, (begin, moment, offset)]


def real(wall: datetime, zone: str) -> list[datetime]:
    """Every moment at which a clock in the zone shows this."""
    candidates = [(begin, end, wall.replace(tzinfo=UTC) - offset) for begin, end, offset in segments(zone)]
    return [moment for begin, end, moment in candidates if begin <= moment < end]


@cache
def walls(expression: str) -> list[datetime]:
    """What clocks show at the fires, by another library, which is not asked about zones."""
    source = croniter(expression, datetime(2025, 12, 30))  # noqa: DTZ001  # wall clocks have no zone
    found = []
    while (wall := source.get_next(datetime)) < datetime(2028, 1, 3):  # noqa: DTZ001  # wall clocks have no zone
        found.append(wall)
    return found


def expected(expression: str, zone: str) -> list[datetime]:
    """The fires by the rules for jumping clocks, written a second time and in another way."""
    minute, hour = expression.split()[:2] if expression[0] != "@" else ("0", "*" * (expression == "@hourly"))
    every_hour, repeats = hour == "*", minute.startswith("*") or hour.startswith("*")
    found: set[datetime] = set()
    for wall in walls(expression):
        moments = real(wall, zone)
        if moments:
            found.update(moments if repeats else moments[:1])
        elif not every_hour:
            back = wall
            while not real(back, zone):
                back -= MINUTE
            found.add(real(back, zone)[-1] + (wall - back))
    return sorted(moment for moment in found if START < moment <= END)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    "expression", [*SPARSE, *(pytest.param(text, marks=pytest.mark.prove) for text in DENSE)]
)
def test_two_years_of_fires_are_those_of_another_library(expression: str, zone: str) -> None:
    rule = read_rule(OURS.get(expression, expression))

    found, has_more = fires_between(rule, ZoneInfo(zone), START + MINUTE / 60, END, most=200_000)

    assert not has_more
    assert found == expected(expression, zone)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("expression", ["* * * * *", "*/5 * * * *", "0 * * * *", "0 0 LW * *"])
def test_rules_that_begin_with_a_star_fire_as_in_debian(expression: str, zone: str) -> None:
    begin = datetime(2026, 10, 20, tzinfo=UTC)
    other = CronSim(expression, begin.astimezone(ZoneInfo(zone)))

    found = list(
        islice(read_rule(expression).fires(begin, ZoneInfo(zone)), 25_000 if "LW" not in expression else 50)
    )

    assert found == [next(other).astimezone(UTC) for _ in found]
