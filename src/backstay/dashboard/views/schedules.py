"""Schedules as lists show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backstay.dashboard.views.schedule_words import words_of
from backstay.kit import StripCell, StripRow, path_of
from backstay.kit.hrefs import with_query
from backstay.kit.words import aware, exact_time
from backstay.model.schedules.records import HistoryEntry
from backstay.model.schedules.schedule import Schedule

LATE_AFTER = timedelta(minutes=1)
CELLS = 50


@dataclass(frozen=True)
class ScheduleRow:
    """A schedule with its rule in words and how it stands."""

    schedule: Schedule
    words: str
    status: str
    href: str
    """Its page; who acts for all tenants names the one it belongs to."""
    query: str


def schedule_rows(schedules: Sequence[Schedule], now: datetime) -> list[ScheduleRow]:
    """Return the schedules as a page shows them."""
    return [_row(schedule, now) for schedule in schedules]


def status_of(schedule: Schedule, now: datetime) -> str:
    """Say how a schedule stands: paused, disabled, ended, late or active."""
    if schedule.is_paused:
        return "paused"
    if not schedule.declared.is_enabled:
        return "disabled"
    if schedule.next_fire_at is None:
        return "ended"
    return "late" if now - aware(schedule.next_fire_at) > LATE_AFTER else "active"


def history_strip(history: Sequence[HistoryEntry]) -> list[StripRow]:
    """Return the last fires as cells, the oldest first."""
    cells = [
        StripCell(
            entry.status,
            f"{exact_time(entry.fire_time)}: {entry.status}",
            path_of("jobs", entry.job_id) if entry.job_id else "",
        )
        for entry in reversed(history[:CELLS])
    ]
    return [StripRow("", cells)] if cells else []


def _row(schedule: Schedule, now: datetime) -> ScheduleRow:
    query = with_query("", [], tenant=schedule.tenant or None)
    return ScheduleRow(
        schedule,
        words_of(schedule.definition),
        status_of(schedule, now),
        path_of("schedules", schedule.name) + query,
        query,
    )
