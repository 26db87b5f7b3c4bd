"""The book of runs: each run of a task is a row, and the row of a period's run is its lock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.store.database import insert_into
from backstay_watchpoint.store.tables import installation, run_changes, task_runs


class RunState(StrEnum):
    """What a run is or came to; braked means that it waits for a person."""

    RUNNING = "running"
    BRAKED = "braked"
    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"


UNFINISHED = (RunState.RUNNING, RunState.BRAKED)
HOLDING = (*UNFINISHED, RunState.SUCCESS)


class Trigger(StrEnum):
    """Who asked for a run."""

    SCHEDULED = "scheduled"
    MANUAL = "manual"
    EVENT = "event"
    BACK_FILL = "back_fill"


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run that wants to begin; without a lock id it needs no lock (forced and dry runs)."""

    task: str
    job_id: str
    worker_id: str
    trigger: Trigger
    reference_time: datetime | None
    started_at: datetime
    lock_id: str | None = None
    period_end: datetime | None = None
    is_dry_run: bool = False
    is_forced: bool = False


@dataclass(frozen=True, slots=True)
class Holder:
    """The run that holds the lock of a period."""

    run_id: int
    job_id: str
    state: RunState
    started_at: datetime


async def begin(transaction: AsyncConnection, run: NewRun) -> int | Holder:
    """Begin a run and take its lock: returns the run's id, or who holds the lock.

    A job that runs again has its own row again: after a crash with the lock that it still holds; a dead job that
    somebody retries takes the lock anew, if nobody else has run the period.
    """
    while True:
        own = (
            await transaction.execute(
                select(task_runs.c.id, task_runs.c.status).where(task_runs.c.job_id == run.job_id)
            )
        ).one_or_none()
        if own is not None:
            begun = await _begin_again(transaction, run, own.id, is_holding=own.status in HOLDING)
        else:
            begun = await transaction.scalar(
                insert_into(transaction, task_runs)
                .values(_row(run, RunState.RUNNING))
                .on_conflict_do_nothing()
                .returning(task_runs.c.id)
            )
        if begun is not None:
            return int(begun)
        holder = await holder_of(transaction, str(run.lock_id))
        if holder is not None:  # otherwise it has just ended: tried again
            return holder


async def _begin_again(
    transaction: AsyncConnection, run: NewRun, run_id: int, *, is_holding: bool
) -> int | None:
    """Let a job's row run again; None if another run holds its lock."""
    values: dict[str, Any] = {"worker_id": run.worker_id, "status": RunState.RUNNING}
    if not is_holding:
        values |= {"lock_id": run.lock_id, "period_end": run.period_end, "started_at": run.started_at}
        values |= {"finished_at": None, "error": None, "reason": None}
    try:
        async with transaction.begin_nested():
            await transaction.execute(update(task_runs).where(task_runs.c.id == run_id).values(values))
    except IntegrityError:
        return None
    return run_id


async def holder_of(transaction: AsyncConnection, lock_id: str) -> Holder | None:
    """Return the run that holds a lock."""
    row = (
        await transaction.execute(
            select(task_runs.c.id, task_runs.c.job_id, task_runs.c.status, task_runs.c.started_at)
            .where(task_runs.c.lock_id == lock_id)
            .where(task_runs.c.status.in_(HOLDING))
        )
    ).one_or_none()
    return None if row is None else Holder(row.id, row.job_id, RunState(row.status), row.started_at)


async def unfinished(transaction: AsyncConnection, task: str) -> list[Holder]:
    """Return the runs of a task that run or wait for a person, the oldest first."""
    rows = await transaction.execute(
        select(task_runs.c.id, task_runs.c.job_id, task_runs.c.status, task_runs.c.started_at)
        .where(task_runs.c.task == task)
        .where(task_runs.c.status.in_(UNFINISHED))
        .order_by(task_runs.c.id)
    )
    return [Holder(row.id, row.job_id, RunState(row.status), row.started_at) for row in rows]


async def record(
    transaction: AsyncConnection,
    run: NewRun,
    state: RunState,
    *,
    reason: str | None = None,
    error: str | None = None,
) -> int:
    """Write down a run that never began: skipped, or refused."""
    values = {**_row(run, state), "reason": reason, "error": error, "finished_at": run.started_at}
    again = {"status": state, "reason": reason, "error": error, "finished_at": run.started_at}
    inserted = await transaction.scalar(
        insert_into(transaction, task_runs)
        .values(values)
        .on_conflict_do_update(index_elements=["job_id"], set_=again)
        .returning(task_runs.c.id)
    )
    return int(inserted)


async def finish(
    transaction: AsyncConnection,
    run_id: int,
    state: RunState,
    now: datetime,
    *,
    error: str | None = None,
    reason: str | None = None,
    report: Mapping[str, Any] | None = None,
) -> int:
    """End a run and return its items; a failed one gives its lock back by not succeeding."""
    items = await transaction.scalar(
        update(task_runs)
        .where(task_runs.c.id == run_id)
        .values(status=state, finished_at=now, error=error, reason=reason, report=dict(report or {}))
        .returning(task_runs.c["items"])
    )
    return int(items or 0)


async def give_up(transaction: AsyncConnection, run_id: int, now: datetime, *, error: str) -> None:
    """Fail a run whose job has ended; one that has closed itself meanwhile stays as it is."""
    await transaction.execute(
        update(task_runs)
        .where(task_runs.c.id == run_id)
        .where(task_runs.c.status.in_(UNFINISHED))
        .values(status=RunState.FAILED, finished_at=now, error=error)
    )


async def note_candidates(
    transaction: AsyncConnection, run_id: int, candidates: int, *, brake_reason: str | None
) -> None:
    """Keep how many candidates a run found, for later runs to compare with; with a reason it waits for a person."""
    values: dict[str, Any] = {"candidates": candidates}
    if brake_reason is not None:
        values |= {"status": RunState.BRAKED, "reason": brake_reason}
    await transaction.execute(update(task_runs).where(task_runs.c.id == run_id).values(values))


async def release(transaction: AsyncConnection, run_id: int) -> None:
    """Let a run go on that has waited for a person."""
    await transaction.execute(
        update(task_runs)
        .where(task_runs.c.id == run_id)
        .where(task_runs.c.status == RunState.BRAKED)
        .values(status=RunState.RUNNING)
    )


async def earlier_candidates(transaction: AsyncConnection, task: str, *, most: int = 14) -> list[int]:
    """Return how many candidates the last successful runs of a task found."""
    found = await transaction.scalars(
        select(task_runs.c.candidates)
        .where(task_runs.c.task == task)
        .where(task_runs.c.status == RunState.SUCCESS)
        .where(task_runs.c.candidates.is_not(None))
        .where(task_runs.c.is_dry_run.is_(False))
        .order_by(task_runs.c.id.desc())
        .limit(most)
    )
    return [int(count) for count in found if count is not None]


async def last_successes(transaction: AsyncConnection, until: datetime) -> dict[str, datetime]:
    """Return the newest time as of which each task has succeeded, up to a moment; dry runs do not count."""
    newest = func.max(task_runs.c.reference_time, type_=task_runs.c.reference_time.type)
    rows = await transaction.execute(
        select(task_runs.c.task, newest)
        .where(task_runs.c.status == RunState.SUCCESS)
        .where(task_runs.c.is_dry_run.is_(False))
        .where(task_runs.c.reference_time <= until)
        .group_by(task_runs.c.task)
    )
    return {row[0]: row[1] for row in rows}


async def installed_at(transaction: AsyncConnection) -> datetime:
    """Return since when tasks can have been missed."""
    moment: datetime = (await transaction.execute(select(installation.c.installed_at))).scalar_one()
    return moment


async def history(
    transaction: AsyncConnection,
    *,
    task: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    limit: int = 50,
) -> list[dict[str, Any]]:
    """Return runs, the newest first; `start` and `end` are about the time that a run took for now."""
    query = select(task_runs).order_by(task_runs.c.id.desc()).limit(limit)
    if task is not None:
        query = query.where(task_runs.c.task == task)
    if start is not None:
        query = query.where(task_runs.c.reference_time >= start)
    if end is not None:
        query = query.where(task_runs.c.reference_time < end)
    return [dict(row) for row in (await transaction.execute(query)).mappings()]


async def one_run(transaction: AsyncConnection, run_id: int) -> dict[str, Any] | None:
    """Return one run."""
    row = (
        (await transaction.execute(select(task_runs).where(task_runs.c.id == run_id)))
        .mappings()
        .one_or_none()
    )
    return None if row is None else dict(row)


async def run_of_job(transaction: AsyncConnection, job_id: str) -> dict[str, Any] | None:
    """Return the run of a job; None before it has begun."""
    found = await transaction.execute(select(task_runs).where(task_runs.c.job_id == job_id))
    row = found.mappings().one_or_none()
    return None if row is None else dict(row)


async def changes_of(transaction: AsyncConnection, run_id: int) -> list[dict[str, Any]]:
    """Return what a run has changed."""
    rows = await transaction.execute(
        select(run_changes)
        .where(run_changes.c.run_id == run_id)
        .order_by(run_changes.c.item, run_changes.c.item_id)
    )
    return [dict(row) for row in rows.mappings()]


def _row(run: NewRun, state: RunState) -> dict[str, Any]:
    return {
        "task": run.task,
        "job_id": run.job_id,
        "worker_id": run.worker_id,
        "trigger": run.trigger,
        "status": state,
        "lock_id": run.lock_id,
        "period_end": run.period_end,
        "reference_time": run.reference_time,
        "is_dry_run": run.is_dry_run,
        "is_forced": run.is_forced,
        "report": {},
        "started_at": run.started_at,
    }
