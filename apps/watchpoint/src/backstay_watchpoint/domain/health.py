"""Missed runs: a task is late when nothing has succeeded for a period and a grace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from backstay_watchpoint.domain.catalogue import TaskSpec
from backstay_watchpoint.domain.periods import LENGTHS, Period

GRACES = {
    Period.QUARTER_HOUR: timedelta(minutes=10),
    Period.HOUR: timedelta(minutes=20),
    Period.DAY: timedelta(hours=2),
    Period.WEEK: timedelta(hours=6),
    Period.MONTH: timedelta(days=1),
}


@dataclass(frozen=True, slots=True)
class TaskHealth:
    """One line of /health."""

    task: str
    is_late: bool
    last_success: datetime | None
    late_since: datetime | None

    @property
    def line(self) -> str:
        """Say it for a person or a grep."""
        last = "never" if self.last_success is None else f"{self.last_success:%Y-%m-%dT%H:%M:%SZ}"
        word = "LATE" if self.is_late else "ok"
        return f"{word} {self.task} last success {last}"


def task_health(
    task: TaskSpec, last_success: datetime | None, *, installed_at: datetime, now: datetime
) -> TaskHealth:
    """Tell whether a task is late; before its first run its time counts from the installation."""
    from_when = last_success or installed_at
    late_since = from_when + LENGTHS[task.period] + GRACES[task.period]
    is_late = now > late_since
    return TaskHealth(task.name, is_late, last_success, late_since if is_late else None)


def all_health(
    tasks: tuple[TaskSpec, ...],
    successes: Mapping[str, datetime],
    *,
    installed_at: datetime,
    now: datetime,
) -> list[TaskHealth]:
    """Return a line for every task."""
    return [task_health(task, successes.get(task.name), installed_at=installed_at, now=now) for task in tasks]
