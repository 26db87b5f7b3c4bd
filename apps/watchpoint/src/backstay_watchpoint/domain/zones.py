"""Local times: from an organisation's wall clock to the moment it means."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


class UnknownZone(ValueError):
    """No time zone has this name."""


def zone_named(name: str) -> ZoneInfo:
    """Return a time zone by its name; raises UnknownZone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UnknownZone(f"no time zone {name!r}: use a name such as Europe/Berlin") from error


def moment_of(day: date, at: time, zone: ZoneInfo) -> datetime:
    """Return the moment, in UTC, at which a wall clock shows `day` and `at`.

    A time that comes twice means the first. A time that is left out means the first moment after the gap.
    """
    wall = datetime.combine(day, at)
    first = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if first.astimezone(zone).replace(tzinfo=None) == wall:
        return first
    # In a gap the two readings of the wall time lie on either side of the jump.
    return _jump_between(wall.replace(tzinfo=zone, fold=1).astimezone(UTC), first, zone)


def _jump_between(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    offset_before = before.astimezone(zone).utcoffset()
    low, high = 0, int((after - before).total_seconds())
    while high - low > 1:
        middle = (low + high) // 2
        moment = before + timedelta(seconds=middle)
        if moment.astimezone(zone).utcoffset() == offset_before:
            low = middle
        else:
            high = middle
    return before + timedelta(seconds=high)
