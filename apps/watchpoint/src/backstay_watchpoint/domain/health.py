"""Missed runs: a task is late when the period of its last due fire has not succeeded, a grace after that fire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from backstay_watchpoint.domain.catalogue import TaskSpec
from backstay_watchpoint.domain.fires import fires
from backstay_watchpoint.domain.periods import LENGTHS, Period, period_start

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
    """Tell whether a task is late; fires before the installation are nobody's fault.

    `last_success` is the time that the newest successful run took for now: a back-fill of last month says nothing
    about today.
    """
    due = _last_due(task, now)
    if due is None or due < installed_at:
        return TaskHealth(task.name, False, last_success, None)
    is_late = last_success is None or period_start(last_success, task.period) < period_start(due, task.period)
    late_since = due + GRACES[task.period]
    return TaskHealth(task.name, is_late, last_success, late_since if is_late else None)


def _last_due(task: TaskSpec, now: datetime) -> datetime | None:
    """Return the last fire whose grace is over."""
    end = now - GRACES[task.period]
    found = fires(task, end - 2 * LENGTHS[task.period], end)
    return found[-1] if found else None


def all_health(
    tasks: tuple[TaskSpec, ...],
    successes: Mapping[str, datetime],
    *,
    installed_at: datetime,
    now: datetime,
) -> list[TaskHealth]:
    """Return a line for every task."""
    return [task_health(task, successes.get(task.name), installed_at=installed_at, now=now) for task in tasks]
