"""Handlers in processes of their own: what goes in and out, and that killing them harms nobody else."""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
import pytest
from support import eventually

from backstay import Backstay, State
from backstay.errors import InvalidSettings, JobCancelled, JobDead

SOURCE = Path(__file__).with_name("process_jobs.py")
_numbers = count()


@pytest.fixture
async def jobs(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ModuleType]:
    """A module of handlers with a database of its own; on SQLite, unless the test says otherwise."""
    url = request.getfixturevalue(getattr(request, "param", "sqlite_url"))
    name = f"process_jobs_{next(_numbers)}"
    shutil.copy(SOURCE, tmp_path / f"{name}.py")
    monkeypatch.setenv("PROCESS_JOBS_URL", url)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(name)
    yield module
    await module.app.close()
    del sys.modules[name]


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def waiting_pids(gate: Path) -> list[int]:
    return [int(path.suffix[1:]) for path in gate.parent.glob(f"{gate.stem}.*") if path.suffix[1:].isdigit()]


async def test_arguments_and_results_come_through(jobs: ModuleType) -> None:
    async with jobs.app.working(concurrency=2):
        added, pid = await (await jobs.add.enqueue(a=40)).result(timeout=20)
        job = await jobs.describe.enqueue(word="naïve \u2028 😀")
        described = await job.result(timeout=20)

    assert added == 42
    assert pid != os.getpid()
    assert described == {
        "id": str(job.id),
        "attempt": 1,
        "key": str(job.id),
        "word": "naïve \u2028 😀",
    }


async def test_a_process_stays_warm_and_ends_with_its_worker(jobs: ModuleType) -> None:
    async with jobs.app.working(concurrency=1):
        handles = [await jobs.add.enqueue(a=n) for n in range(5)]
        pids = {(await handle.result(timeout=20))[1] for handle in handles}

    assert len(pids) == 1
    assert is_gone(pids.pop())


async def test_an_exception_comes_back_with_its_traceback(jobs: ModuleType) -> None:
    async with jobs.app.working():
        failing, leaving = await jobs.fail.enqueue(), await jobs.leave_by_exception.enqueue()
        for job in (failing, leaving):
            with pytest.raises(JobDead):
                await job.result(timeout=20)

    error = (await failing.get()).error
    assert (error["type"], error["message"]) == ("ValueError", "no luck")
    assert error["traceback"].lstrip().startswith(f'File "{jobs.__file__}"')
    assert (await leaving.get()).error["type"] == "SystemExit"


async def test_a_handler_ends_its_attempt_in_every_other_way(jobs: ModuleType) -> None:
    async with jobs.app.working():
        again, bad = await jobs.look_again.enqueue(), await jobs.return_what_json_cannot_hold.enqueue()
        with pytest.raises(JobCancelled, match="seen enough"):
            await again.result(timeout=20)
        with pytest.raises(JobDead):
            await bad.result(timeout=20)

    assert (await again.get()).run == 2
    assert (await bad.get()).error["error_class"] == "result_invalid"


@pytest.mark.parametrize("kind", ["spin", "refuse_to_end", "stuck_in_c"])
async def test_a_time_limit_kills_and_the_slot_is_used_again(
    jobs: ModuleType, tmp_path: Path, kind: str
) -> None:
    pid_file = tmp_path / "pid"
    async with jobs.app.working(concurrency=1):
        await (await jobs.add.enqueue(a=1)).result(timeout=20)
        endless = await getattr(jobs, kind).enqueue(path=str(pid_file))
        after = await jobs.add.enqueue(a=2)
        await after.result(timeout=60)

    job = await endless.get()
    assert (job.state, job.error["error_class"]) == (State.DEAD, "timeout")
    assert "0.5 s" in job.error["message"]
    assert is_gone(int(pid_file.read_text()))
    assert pid_file.with_suffix(".cleaned").exists() is (kind == "spin")


async def test_the_next_process_is_started_while_the_last_one_is_being_ended(
    jobs: ModuleType, tmp_path: Path
) -> None:
    async with jobs.app.working(concurrency=1):
        await jobs.refuse_to_end.enqueue(path=str(tmp_path / "pid"))
        await eventually((tmp_path / "pid").exists, within=20)

        await eventually(lambda: len(processes_of_handlers()) == 2, within=20)
        assert int((tmp_path / "pid").read_text()) in processes_of_handlers()

        await eventually(lambda: len(processes_of_handlers()) == 1, within=20)
        _, pid = await (await jobs.add.enqueue(a=1)).result(timeout=20)
        assert processes_of_handlers() == {pid}


def processes_of_handlers() -> set[int]:
    found = set()
    for child in psutil.Process().children():
        # It may end while we look.
        with suppress(psutil.Error):
            if "process.child" in " ".join(child.cmdline()):
                found.add(child.pid)
    return found


async def test_a_slow_import_is_not_taken_from_the_handlers_time(
    jobs: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCESS_JOBS_IMPORT_SECONDS", "1.5")
    async with jobs.app.working():
        job = await jobs.add.options(timeout="1s").enqueue(a=1)

        assert (await job.result(timeout=20))[0] == 3
        assert (await job.get()).attempt == 1


async def test_a_module_that_cannot_be_imported_again_fails_the_job(
    jobs: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCESS_JOBS_IMPORT_SECONDS", "soon")
    async with jobs.app.working():
        job = await jobs.fail.enqueue()
        with pytest.raises(JobDead, match="could not convert string to float: 'soon'"):
            await job.result(timeout=20)


async def test_what_a_handler_started_is_killed_with_it(jobs: ModuleType, tmp_path: Path) -> None:
    async with jobs.app.working():
        job = await jobs.start_another.enqueue(path=str(tmp_path / "pid"))
        with pytest.raises(JobDead):
            await job.result(timeout=20)

        await eventually(lambda: is_gone(int((tmp_path / "pid").read_text())), within=3)


@pytest.mark.parametrize("jobs", ["sqlite_url", "postgres_url"], indirect=True)
@pytest.mark.parametrize(("how", "told"), [("exit", "exit code 7"), ("segfault", "SIGSEGV")])
async def test_a_crash_costs_only_its_own_job(jobs: ModuleType, tmp_path: Path, how: str, told: str) -> None:
    gate = tmp_path / "gate"
    async with jobs.app.working(concurrency=3):
        neighbours = [await jobs.wait.enqueue(path=str(gate)) for _ in range(2)]
        await eventually(lambda: len(waiting_pids(gate)) == 2, within=20)
        poison = await jobs.die.enqueue(how=how)
        with pytest.raises(JobDead):
            await poison.result(timeout=20)
        gate.touch()
        pids = [await neighbour.result(timeout=20) for neighbour in neighbours]

    job, attempts = await poison.get(), await jobs.app.jobs.attempts(poison.id)
    assert sorted(pids) == sorted(waiting_pids(gate))
    assert (job.reason, job.crashes, job.attempt, job.is_suspect) == ("crash loop", 3, 3, False)
    assert [attempt.status for attempt in attempts] == ["crashed"] * 3
    assert told in job.error["message"]
    assert job.error["error_class"] == "crashed"


async def test_a_job_that_crashed_once_runs_again(jobs: ModuleType) -> None:
    async with jobs.app.working():
        job = await jobs.die.enqueue(how="once")

        assert await job.result(timeout=20) == 2


async def test_an_idle_process_that_was_killed_is_replaced(jobs: ModuleType) -> None:
    async with jobs.app.working(concurrency=1):
        _, first = await (await jobs.add.enqueue(a=1)).result(timeout=20)
        os.kill(first, signal.SIGKILL)
        job = await jobs.add.enqueue(a=1)
        _, second = await job.result(timeout=20)

    assert first != second
    assert (await job.get()).crashes == 0


async def test_a_request_to_cancel_kills(jobs: ModuleType, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with jobs.app.working():
        job = await jobs.wait.enqueue(path=str(gate))
        await eventually(lambda: waiting_pids(gate), within=20)
        await job.cancel("not needed")
        with pytest.raises(JobCancelled):
            await job.result(timeout=10)

        assert is_gone(waiting_pids(gate)[0])


@pytest.mark.parametrize("jobs", ["sqlite_url", "postgres_url"], indirect=True)
async def test_a_handler_can_enqueue(jobs: ModuleType) -> None:
    async with jobs.app.working():
        job = await jobs.enqueue_another.enqueue()
        await job.result(timeout=20)

        await eventually(lambda: has_completed(jobs.app, 2), within=10)


async def has_completed(app: Backstay, jobs: int) -> bool:
    return sum(one.jobs for one in await app.jobs.counts() if one.state is State.COMPLETED) == jobs


async def test_time_and_memory_are_measured_for_each_attempt(
    jobs: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(
        jobs.app, "_emit", lambda event, /, **facts: told.append(facts) if event == "job.measured" else None
    )
    async with jobs.app.working(concurrency=1):
        for megabytes in (200, 1):
            await (await jobs.allocate.enqueue(megabytes=megabytes)).result(timeout=20)
        await eventually(lambda: len(told) == 2, within=5)

    large, small = (facts["peak_rss_mb"] for facts in told)
    assert large > 200
    assert 5 < small < 200
    assert all(facts["cpu_ms"] >= 0 for facts in told)


async def test_what_each_run_has_used_is_stored_with_it(jobs: ModuleType, tmp_path: Path) -> None:
    async with jobs.app.working(concurrency=1):
        whole, cut = (
            await jobs.allocate.enqueue(megabytes=200),
            await jobs.spin.enqueue(path=str(tmp_path / "pid")),
        )
        await whole.result(timeout=20)
        with pytest.raises(JobDead):
            await cut.result(timeout=20)

    [completed], [killed] = await jobs.app.jobs.runs(whole.id), await jobs.app.jobs.runs(cut.id)
    assert (completed.status, killed.status) == ("completed", "timeout")
    assert completed.peak_rss_mb > 200
    assert killed.cpu_ms >= 100
    assert killed.peak_rss_mb > 5


async def test_a_process_is_replaced_after_so_many_jobs(jobs: ModuleType) -> None:
    async with jobs.app.working(concurrency=1, process_max_jobs=2):
        pids = [(await (await jobs.add.enqueue(a=n)).result(timeout=20))[1] for n in range(5)]

    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]
    assert is_gone(pids[0])


async def test_a_process_that_keeps_too_much_memory_is_replaced(jobs: ModuleType) -> None:
    async with jobs.app.working(concurrency=1, process_max_memory="200MB"):
        pids = [
            await (await jobs.hoard.enqueue(megabytes=size)).result(timeout=20) for size in (1, 250, 1, 1)
        ]

    assert pids[0] == pids[1] != pids[2] == pids[3]


async def started(jobs: ModuleType, folder: Path) -> subprocess.Popen[bytes]:
    """A worker process that runs a handler, which waits at the gate."""
    command = [sys.executable, "-W", "error", "-m", "backstay", "worker", f"{jobs.__name__}:app"]
    worker = subprocess.Popen([*command, "--shutdown-grace", "1s"], cwd=folder, stdin=subprocess.DEVNULL)
    await jobs.wait.enqueue(path=str(folder / "gate"))
    await eventually(lambda: waiting_pids(folder / "gate"), within=20)
    return worker


async def test_processes_die_with_their_worker(jobs: ModuleType, tmp_path: Path) -> None:
    worker = await started(jobs, tmp_path)
    [pid] = waiting_pids(tmp_path / "gate")

    worker.kill()
    worker.wait()

    await eventually(lambda: is_gone(pid), within=3)


async def test_a_worker_that_leaves_kills_and_gives_back(jobs: ModuleType, tmp_path: Path) -> None:
    worker = await started(jobs, tmp_path)
    [pid] = waiting_pids(tmp_path / "gate")

    worker.terminate()
    code = await asyncio.to_thread(worker.wait, 15)

    [count_of_one] = await jobs.app.jobs.counts()
    assert code == 0
    assert is_gone(pid)
    assert count_of_one.state is State.AVAILABLE


async def test_a_handler_that_no_other_process_can_import_is_refused(jobs: ModuleType) -> None:
    app = Backstay(os.environ["PROCESS_JOBS_URL"])

    @app.job(runs_in="process")
    def nested() -> None: ...

    with pytest.raises(InvalidSettings, match=r"'nested' cannot run in a process of its own.*top level"):
        app.worker()


async def test_a_handler_of_the_program_itself_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from backstay import Backstay\n"
        f"app = Backstay('sqlite:///{tmp_path}/jobs.db')\n"
        "@app.job(runs_in='process')\n"
        "def work() -> None: ...\n"
        "app.worker()\n"
    )

    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, str(program)], capture_output=True, text=True, timeout=30
    )

    assert done.returncode == 1
    assert "InvalidSettings: 'work' cannot run in a process of its own" in done.stderr
    assert "move it to a module" in done.stderr
