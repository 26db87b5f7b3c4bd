"""Runs whose jobs ended without saying so, and runs that a person asks for again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert, text
from watchpoint_rows import organization, rows

from backstay import Job, State
from backstay.errors import JobFailed
from backstay_watchpoint.domain.catalogue import task_named
from backstay_watchpoint.domain.day_strip import Cell
from backstay_watchpoint.domain.fires import fires
from backstay_watchpoint.jobs import Jobs, build
from backstay_watchpoint.settings import Settings
from backstay_watchpoint.store import runs, tables
from backstay_watchpoint.store.runs import RunState, Trigger
from backstay_watchpoint.web.board import strip_of
from conftest import NOW, FixedClock

DAY = timedelta(days=1)


@pytest.fixture
async def working(jobs: Jobs) -> AsyncIterator[Jobs]:
    """The platform with a worker for its tasks."""
    async with jobs.platform.app.working(concurrency=4, queues=["maintenance"]):
        yield jobs


async def history(jobs: Jobs) -> list[dict[str, Any]]:
    return sorted(await rows(jobs.platform.database, tables.task_runs), key=lambda row: row["id"])


async def ended_as(jobs: Jobs, job_id: Any, state: State) -> Job:
    async with asyncio.timeout(60):
        while True:
            found = await jobs.platform.app.jobs.get(job_id)
            if found.state is state:
                return found
            await asyncio.sleep(0.05)


async def rename(jobs: Jobs, before: str, after: str) -> None:
    prefix = "" if jobs.platform.database.is_sqlite else "watchpoint."
    async with jobs.platform.database.transaction() as transaction:
        await transaction.execute(text(f"ALTER TABLE {prefix}{before} RENAME TO {after}"))


async def fail_once(jobs: Jobs) -> Any:
    """Let the purge of security events die once; returns its dead job."""
    await rename(jobs, "security_events", "hidden_events")
    task = task_named("cleanup_security_events")
    job = await jobs.enqueue(task, trigger=Trigger.SCHEDULED, reference_time=NOW)
    with pytest.raises(JobFailed):
        await job.result(timeout=60)
    await rename(jobs, "hidden_events", "security_events")
    return job


async def test_a_dead_job_that_is_retried_takes_its_period_again(working: Jobs) -> None:
    """WPT-004, WPT-005: the dead letter's retry runs the task under the same lock, in the same row of the history."""
    job = await fail_once(working)
    [failed] = await history(working)
    assert failed["status"] == "failed"

    await working.platform.app.dead_letters.retry(job.id, by="ann", reason="the table is back")
    await ended_as(working, job.id, State.COMPLETED)

    [done] = await history(working)
    assert (done["id"], done["status"], done["error"]) == (failed["id"], "success", None)
    assert done["lock_id"] == "cleanup_security_events:2026-03-18T00:00Z"


async def test_a_dead_job_that_is_retried_after_its_period_was_run_is_skipped(working: Jobs) -> None:
    """WPT-004: meanwhile somebody else has run the period, so the retry has nothing to do."""
    job = await fail_once(working)
    task = task_named("cleanup_security_events")
    other = await working.enqueue(task, trigger=Trigger.MANUAL, reference_time=NOW)
    assert "items" in await other.result(timeout=60)

    await working.platform.app.dead_letters.retry(job.id, by="ann", reason="once more")
    await ended_as(working, job.id, State.COMPLETED)

    late, done = await history(working)
    assert (late["status"], done["status"]) == ("skipped", "success")
    assert "was run by run" in late["reason"]


async def test_a_run_whose_job_is_gone_is_closed_by_the_next_run_of_the_task(jobs: Jobs) -> None:
    """WPT-005: a run of another period does not stand as running forever after its job died."""
    task = task_named("trigger_digests")
    gone = await jobs.enqueue(task, trigger=Trigger.MANUAL, reference_time=NOW - DAY)
    await jobs.platform.app.jobs.cancel(gone.id)
    await begun(jobs, "trigger_digests:2026-03-17T12:00Z", str(gone.id), "running")

    async with jobs.platform.app.working(concurrency=2, queues=["maintenance"]):
        now = await jobs.enqueue(task, trigger=Trigger.MANUAL, reference_time=NOW)
        assert "items" in await now.result(timeout=60)

    died, done = await history(jobs)
    assert (died["status"], died["error"]) == ("failed", "its job died")
    assert died["finished_at"] is not None
    assert done["status"] == "success"


async def test_a_run_that_ends_while_it_is_looked_at_stays_a_success(jobs: Jobs) -> None:
    """WPT-005: between the look at its row and the look at its job it may succeed."""
    await begun(jobs, "trigger_digests:2026-03-18T12:00Z", "j", "running")
    async with jobs.platform.database.transaction() as transaction:
        [seen] = await runs.unfinished(transaction, "trigger_digests")
        await runs.finish(transaction, seen.run_id, RunState.SUCCESS, NOW)

        await runs.give_up(transaction, seen.run_id, NOW, error="its job died")

    [run] = await history(jobs)
    assert (run["status"], run["error"]) == ("success", None)


async def begun(jobs: Jobs, lock_id: str, job_id: str, status: str) -> None:
    async with jobs.platform.database.transaction() as transaction:
        await transaction.execute(
            insert(tables.task_runs).values(
                task=lock_id.partition(":")[0],
                lock_id=lock_id,
                job_id=job_id,
                worker_id="w",
                trigger="manual",
                status=status,
                is_dry_run=False,
                is_forced=False,
                report={},
                started_at=NOW,
            )
        )


async def test_a_brake_whose_job_was_cancelled_holds_nobody_up(working: Jobs) -> None:
    """WPT-045: a person who cancels the waiting job has decided; later runs go on."""
    for _ in range(2):
        await organization(working.platform.database, deleted_at=NOW - 31 * DAY)
    task = task_named("cleanup_soft_deletes")
    gone = await working.enqueue(task, trigger=Trigger.SCHEDULED, reference_time=NOW + DAY)
    with pytest.raises(JobFailed):  # its time has not come: dead
        await gone.result(timeout=60)
    async with working.platform.database.transaction() as transaction:
        await transaction.execute(tables.task_runs.delete())
    await begun(working, "cleanup_soft_deletes:2026-03-17T00:00Z", str(gone.id), "braked")

    job = await working.enqueue(task, trigger=Trigger.MANUAL, reference_time=NOW)

    assert (await job.result(timeout=60))["items"] == 2
    braked, done = await history(working)
    assert (braked["status"], done["status"]) == ("failed", "success")


async def test_digests_by_quarters_run_four_times_an_hour(environment: dict[str, str]) -> None:
    """WPT-004, WPT-052: DIGEST_TICK=15m changes schedule, lock and strip together."""
    jobs = build(Settings.from_environment({**environment, "DIGEST_TICK": "15m"}), clock=FixedClock(NOW))
    task = jobs.platform.task_named("trigger_digests")
    hour = NOW.replace(minute=0) - timedelta(hours=1)

    async with jobs.platform.app.working(concurrency=4, queues=["maintenance"]):
        quarters = fires(task, hour, hour + timedelta(hours=1))
        handles = [await jobs.enqueue(task, trigger=Trigger.SCHEDULED, reference_time=at) for at in quarters]
        results = [await handle.result(timeout=60) for handle in handles]

    assert [result.get("skipped") for result in results] == [None] * 4
    async with jobs.platform.database.reading() as transaction:
        strip = await strip_of(transaction, jobs.platform.tasks, NOW.date(), NOW)
    [row] = [row for row in strip if row.task == "trigger_digests"]
    assert row.cells[hour.hour].cells == (Cell.DONE,) * 4
    await jobs.platform.close()


async def test_a_worker_whose_clock_is_behind_runs_its_fires(working: Jobs) -> None:
    """WPT-003: a fire bears the database's time; a clock that is a minute behind must not refuse it."""
    task = task_named("requeue_deferred")
    due = NOW + timedelta(minutes=1)

    job = await working.enqueue(task, trigger=Trigger.SCHEDULED, reference_time=due)

    assert "items" in await job.result(timeout=60)
    [run] = await history(working)
    assert (run["status"], run["reference_time"]) == ("success", due)
