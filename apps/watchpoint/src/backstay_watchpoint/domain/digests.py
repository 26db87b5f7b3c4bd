"""When an organisation's next digest is due: its local time of day, once a local day or week."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from backstay_watchpoint.domain.zones import UnknownZone, moment_of, zone_named

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
FALLBACK_TIME = time(8, 0)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


class BadSchedule(ValueError):
    """A digest schedule that cannot be read."""


@dataclass(frozen=True, slots=True)
class DigestSchedule:
    """A time of day, each day or on one weekday (Monday is 0)."""

    at: time
    weekday: int | None = None


@dataclass(frozen=True, slots=True)
class NextDigest:
    """When the next digest is due (None: digests are off), and what was wrong with the preferences."""

    at: datetime | None
    warnings: tuple[str, ...] = ()


def read_schedule(text: str) -> DigestSchedule | None:
    """Read `08:30`, `daily 08:30`, `mon 08:30` or `off`; raises BadSchedule."""
    words = text.strip().lower().split()
    if words == ["off"]:
        return None
    if len(words) == 1:
        return DigestSchedule(_clock(words[0], text))
    if len(words) == 2 and words[0] == "daily":
        return DigestSchedule(_clock(words[1], text))
    if len(words) == 2 and words[0] in WEEKDAYS:
        return DigestSchedule(_clock(words[1], text), WEEKDAYS.index(words[0]))
    raise BadSchedule(f"no digest schedule {text!r}: write 08:30, mon 08:30 or off")


def next_digest(preferences: Mapping[str, Any], after: datetime) -> NextDigest:
    """Return the first digest strictly after a moment, by an organisation's notification preferences.

    What cannot be read does not stop digests: a bad zone counts as UTC, a bad schedule as daily 08:00 UTC.
    """
    warnings: list[str] = []
    zone = _zone(preferences, warnings)
    try:
        schedule = _schedule(preferences)
    except BadSchedule as error:
        warnings.append(str(error))
        schedule, zone = DigestSchedule(FALLBACK_TIME), ZoneInfo("UTC")
    if schedule is None:
        return NextDigest(None, tuple(warnings))
    return NextDigest(first_after(schedule, zone, after), tuple(warnings))


def sends_empty(preferences: Mapping[str, Any]) -> bool:
    """Tell whether an organisation wants a digest also of a day on which nothing was told."""
    digest = preferences.get("digest")
    return not isinstance(digest, Mapping) or digest.get("send_empty", True) is not False


def first_after(schedule: DigestSchedule, zone: ZoneInfo, after: datetime) -> datetime:
    """Return the schedule's first moment strictly after another one."""
    day = after.astimezone(zone).date() - timedelta(days=1)
    while True:
        moment = _on(day, schedule, zone)
        if moment is not None and moment > after:
            return moment
        day += timedelta(days=1)


def slot_of(organization_id: str, due: datetime) -> str:
    """Name one digest of one organisation, however often its message is sent."""
    return f"digest:{organization_id}:{due.astimezone(UTC):%Y-%m-%dT%H:%MZ}"


def _on(day: date, schedule: DigestSchedule, zone: ZoneInfo) -> datetime | None:
    if schedule.weekday is not None and day.weekday() != schedule.weekday:
        return None
    moment = moment_of(day, schedule.at, zone)
    # A zone that crosses the date line leaves a whole day out; that day has no digest.
    return moment if moment.astimezone(zone).date() == day else None


def _zone(preferences: Mapping[str, Any], warnings: list[str]) -> ZoneInfo:
    name = preferences.get("timezone", "UTC")
    try:
        return zone_named(str(name))
    except UnknownZone as error:
        warnings.append(str(error))
        return ZoneInfo("UTC")


def _schedule(preferences: Mapping[str, Any]) -> DigestSchedule | None:
    digest = preferences.get("digest")
    if digest is None:
        return None
    if not isinstance(digest, Mapping):
        raise BadSchedule(f"digest preferences must be an object, not {type(digest).__name__}")
    if digest.get("enabled", True) is False:
        return None
    if "schedule" in digest:
        return read_schedule(str(digest["schedule"]))
    frequency = str(digest.get("frequency", "daily"))
    if frequency not in ("daily", *WEEKDAYS):
        raise BadSchedule(f"no digest frequency {frequency!r}: write daily or a weekday")
    return read_schedule(f"{frequency} {digest.get('delivery_time', '08:00')}")


def _clock(text: str, whole: str) -> time:
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise BadSchedule(f"no digest schedule {whole!r}: write 08:30, mon 08:30 or off")
    return time(int(found[1]), int(found[2]))
