"""The multiplexer with a real worker: locks, history, reference times, trials, the brake, crashes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, text
from watchpoint_rows import count, organization, published, rows, watchpoint

from backstay import Job, State
from backstay.errors import JobFailed
from backstay_watchpoint.backfill import back_fill, missing_fires
from backstay_watchpoint.domain.catalogue import TASKS, task_named
from backstay_watchpoint.domain.fires import fires
from backstay_watchpoint.jobs import Jobs, build
from backstay_watchpoint.settings import Settings
from backstay_watchpoint.store import tables
from backstay_watchpoint.store.database import Database
from backstay_watchpoint.store.runs import Trigger
from backstay_watchpoint.tasks import SERVICES
from conftest import BASE_ENVIRONMENT, NOW, FixedClock

HOUR = timedelta(hours=1)


@pytest.fixture
async def working(jobs: Jobs) -> AsyncIterator[Jobs]:
    """The platform with a worker for its jobs, but not for what leaves it."""
    async with jobs.platform.app.working(concurrency=4, queues=["maintenance", "poll"]):
        yield jobs


async def run(jobs: Jobs, task: str, at: datetime | None = None, **given: Any) -> dict[str, Any]:
    trigger = given.pop("trigger", Trigger.MANUAL)
    job = await jobs.enqueue(task_named(task), trigger=trigger, reference_time=at or NOW, **given)
    return await job.result(timeout=60)


async def history(jobs: Jobs, **where: Any) -> list[dict[str, Any]]:
    return sorted(await rows(jobs.platform.database, tables.task_runs, **where), key=lambda row: row["id"])


async def test_four_quarters_run_four_times_and_a_doubled_tick_once(working: Jobs) -> None:
    """WPT-004: the lock is the task's own period, and two jobs at once are one run and one skip."""
    hour = NOW.replace(minute=0) - HOUR
    ticks = [hour + timedelta(minutes=15 * quarter) for quarter in range(4)] + [
        hour,
        hour + timedelta(minutes=14),
    ]

    results = await asyncio.gather(*(run(working, "requeue_deferred", tick) for tick in ticks))

    assert sum("items" in result for result in results) == 4
    assert sum("skipped" in result for result in results) == 2
    found = await history(working)
    assert sorted(row["status"] for row in found) == ["skipped"] * 2 + ["success"] * 4
    assert all(
        "was run by run" in row["reason"] or "is being run" in row["reason"] for row in found if row["reason"]
    )


async def test_yesterdays_run_stands_beside_todays(working: Jobs) -> None:
    """WPT-006: a back-fill uses the lock of its own period."""
    today = await run(working, "aggregate_usage")
    yesterday = await run(working, "aggregate_usage", NOW - timedelta(days=1))

    assert "items" in today
    assert "items" in yesterday
    locks = {row["lock_id"] for row in await history(working)}
    assert locks == {"aggregate_usage:2026-03-18T00:00Z", "aggregate_usage:2026-03-17T00:00Z"}


@pytest.mark.parametrize("task", [task.name for task in TASKS if not SERVICES[task.name].acts_on_others])
async def test_every_task_runs_and_has_nothing_left_the_second_time(working: Jobs, task: str) -> None:
    """WPT-003, WPT-005, WPT-007: routed by name; a history row with its items; forced again, 0 items."""
    database = working.platform.database
    await fill(database)
    if task in ("transition_forecasts", "archive_audit_logs"):
        async with (
            database.transaction() as transaction
        ):  # these are shown with a real object store elsewhere
            await transaction.execute(tables.forecast_runs.delete())
            await transaction.execute(tables.audit_logs.delete())

    first = await run(working, task)
    second = await run(working, task, force=True)

    assert second["items"] == 0
    one_run, again = await history(working)
    assert (one_run["status"], one_run["items"], one_run["reference_time"]) == (
        "success",
        first["items"],
        NOW,
    )
    assert (again["status"], again["is_forced"], again["lock_id"]) == ("success", True, None)
    changes = await rows(database, tables.run_changes, run_id=one_run["id"])
    assert len(changes) == first["items"]
    assert first["flows"] == list(task_named(task).flows)


async def fill(database: Database) -> None:
    """Something to do for every task of the database alone."""
    late = {"digest": {"schedule": "08:00"}}
    owner = await organization(database, notification_preferences=late, next_digest_at=NOW - HOUR)
    await watchpoint(database, owner, time_window_end=NOW - 2 * HOUR)
    unpaid = await organization(database, payment_failed_at=NOW - timedelta(days=8))
    await watchpoint(database, unpaid)
    over = await organization(
        database, plan_limits={"watchpoints_max": 1}, overage_started_at=NOW - timedelta(days=15)
    )
    for _ in range(2):
        await watchpoint(database, over)
    await organization(database, deleted_at=NOW - timedelta(days=31))
    async with database.transaction() as transaction:
        for table, values in (
            (tables.idempotency_keys, {"organization_id": owner, "key": "k", "expires_at": NOW - HOUR}),
            (tables.security_events, {"id": "s", "event_type": "x", "attempted_at": NOW - timedelta(days=8)}),
            (
                tables.notifications,
                {"id": "n", "organization_id": owner, "payload": {}, "created_at": NOW - timedelta(days=366)},
            ),
            (
                tables.rate_limits,
                {
                    "organization_id": owner,
                    "source": "web",
                    "api_calls_count": 3,
                    "watchpoints_count": 0,
                    "period_start": NOW - timedelta(days=2),
                    "period_end": NOW - timedelta(days=1),
                },
            ),
        ):
            await transaction.execute(insert(table).values(**values))


async def test_an_unknown_task_fails_with_a_history_row_and_no_lock(working: Jobs) -> None:
    """WPT-003: the error says which names there are near."""
    job = await working.run_task.enqueue(task="agregate_usage", trigger="event")

    with pytest.raises(JobFailed, match="did you mean aggregate_usage"):
        await job.result(timeout=60)

    [row] = await history(working)
    assert (row["status"], row["lock_id"], row["trigger"]) == ("failed", None, "event")
    assert "no task 'agregate_usage'" in row["error"]


async def test_a_reference_time_after_now_is_refused(working: Jobs) -> None:
    """WPT-003: a clean-up of the future would delete everything; forced it runs."""
    database = working.platform.database
    await organization(database, deleted_at=NOW - timedelta(days=1))
    ahead = NOW + timedelta(days=60)

    with pytest.raises(JobFailed, match="give a time that has passed"):
        await run(working, "cleanup_soft_deletes", ahead)

    assert await count(database, tables.organizations) == 1
    assert (await history(working))[0]["status"] == "failed"
    assert (await run(working, "cleanup_soft_deletes", ahead, force=True))["items"] == 1


async def test_a_reference_time_of_another_century_leaves_a_history_that_can_be_read(working: Jobs) -> None:
    """WPT-003, WPT-005: refused, and the row of the refusal does not make the others unreadable."""
    year_one = datetime.fromisoformat("0001-01-02T00:00:00+00:00")

    with pytest.raises(JobFailed, match="no task runs as of the year 1"):
        await run(working, "verification", year_one, force=True)

    [refused] = await history(working)
    assert (refused["status"], refused["reference_time"]) == ("failed", year_one)


async def test_a_failing_service_leaves_its_error_and_frees_its_period(working: Jobs) -> None:
    """WPT-005, WPT-055: history failed with the text; other tasks unaffected; the period can be run again."""
    broken = working.platform.database
    async with broken.transaction() as transaction:
        name = "security_events" if broken.is_sqlite else "watchpoint.security_events"
        await transaction.execute(text(f"ALTER TABLE {name} RENAME TO hidden_events"))
    try:
        with pytest.raises(JobFailed):
            await run(working, "cleanup_security_events")
        assert "items" in await run(working, "requeue_deferred")
    finally:
        async with broken.transaction() as transaction:
            name = "hidden_events" if broken.is_sqlite else "watchpoint.hidden_events"
            await transaction.execute(text(f"ALTER TABLE {name} RENAME TO security_events"))

    [failed] = await history(working, task="cleanup_security_events")
    assert failed["status"] == "failed"
    assert "security_events" in failed["error"]
    assert failed["finished_at"] is not None
    assert "items" in await run(working, "cleanup_security_events")


async def test_a_dry_run_changes_nothing_and_says_what_would(working: Jobs) -> None:
    """WPT-045: count and sample by the same code, rolled back; the real run's count is the same."""
    database = working.platform.database
    for _ in range(3):
        await organization(database, deleted_at=NOW - timedelta(days=31))

    tried = await run(working, "cleanup_soft_deletes", dry_run=True)

    assert await count(database, tables.organizations) == 3
    assert tried["would_change"] == 3
    assert tried["sample"][0].endswith(": deleted")
    assert (await run(working, "cleanup_soft_deletes"))["items"] == 3
    assert await published(working.platform.app) == []
    first, _ = await history(working)
    assert (first["is_dry_run"], first["lock_id"]) == (True, None)


async def test_a_trial_of_messages_sends_none(working: Jobs) -> None:
    """WPT-026: what would be sent is rolled back, too."""
    database = working.platform.database
    preferences = {"digest": {"schedule": "08:00"}}
    await organization(database, notification_preferences=preferences, next_digest_at=NOW)

    tried = await run(working, "trigger_digests", dry_run=True)

    assert tried["would_change"] == 1
    assert await published(working.platform.app) == []


async def test_a_task_that_acts_on_others_cannot_be_tried(working: Jobs) -> None:
    """WPT-045: refused instead of half tried."""
    with pytest.raises(JobFailed, match="acts on other systems and cannot be tried"):
        await run(working, "sync_stripe", dry_run=True)


async def test_the_brake_waits_for_a_person(working: Jobs) -> None:
    """WPT-045: far more than usual stops; later runs are skipped with that reason; a signal lets it go on."""
    database = working.platform.database
    async with database.transaction() as transaction:
        await transaction.execute(
            insert(tables.organizations),
            [
                {
                    "id": f"o{number}",
                    "name": "x",
                    "email": "x@y",
                    "notification_preferences": {},
                    "created_at": NOW,
                    "deleted_at": NOW - timedelta(days=40),
                }
                for number in range(220)
            ],
        )
    task = task_named("cleanup_soft_deletes")
    job = await working.enqueue(task, trigger=Trigger.SCHEDULED, reference_time=NOW)
    await state_of(working, job.id, State.HELD)
    [braked] = await history(working)
    assert (braked["status"], braked["candidates"]) == ("braked", 220)
    assert "220 organizations are 100% of 220" in braked["reason"]
    assert await count(database, tables.organizations) == 220

    later = await run(working, "cleanup_soft_deletes", NOW - timedelta(days=1))
    assert "waits for a person to release the brake" in later["skipped"]

    await working.platform.app.signals.send(job.id, "release-brake", {}, by="ann")
    assert (await job.result(timeout=60))["items"] == 50
    assert (await history(working))[0]["status"] == "success"


async def state_of(jobs: Jobs, job_id: Any, state: State) -> Job:
    async with asyncio.timeout(60):
        while True:
            found = await jobs.platform.app.jobs.get(job_id)
            if found.state is state:
                return found
            await asyncio.sleep(0.05)


async def test_a_back_fill_asks_for_what_is_missing(working: Jobs) -> None:
    """WPT-006: each missing period once, none after now, shown as back-filled."""
    task = task_named("trigger_digests")
    start = NOW.replace(minute=0) - 4 * HOUR
    await run(working, "trigger_digests", start + HOUR)

    missing = await missing_fires(working, task, start, NOW + timedelta(days=1))
    handles = await back_fill(working, task, start, NOW + timedelta(days=1))
    await asyncio.gather(*(handle.result(timeout=60) for handle in handles))

    assert missing == [start, *(start + hours * HOUR for hours in (2, 3, 4))]
    assert len(await history(working, trigger="back_fill", status="success")) == 4
    assert await missing_fires(working, task, start, NOW) == []


async def test_the_views_have_the_documents_columns(working: Jobs) -> None:
    """WPT-004, WPT-005: job_locks and job_history."""
    await run(working, "trigger_digests")
    prefix = "" if working.platform.database.is_sqlite else "watchpoint."
    async with working.platform.database.transaction() as transaction:
        locks = (await transaction.execute(text(f"SELECT * FROM {prefix}job_locks"))).mappings().all()
        past = (await transaction.execute(text(f"SELECT * FROM {prefix}job_history"))).mappings().all()

    assert set(locks[0]) == {"id", "worker_id", "locked_at", "expires_at"}
    assert locks[0]["id"] == "trigger_digests:2026-03-18T12:00Z"
    assert [locks[0]["worker_id"]] == [worker.id for worker in await working.platform.app.workers.all()]
    assert {"id", "job_type", "status", "items_count", "error", "started_at", "finished_at"} <= set(past[0])
    assert (past[0]["job_type"], past[0]["status"]) == ("trigger_digests", "success")


async def test_a_period_whose_job_died_can_be_run_again(jobs: Jobs, clock: FixedClock) -> None:
    """WPT-004: a dead job does not keep its period."""
    task = task_named("trigger_digests")
    gone = await jobs.enqueue(task, trigger=Trigger.MANUAL, reference_time=NOW)
    await jobs.platform.app.jobs.cancel(gone.id)
    async with jobs.platform.database.transaction() as transaction:
        await transaction.execute(
            insert(tables.task_runs).values(
                task=task.name,
                lock_id="trigger_digests:2026-03-18T12:00Z",
                job_id=str(gone.id),
                worker_id="w",
                trigger="manual",
                status="running",
                is_dry_run=False,
                is_forced=False,
                report={},
                started_at=NOW,
            )
        )

    async with jobs.platform.app.working(concurrency=2, queues=["maintenance"]):
        assert "items" in await run(jobs, "trigger_digests")

    died, done = await history(jobs)
    assert (died["status"], died["error"]) == ("failed", "its job died")
    assert done["status"] == "success"


WORKER = """
import asyncio, os, signal, sys
from backstay_watchpoint.app import app, platform
from backstay_watchpoint.services import usage

original = usage._close_one
closed = 0

async def dying(work, transaction, organization_id, source):
    global closed
    await original(work, transaction, organization_id, source)
    closed += 1
    if closed == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)

usage._close_one = dying
asyncio.run(app.worker(queues=["maintenance"], concurrency=1).run())
"""


async def test_after_kill_9_in_mid_task_the_period_is_done_once(
    jobs: Jobs, environment: dict[str, str]
) -> None:
    """WPT-004, WPT-027, WPT-028: a worker dies in the middle; the same job goes on, and every sum is right."""
    database = jobs.platform.database
    midnight = NOW.replace(hour=0, minute=0)
    for number in range(8):
        owner = await organization(database, id=f"org{number}")
        async with database.transaction() as transaction:
            await transaction.execute(
                insert(tables.rate_limits).values(
                    organization_id=owner,
                    source="web",
                    api_calls_count=number + 1,
                    watchpoints_count=0,
                    period_start=midnight - timedelta(days=1),
                    period_end=midnight,
                )
            )
    job = await jobs.enqueue(task_named("aggregate_usage"), trigger=Trigger.SCHEDULED, reference_time=NOW)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, "4", env={**os.environ, **environment}
    )
    async with asyncio.timeout(60):
        assert await process.wait() == -signal.SIGKILL
    halfway = sum(row["api_calls"] for row in await rows(database, tables.usage_history))
    assert halfway == 1 + 2 + 3  # the fourth organisation's transaction was not committed

    async with jobs.platform.app.working(concurrency=1, queues=["maintenance"]):
        result = await job.result(timeout=110)

    assert sum(row["api_calls"] for row in await rows(database, tables.usage_history)) == sum(range(1, 9))
    [row] = await history(jobs)
    assert (row["status"], row["items"], result["items"]) == ("success", 8, 8)
    assert all(found["api_calls_count"] == 0 for found in await rows(database, tables.rate_limits))


async def test_a_long_clean_up_does_not_delay_polling(postgres_url: str) -> None:
    """WPT-002: two lanes; while a clean-up stands in the maintenance lane, the poll's jobs run to their end."""
    given = Settings.from_environment({**BASE_ENVIRONMENT, "WATCHPOINT_URL": postgres_url})
    lane, other, locking = (build(given, clock=FixedClock(NOW)) for _ in range(3))
    async with (
        lane.platform.app.working(concurrency=1, queues=["maintenance"]),
        other.platform.app.working(concurrency=1, queues=["poll"]),
    ):
        async with locking.platform.database.transaction() as transaction:
            await transaction.execute(text("LOCK TABLE watchpoint.organizations IN ACCESS EXCLUSIVE MODE"))
            slow = await lane.enqueue(task_named("cleanup_soft_deletes"), trigger=Trigger.MANUAL)
            await state_of(lane, slow.id, State.RUNNING)
            ahead = NOW + timedelta(days=1)
            quick = await other.enqueue(task_named("poll_data"), trigger=Trigger.MANUAL, reference_time=ahead)
            with pytest.raises(JobFailed, match="after now"):  # it ran, and refused a time that has not come
                await quick.result(timeout=60)
            assert (await lane.platform.app.jobs.get(slow.id)).state is State.RUNNING
        assert (await slow.result(timeout=60))["items"] == 0
    for jobs in (lane, other, locking):
        await jobs.platform.close()


async def test_schedules_of_all_tasks_are_stored_with_their_next_fires(environment: dict[str, str]) -> None:
    """WPT-001, WPT-054: seventeen schedules in UTC whose fires are those of the catalogue."""
    jobs = build(Settings.from_environment({**environment, "SCHEDULES": "on"}))
    async with jobs.platform.app.working(concurrency=1, queues=["publish"]):
        async with asyncio.timeout(60):
            while len(await jobs.platform.app.schedules.all()) < len(TASKS):
                await asyncio.sleep(0.05)
        stored = {found.name: found for found in await jobs.platform.app.schedules.all()}
        assert set(stored) == {task.name for task in TASKS}
        for task in TASKS:
            upcoming = list(await jobs.platform.app.schedules.next_fires(task.name))
            first = upcoming[0]
            assert upcoming == fires(task, first, upcoming[-1] + timedelta(seconds=1))
    await jobs.platform.close()


def test_a_day_has_343_fires_of_the_inventory() -> None:
    """WPT-001: the next-run table of one day."""
    start = datetime.fromisoformat("2026-03-18T00:00:00+00:00")
    counted = {task.name: fires(task, start, start + timedelta(days=1)) for task in TASKS}
    daily = {name: f"{found[0]:%H:%M}" for name, found in counted.items() if len(found) == 1}

    assert [len(counted[name]) for name in ("poll_data", "archive_watchpoints", "requeue_deferred")] == [
        96
    ] * 3
    assert [len(counted[name]) for name in ("reconcile_forecasts", "trigger_digests")] == [24] * 2
    assert daily == {
        "sync_stripe": "00:00",
        "aggregate_usage": "01:00",
        "enforce_payment_failure": "01:30",
        "enforce_overage": "01:45",
        "cleanup_soft_deletes": "02:00",
        "cleanup_idempotency_keys": "03:00",
        "verification": "03:00",
        "transition_forecasts": "04:00",
        "cleanup_security_events": "05:00",
    }
    inventory = sum(len(found) for found in counted.values()) - 2
    assert inventory == 343
    monday = datetime.fromisoformat("2026-06-01T00:00:00+00:00")
    first = {task.name for task in TASKS if fires(task, monday, monday + timedelta(days=1))} - set(daily)
    assert {"update_calibration", "purge_notifications", "archive_audit_logs"} <= first
