"""Processes of handlers that end in other ways than returning: what is left of them, and what is known of them."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

import pytest
from support import eventually
from test_process_kinds import is_gone, processes_of_handlers
from test_process_kinds import jobs as jobs  # the fixture

from backstay.errors import JobCancelled, JobDead


@pytest.mark.parametrize("how", ["exit", "kill"])
async def test_what_a_crashed_handler_started_is_killed(jobs: ModuleType, tmp_path: Path, how: str) -> None:
    async with jobs.app.working(concurrency=1):
        job = await jobs.leave_another_behind.enqueue(path=str(tmp_path / "pid"), how=how)
        with pytest.raises(JobDead, match="exit code 7" if how == "exit" else "SIGKILL"):
            await job.result(timeout=30)

        await eventually(lambda: is_gone(int((tmp_path / "pid").read_text())), within=3)


async def test_it_is_killed_as_well_where_the_system_cannot_tell_of_an_end_without_reaping(
    jobs: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS, before Python 3.13."""
    monkeypatch.delattr(os, "waitid")
    async with jobs.app.working(concurrency=1):
        _, first = await (await jobs.add.enqueue(a=1)).result(timeout=30)
        job = await jobs.leave_another_behind.enqueue(path=str(tmp_path / "pid"), how="exit")
        with pytest.raises(JobDead, match=f"{first} left with exit code 7"):
            await job.result(timeout=30)

        await eventually(lambda: is_gone(int((tmp_path / "pid").read_text())), within=3)


async def test_what_crashes_leave_behind_is_reaped(jobs: ModuleType) -> None:
    async with jobs.app.working(concurrency=1):
        with pytest.raises(JobDead):
            await (await jobs.die_at_once.enqueue()).result(timeout=30)

        await eventually(lambda: not processes_of_handlers(), within=3)


@pytest.mark.parametrize(
    ("how", "timeout", "status"), [("crash", "20s", "crashed"), ("stay", "3s", "timeout")]
)
async def test_the_peak_of_a_run_that_did_not_end_by_itself_is_known(
    jobs: ModuleType, how: str, timeout: str, status: str
) -> None:
    async with jobs.app.working(concurrency=1):
        job = await jobs.use_much_and_end.options(timeout=timeout).enqueue(megabytes=300, how=how)
        with pytest.raises(JobDead):
            await job.result(timeout=30)

    [run] = await jobs.app.jobs.runs(job.id)
    assert run.status == status
    assert run.peak_rss_mb > 300
    assert run.cpu_ms >= 200
    assert run.duration_ms >= 200


async def test_a_run_that_crashed_at_once_is_measured_as_well(jobs: ModuleType) -> None:
    async with jobs.app.working(concurrency=1):
        job = await jobs.die_at_once.enqueue()
        with pytest.raises(JobDead):
            await job.result(timeout=30)

    [run] = await jobs.app.jobs.runs(job.id)
    assert run.status == "crashed"
    assert run.peak_rss_mb > 5
    assert run.cpu_ms >= 0


async def test_a_small_run_after_a_large_one_in_the_same_process_is_small(jobs: ModuleType) -> None:
    async with jobs.app.working(concurrency=1):
        await (await jobs.allocate.enqueue(megabytes=300)).result(timeout=30)
        job = await jobs.die_at_once.enqueue()
        with pytest.raises(JobDead):
            await job.result(timeout=30)

    [run] = await jobs.app.jobs.runs(job.id)
    assert 5 < run.peak_rss_mb < 300


@pytest.mark.parametrize(
    ("how", "names"),
    [
        ("split", "BrokenGroup"),
        ("cause", "BrokenCause"),
        ("leaves", "LeavingSnooze"),
        ("after", "Retry"),
    ],
)
async def test_what_cannot_be_told_to_the_worker_is_a_failure_like_any_other(
    jobs: ModuleType, how: str, names: str
) -> None:
    async with jobs.app.working(concurrency=1):
        job = await jobs.raise_what_is_odd.enqueue(how=how)
        with pytest.raises(JobDead):
            await job.result(timeout=30)
        _, pid = await (await jobs.add.enqueue(a=1)).result(timeout=30)

        dead = await job.get()
        assert dead.error["type"].endswith(names)
        assert dead.error["error_class"] != "crashed"
        assert dead.crashes == 0
        assert processes_of_handlers() == {pid}


async def test_a_reason_that_is_no_text_cancels_all_the_same(jobs: ModuleType) -> None:
    async with jobs.app.working(concurrency=1):
        job = await jobs.raise_what_is_odd.enqueue(how="cancel")
        with pytest.raises(JobCancelled, match="5"):
            await job.result(timeout=30)
