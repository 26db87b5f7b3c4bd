"""What handlers in processes of their own do through their context, by way of their worker."""

from __future__ import annotations

import logging
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import eventually, rows
from test_process_kinds import jobs as jobs  # the fixture

from windlass import JobCancelled, JobDead, State

on_both = pytest.mark.parametrize("jobs", ["sqlite_url", "postgres_url"], indirect=True)


@on_both
async def test_steps_progress_log_and_lease_go_through_the_worker(
    jobs: ModuleType, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "windlass.job")
    async with jobs.app.working(concurrency=2):
        handle = await jobs.step_by_step.enqueue(folder=str(tmp_path))
        assert await handle.result(timeout=30) == [1, 2, 3]

    job = await handle.get()
    steps = await jobs.app.jobs.steps(handle.id)
    assert (tmp_path / "parts").read_text().split() == ["1", "2", "2", "3"]
    assert [(step.name, step.result, step.run) for step in steps] == [
        ("part 1", 1, 1),
        ("part 2", 2, 2),
        ("part 3", 3, 2),
    ]
    assert job.progress is not None
    assert (job.progress.current, job.progress.message) == (3, "part 3")
    lines = [(line.message, vars(line)["job_id"], vars(line)["run"]) for line in caplog.records]
    assert lines == [("parts.begun", str(handle.id), 1), ("parts.begun", str(handle.id), 2)]


@on_both
async def test_a_process_waits_for_signals_by_way_of_its_worker(jobs: ModuleType) -> None:
    async with jobs.app.working(concurrency=2):
        handle = await jobs.wait_blocking.enqueue()
        timed = await jobs.wait_or_not.enqueue()
        await eventually(lambda: is_held(jobs, handle.id), within=30)
        await jobs.app.signal(handle, "number", 7)
        await eventually(lambda: is_held(jobs, handle.id), within=30)
        await jobs.app.signal(handle, "number", 8)

        assert await handle.result(timeout=30) == [7, 8, 3]
        assert await timed.result(timeout=30) == "never"


async def is_held(jobs: ModuleType, job_id: Any) -> bool:
    return (await jobs.app.jobs.get(job_id)).state is State.HELD


async def test_an_error_in_a_process_tells_its_step(jobs: ModuleType) -> None:
    async with jobs.app.working():
        handle = await jobs.fail_in_a_step.enqueue()
        with pytest.raises(JobDead):
            await handle.result(timeout=30)

    assert (await handle.get()).error["context"] == {"step": "send"}


@on_both
@pytest.mark.parametrize("how", ["return", "late", "die"])
async def test_a_process_completes_its_job_on_a_connection_of_its_own(jobs: ModuleType, how: str) -> None:
    await make_table(jobs)
    async with jobs.app.working():
        handle = await jobs.pay.enqueue(n=7, how=how)
        await handle.result(timeout=30)

    job = await handle.get()
    assert (job.state, job.run, job.progress.message) == (State.COMPLETED, 1, "half")
    assert await rows(jobs.app.url, "SELECT n FROM payments") == [(7,)]
    assert await children(jobs) == [(7,)]


@on_both
async def test_a_block_that_raises_in_a_process_is_undone(jobs: ModuleType) -> None:
    await make_table(jobs)
    async with jobs.app.working():
        handle = await jobs.pay.enqueue(n=7, how="raise")
        with pytest.raises(JobCancelled, match="undo it"):
            await handle.result(timeout=30)

    assert await rows(jobs.app.url, "SELECT n FROM payments") == []
    assert await children(jobs) == []


@on_both
async def test_a_blocking_handler_in_a_process_completes_its_job_as_well(jobs: ModuleType) -> None:
    await make_table(jobs)
    async with jobs.app.working():
        handle = await jobs.pay_blocking.enqueue(n=7)
        await handle.result(timeout=30)

    assert await rows(jobs.app.url, "SELECT n FROM payments") == [(7,)]
    assert await children(jobs) == [(7,)]


async def make_table(jobs: ModuleType) -> None:
    await jobs.app.jobs.counts()
    await rows(jobs.app.url, "CREATE TABLE payments (n integer)")


async def children(jobs: ModuleType) -> list[Any]:
    found = await jobs.app.jobs.search()
    return [(job.args["a"],) for job in found.jobs if job.kind == "add"]
