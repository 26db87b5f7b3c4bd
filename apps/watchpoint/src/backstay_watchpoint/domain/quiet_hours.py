"""Quiet hours: whether a notification must wait, and until when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from backstay_watchpoint.domain.digests import WEEKDAYS
from backstay_watchpoint.domain.zones import moment_of, zone_named


class BadQuietHours(ValueError):
    """Quiet hours that cannot be read."""


@dataclass(frozen=True, slots=True)
class QuietWindow:
    """A stretch of the day on some weekdays (Monday is 0); it runs over midnight if `end` is not after `start`."""

    days: frozenset[int]
    start: time
    end: time


@dataclass(frozen=True, slots=True)
class QuietHours:
    """An organisation's quiet windows in its own zone."""

    windows: tuple[QuietWindow, ...]
    zone: ZoneInfo


def read_quiet_hours(preferences: Mapping[str, Any]) -> QuietHours | None:
    """Read `quiet_hours` of the preferences; None if there are none. Raises BadQuietHours or UnknownZone."""
    given = preferences.get("quiet_hours")
    if not isinstance(given, Mapping) or given.get("enabled", True) is False:
        return None
    zone = zone_named(str(given.get("timezone") or preferences.get("timezone") or "UTC"))
    windows = tuple(_window(entry) for entry in given.get("schedule", ()))
    return QuietHours(windows, zone) if windows else None


def quiet_until(quiet: QuietHours, moment: datetime) -> datetime | None:
    """Return when the quiet period that a moment is in ends; None if it is in none.

    Windows that touch or overlap count as one, so that nothing is woken to wait again.
    """
    end = _end_of_window_around(quiet, moment)
    if end is None:
        return None
    # A week of touching windows has no end; then the first week's end is as good as any.
    for _ in range(len(quiet.windows) * 7):
        later = _end_of_window_around(quiet, end)
        if later is None:
            return end
        end = later
    return end


def _end_of_window_around(quiet: QuietHours, moment: datetime) -> datetime | None:
    today = moment.astimezone(quiet.zone).date()
    ends = [
        end
        for day in (today - timedelta(days=1), today)
        for start, end in _windows_of(quiet, day)
        if start <= moment < end
    ]
    return max(ends, default=None)


def _windows_of(quiet: QuietHours, day: date) -> Iterator[tuple[datetime, datetime]]:
    for window in quiet.windows:
        if day.weekday() in window.days:
            last_day = day if window.end > window.start else day + timedelta(days=1)
            yield moment_of(day, window.start, quiet.zone), moment_of(last_day, window.end, quiet.zone)


def _window(entry: Any) -> QuietWindow:
    if not isinstance(entry, Mapping):
        raise BadQuietHours(f"a quiet window must be an object with days, start and end, not {entry!r}")
    try:
        days = frozenset(WEEKDAYS.index(str(day).lower()) for day in entry.get("days", WEEKDAYS))
        start, end = (time.fromisoformat(str(entry[key])) for key in ("start", "end"))
    except (KeyError, ValueError) as error:
        raise BadQuietHours(f"a quiet window needs days, start and end as HH:MM: {error}") from error
    return QuietWindow(days, start, end)
