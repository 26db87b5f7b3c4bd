"""Runs of a past stretch of time that have not succeeded: counted first, and then asked for."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import select

from backstay import JobHandle
from backstay_watchpoint.domain.catalogue import TaskSpec, reference_time
from backstay_watchpoint.domain.fires import fires
from backstay_watchpoint.domain.periods import lock_id, period_end, period_start
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.store.runs import RunState, Trigger
from backstay_watchpoint.store.tables import task_runs

MOST_FIRES = 3000
"""A month of quarters of an hour; more at a time is a slip of whoever wrote the dates."""


class TooManyFires(ValueError):
    """More runs than anybody means to ask for at once."""


async def missing_fires(jobs: Jobs, task: TaskSpec, start: datetime, end: datetime) -> list[datetime]:
    """Return the fires of a stretch of time whose periods have not been run, none after now.

    Raises BadReferenceTime and TooManyFires.
    """
    now = jobs.platform.clock()
    last = min(end, now)
    if last <= start:
        return []
    reference_time(task, start, now)
    due = fires(task, start, last)
    if len(due) > MOST_FIRES:
        raise TooManyFires(
            f"{task.name} has fired {len(due)} times from {start:%Y-%m-%d} to {last:%Y-%m-%d}: "
            f"ask for at most {MOST_FIRES} at once"
        )
    async with jobs.platform.database.reading() as transaction:
        done = set(
            await transaction.scalars(
                select(task_runs.c.lock_id)
                .where(task_runs.c.task == task.name)
                .where(task_runs.c.status == RunState.SUCCESS)
                .where(task_runs.c.reference_time >= period_start(start, task.period))
                .where(task_runs.c.reference_time < period_end(last, task.period))
            )
        )
    return [fire for fire in due if lock_id(task.name, fire, task.period) not in done]


async def back_fill(
    jobs: Jobs, task: TaskSpec, start: datetime, end: datetime
) -> list[JobHandle[dict[str, Any]]]:
    """Ask for every run that is missing, oldest first."""
    return [
        await jobs.enqueue(task, trigger=Trigger.BACK_FILL, reference_time=fire)
        for fire in await missing_fires(jobs, task, start, end)
    ]
