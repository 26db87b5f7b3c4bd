"""When a task's schedule fires: the few forms that the catalogue uses, in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from backstay_watchpoint.domain.catalogue import TaskSpec
from backstay_watchpoint.domain.digests import WEEKDAYS

_RATE = re.compile(r"rate\((\d+) (minute|hour)s?\)")
_CRON = re.compile(r"cron\((\d+) (\d+) (\*|\?|\d+) \* (\?|\*|[A-Z]{3}) \*\)")


class BadSchedule(ValueError):
    """A schedule that is none of the catalogue's forms."""


def fires(task: TaskSpec, start: datetime, end: datetime) -> list[datetime]:
    """Return the moments from `start` to before `end` at which a task's schedule fires."""
    start, end = start.astimezone(UTC), end.astimezone(UTC)
    if (rate := _RATE.fullmatch(task.schedule)) is not None:
        step = timedelta(minutes=int(rate[1])) if rate[2] == "minute" else timedelta(hours=int(rate[1]))
        midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
        first = midnight + -(-(start - midnight) // step) * step
        return [first + number * step for number in range(max(0, -(-(end - first) // step)))]
    if (cron := _CRON.fullmatch(task.schedule)) is not None:
        return [at for at in _daily(start, end, int(cron[2]), int(cron[1])) if _fits(at, cron[3], cron[4])]
    raise BadSchedule(
        f"{task.name} has the schedule {task.schedule!r}, which is no rate(…) or cron(…) that is known here"
    )


def _daily(start: datetime, end: datetime, hour: int, minute: int) -> list[datetime]:
    at = start.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if at < start:
        at += timedelta(days=1)
    found = []
    while at < end:
        found.append(at)
        at += timedelta(days=1)
    return found


def _fits(at: datetime, day: str, weekday: str) -> bool:
    is_day = not day.isdigit() or at.day == int(day)
    is_weekday = weekday in ("?", "*") or at.weekday() == WEEKDAYS.index(weekday.lower())
    return is_day and is_weekday
