"""Workers that are killed with -9 at the worst moments: before a commit, after it, and again and again."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import timedelta
from typing import Any

import pytest
from watchpoint_rows import organization, published, rows, watchpoint

from backstay import State
from backstay.records import JobFilter
from backstay_watchpoint.domain.catalogue import task_named
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.store import tables
from backstay_watchpoint.store.runs import Trigger
from conftest import NOW

WORKER = """
import asyncio, os, signal, sys
from contextlib import asynccontextmanager
from backstay_watchpoint.app import app
from backstay_watchpoint.services.work import Work

original = Work.transaction

@asynccontextmanager
async def dying(self):
    async with original(self) as connection:
        yield connection
        if sys.argv[1] == "before":
            os.kill(os.getpid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)

Work.transaction = dying
asyncio.run(app.worker(queues=["maintenance"], concurrency=1).run())
"""
POINTS = 12
BEFORE_COMMIT = pytest.param("before", 0, marks=pytest.mark.prove)


async def killed(environment: dict[str, str], when: str) -> None:
    """Let a worker run until it kills itself before or after the commit of a task's first unit."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, when, env={**os.environ, **environment}
    )
    async with asyncio.timeout(100):
        assert await process.wait() == -signal.SIGKILL


async def until(jobs: Jobs, job_id: Any, state: State) -> None:
    async with asyncio.timeout(100):
        while (await jobs.platform.app.jobs.get(job_id)).state is not state:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(("when", "committed"), [BEFORE_COMMIT, ("after", POINTS)])
async def test_messages_are_as_many_as_rows_after_kill_9(
    posting: Jobs, posting_environment: dict[str, str], when: str, committed: int
) -> None:
    """WPT-038, WPT-039: rows and messages are there together or not at all; in the end each row has one message."""
    database, queues = posting.platform.database, posting.platform.queues
    owner = await organization(database)
    points = {
        await watchpoint(database, owner, time_window_end=NOW - timedelta(hours=2)) for _ in range(POINTS)
    }
    job = await posting.enqueue(
        task_named("archive_watchpoints"), trigger=Trigger.SCHEDULED, reference_time=NOW
    )

    await killed(posting_environment, when)

    assert len(await rows(database, tables.watchpoints, status="archived")) == committed
    assert len(await published(posting.platform.app)) == committed
    assert await queues.waiting("eval-standard") == 0
    async with posting.platform.app.working(concurrency=4, queues=["maintenance", "publish"]):
        assert (await job.result(timeout=110))["items"] == POINTS
        received: set[str] = set()
        async with asyncio.timeout(60):
            while len(received) < POINTS:
                for message in await queues.receive("eval-standard", wait_seconds=1):
                    received.add(str(message.body["watchpoint_id"]))
                    await queues.delete("eval-standard", message)
    assert received == points
    assert len(await rows(database, tables.audit_logs)) == POINTS
    assert len(await published(posting.platform.app)) == POINTS


@pytest.mark.prove
async def test_a_period_whose_job_has_killed_its_workers_can_be_run_again(
    jobs: Jobs, environment: dict[str, str]
) -> None:
    """WPT-004, WPT-005: a job in a loop of crashes is dead in the end; it does not keep its period."""
    owner = await organization(jobs.platform.database)
    await watchpoint(jobs.platform.database, owner, time_window_end=NOW - timedelta(hours=2))
    task = task_named("archive_watchpoints")
    job = await jobs.enqueue(task, trigger=Trigger.SCHEDULED, reference_time=NOW)

    deaths = 0
    while (await jobs.platform.app.jobs.get(job.id)).state is not State.DEAD:
        await killed(environment, "before")
        deaths += 1
        assert deaths < 10
        async with jobs.platform.app.working(
            concurrency=1, queues=["mail"]
        ):  # rescues, and runs none of these
            async with asyncio.timeout(100):
                while (await jobs.platform.app.jobs.get(job.id)).state is State.RUNNING:
                    await asyncio.sleep(0.05)

    assert deaths >= 3
    assert [row["status"] for row in await rows(jobs.platform.database, tables.task_runs)] == ["running"]
    async with jobs.platform.app.working(concurrency=1, queues=["maintenance"]):
        again = await jobs.enqueue(task, trigger=Trigger.MANUAL, reference_time=NOW)
        assert (await again.result(timeout=60))["items"] == 1
    died, done = sorted(await rows(jobs.platform.database, tables.task_runs), key=lambda row: row["id"])
    assert (died["status"], died["error"], done["status"]) == ("failed", "its job died", "success")
    found = (await jobs.platform.app.jobs.search(JobFilter(kind="run_task"))).jobs
    assert sorted(str(one.state) for one in found) == ["completed", "dead"]
