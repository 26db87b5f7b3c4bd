"""What handlers in processes of their own do through their context, by way of their worker."""

from __future__ import annotations

import logging
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import eventually, rows
from test_process_kinds import jobs as jobs  # the fixture

from backstay import State
from backstay.errors import JobCancelled, JobDead

on_both = pytest.mark.parametrize("jobs", ["sqlite_url", "postgres_url"], indirect=True)


@on_both
async def test_steps_progress_log_and_lease_go_through_the_worker(
    jobs: ModuleType, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "backstay.job")
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
    lines = [
        (line.message, vars(line)["job_id"], vars(line)["run"])
        for line in caplog.records
        if "run" in vars(line)
    ]
    assert lines == [("parts.begun", str(handle.id), 1), ("parts.begun", str(handle.id), 2)]


@on_both
async def test_a_process_waits_for_signals_by_way_of_its_worker(jobs: ModuleType) -> None:
    async with jobs.app.working(concurrency=2):
        handle = await jobs.wait_blocking.enqueue()
        timed = await jobs.wait_or_not.enqueue()
        await eventually(lambda: is_held(jobs, handle.id), within=30)
        await jobs.app.signals.send(handle, "number", 7)
        await eventually(lambda: is_held(jobs, handle.id), within=30)
        await jobs.app.signals.send(handle, "number", 8)

        assert await handle.result(timeout=30) == [7, 8, 3]
        assert await timed.result(timeout=30) == "never"


async def is_held(jobs: ModuleType, job_id: Any) -> bool:
    return (await jobs.app.jobs.get(job_id)).state is State.HELD


async def test_a_handler_in_a_process_is_told_who_asked_and_how_long_it_has(jobs: ModuleType) -> None:
    async with jobs.app.working():
        handle = await jobs.tell_of_itself.options(created_by="ada", tags=["a"], metadata={"x": 1}).enqueue()
        told = await handle.result(timeout=30)

    job = await handle.get()
    assert (told["by"], told["tags"], told["metadata"]) == ("ada", ["a"], {"x": 1})
    assert (told["worker"], 0 < told["left"] <= 90) == (job.settled_by, True)


async def test_the_time_limit_of_a_process_may_depend_on_the_arguments(jobs: ModuleType) -> None:
    async with jobs.app.working():
        short, long = [await jobs.tell_its_limit.enqueue(seconds=one) for one in (45.0, 900.0)]

        assert (await short.result(timeout=30), await long.result(timeout=30)) == (45, 90)


@pytest.mark.parametrize(
    ("how", "details"), [("raise", {"page": 7, "row": 9}), ("die", {"page": 7})], ids=["raised", "killed"]
)
async def test_a_process_tells_what_its_handler_noted(
    jobs: ModuleType, how: str, details: dict[str, int]
) -> None:
    async with jobs.app.working():
        handle = await jobs.note_and_end.enqueue(how=how)
        with pytest.raises(JobDead) as dead:
            await handle.result(timeout=30)

    assert (dead.value.error["details"], dead.value.error["partial_result"]) == (details, [1, 2])


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
@pytest.mark.parametrize(
    ("how", "state", "attempt", "status"),
    [("fail", State.DEAD, 1, "failed"), ("snooze", State.SCHEDULED, 0, "snoozed")],
)
async def test_a_process_ends_its_job_in_another_way(
    jobs: ModuleType, how: str, state: State, attempt: int, status: str
) -> None:
    await make_table(jobs)
    async with jobs.app.working():
        handle = await jobs.pay.enqueue(n=7, how=how)
        await eventually(lambda: jobs.app.jobs.attempts(handle.id), within=30)

    job, [ended] = await handle.get(), await jobs.app.jobs.attempts(handle.id)
    assert (job.state, job.attempt, ended.status, ended.worker) == (state, attempt, status, job.settled_by)
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
