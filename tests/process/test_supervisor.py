"""Several worker processes under a supervisor: what if one dies, grows, is asked to leave, or is left alone?"""

from __future__ import annotations

import asyncio
import fcntl
import importlib
import os
import shutil
import signal
import statistics
import subprocess
import sys
import termios
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
import pytest
from support import Line, eventually, whole_lines

from backstay import State

SOURCE = Path(__file__).with_name("supervised_jobs.py")
PROMISED = 2.0
# Far below a lease, and above what a machine with two busy cores may add to two seconds.
SOON = 15
_numbers = count()


@dataclass
class Supervised:
    """A supervisor in a process of its own, and what its workers wrote down."""

    jobs: ModuleType
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str, command: str = "worker", **how: Any) -> subprocess.Popen[bytes]:
        line = [
            sys.executable,
            "-W",
            "error",
            "-m",
            "backstay",
            command,
            f"{self.jobs.__name__}:app",
            *options,
        ]
        with (self.folder / "log").open("ab") as log:
            given = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": subprocess.STDOUT, **how}
            self.process = subprocess.Popen(line, cwd=self.folder, **given)
        return self.process

    async def started(self, *options: str, processes: int, **how: Any) -> subprocess.Popen[bytes]:
        process = self.start("--processes", str(processes), "--shutdown-grace", "20s", *options, **how)
        await self.says("worker.started", times=processes)
        return process

    async def says(self, text: str, *, times: int = 1) -> None:
        await eventually(lambda: self.log().count(text) >= times, within=30)

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def journal(self, what: str) -> list[Line]:
        lines = [line.split() for line in whole_lines(self.folder / "journal")]
        return [
            Line(kind, job, int(run), int(pid), float(at))
            for kind, job, run, pid, at in lines
            if kind == what
        ]

    async def exit_code(self) -> int:
        assert self.process is not None
        return await asyncio.to_thread(self.process.wait, 30)

    def children(self) -> list[psutil.Process]:
        assert self.process is not None
        return psutil.Process(self.process.pid).children()

    async def states(self) -> dict[State, int]:
        counts = await self.jobs.app.jobs.counts()
        states = {one.state for one in counts}
        return {state: sum(one.jobs for one in counts if one.state is state) for state in states}

    async def completed(self, jobs: int) -> None:
        async def done() -> bool:
            return (await self.states()).get(State.COMPLETED) == jobs

        await eventually(done, within=30)


@pytest.fixture
async def shop(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Supervised]:
    """On SQLite, unless the test says otherwise."""
    url = request.getfixturevalue(getattr(request, "param", "sqlite_url"))
    name = f"supervised_jobs_{next(_numbers)}"
    shutil.copy(SOURCE, tmp_path / f"{name}.py")
    monkeypatch.setenv("SUPERVISED_URL", url)
    monkeypatch.setenv("SUPERVISED_FOLDER", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    made = Supervised(importlib.import_module(name), tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.kill()
        made.process.wait()
    await made.jobs.app.close()
    del sys.modules[name]


both = pytest.mark.parametrize("shop", ["sqlite_url", "postgres_url"], indirect=True)


def are_gone(processes: list[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=0)[1]


@both
async def test_a_killed_process_is_replaced_and_its_job_runs_again_at_once(shop: Supervised) -> None:
    await shop.started(processes=1)
    job = await shop.jobs.wait.enqueue()
    [first] = await eventually(lambda: shop.journal("start"), within=10)

    os.kill(first.pid, signal.SIGKILL)
    await eventually(lambda: len(shop.journal("start")) == 2, within=SOON)
    (shop.folder / "gate").touch()
    await shop.completed(1)

    again = shop.journal("start")[1]
    assert again.pid != first.pid
    assert ((await job.get()).attempt, again.run) == (2, 2)
    assert [attempt.status for attempt in await shop.jobs.app.jobs.attempts(job.id)] == ["crashed"]
    assert "process.died" in shop.log()


async def test_a_process_that_leaves_unasked_has_died_whatever_its_exit_code(shop: Supervised) -> None:
    await shop.started(processes=1)
    job = await shop.jobs.vanish.enqueue()
    await eventually(lambda: len(shop.journal("start")) == 2, within=SOON)
    await shop.completed(1)

    assert [attempt.status for attempt in await shop.jobs.app.jobs.attempts(job.id)] == ["crashed"]
    assert shop.log().count("process.died") == 1
    assert "process.left" not in shop.log()


@both
@pytest.mark.prove
async def test_the_jobs_of_a_killed_process_run_again_within_two_seconds(shop: Supervised) -> None:
    await shop.started(processes=2)
    took = []
    for round_ in range(1, 8):
        await shop.jobs.wait.enqueue()
        await eventually(lambda jobs=round_: len(shop.journal("start")) == 2 * jobs - 1, within=20)
        victim = shop.journal("start")[-1]
        killed = shop.jobs.time.monotonic()

        os.kill(victim.pid, signal.SIGKILL)
        await eventually(lambda jobs=round_: len(shop.journal("start")) == 2 * jobs, within=20)

        took.append(shop.journal("start")[-1].at - killed)
        (shop.folder / "gate").touch()
        await shop.completed(round_)
        (shop.folder / "gate").unlink()
    assert statistics.median(took) < PROMISED, took


@pytest.mark.prove
async def test_a_process_that_dies_again_and_again_is_restarted_after_pauses(shop: Supervised) -> None:
    """The poison is out of crashes after five deaths, and the jobs beside it complete."""
    await shop.started(processes=2)
    poison = await shop.jobs.poison.enqueue()
    for _ in range(20):
        await shop.jobs.note.enqueue()

    async def is_dead() -> bool:
        return (await poison.get()).state is State.DEAD

    await eventually(is_dead, within=60)
    await shop.completed(20)

    assert ((await poison.get()).reason, shop.log().count("process.died")) == ("crash loop", 5)


async def test_a_process_is_replaced_after_so_many_jobs_and_none_is_lost(shop: Supervised) -> None:
    await shop.started("--max-jobs", "5", "--concurrency", "1", processes=1)
    for round_ in (1, 2, 3):
        for _ in range(5):
            await shop.jobs.note.enqueue()
        await shop.says("process.left", times=round_)

    await shop.completed(15)
    starts = shop.journal("start")
    assert len(starts) == 15
    assert len({line.pid for line in starts}) >= 3
    assert "process.died" not in shop.log()


async def test_a_process_that_has_grown_is_replaced(shop: Supervised) -> None:
    await shop.started("--max-memory", "150MB", processes=1)
    await shop.jobs.keep.enqueue(megabytes=150)
    await shop.says("worker.started", times=2)
    await shop.jobs.keep.enqueue(megabytes=1)
    await shop.completed(2)

    first, second = shop.journal("start")
    assert first.pid != second.pid
    assert "it uses " in shop.log()


async def test_the_first_signal_lets_jobs_finish(shop: Supervised) -> None:
    process = await shop.started("--health", "health", processes=2)
    await eventually(lambda: (shop.folder / "health/ready").exists(), within=10)
    await shop.jobs.wait.enqueue()
    await eventually(lambda: shop.journal("start"), within=10)

    process.terminate()
    await shop.says("worker.stopped")
    ready_while_draining = (shop.folder / "health/ready").exists()
    (shop.folder / "gate").touch()

    assert await shop.exit_code() == 0
    assert not ready_while_draining
    assert list((shop.folder / "health").iterdir()) == []
    assert await shop.states() == {State.COMPLETED: 1}
    assert shop.log().count("Stopping") == 1


async def test_a_second_signal_leaves_at_once(shop: Supervised) -> None:
    process = await shop.started(processes=2)
    await shop.jobs.wait.enqueue()
    await eventually(lambda: shop.journal("start"), within=10)
    children = shop.children()

    process.terminate()
    await shop.says("worker.stopped")
    process.terminate()

    assert await shop.exit_code() == 128 + signal.SIGTERM
    await eventually(lambda: are_gone(children), within=5)
    assert await shop.states() == {State.RUNNING: 1}


async def test_processes_do_not_outlive_a_killed_supervisor_and_give_their_jobs_back(
    shop: Supervised,
) -> None:
    process = await shop.started(processes=2)
    job = await shop.jobs.wait.enqueue()
    await eventually(lambda: shop.journal("start"), within=10)
    children = shop.children()

    process.kill()
    process.wait()

    await eventually(lambda: are_gone(children), within=SOON)
    left = await job.get()
    assert (left.state, left.attempt) == (State.AVAILABLE, 0)


async def test_the_worker_and_the_dashboard_of_a_killed_dev_command_leave(shop: Supervised) -> None:
    process = shop.start(command="dev")
    await shop.says("worker.started")
    children = shop.children()

    process.kill()
    process.wait()

    # The worker, and the dashboard beside it.
    assert len(children) == 2
    await eventually(lambda: are_gone(children), within=SOON)


async def test_a_handler_that_refuses_to_be_cancelled_does_not_keep_its_process(shop: Supervised) -> None:
    process = shop.start("--shutdown-grace", "300ms")
    job = await shop.jobs.deaf.enqueue()
    await eventually(lambda: shop.journal("start"), within=20)

    process.terminate()

    assert await shop.exit_code() == 0
    assert (await job.get()).state is State.AVAILABLE


@pytest.mark.prove
@pytest.mark.timeout(200)
async def test_a_process_that_is_stuck_is_killed_and_replaced(shop: Supervised) -> None:
    await shop.started(processes=1)
    [stuck] = shop.children()

    stuck.suspend()
    await eventually(lambda: "process.stuck" in shop.log(), within=90, every=0.5)

    await shop.says("worker.started", times=2)
    assert are_gone([stuck])


async def test_ctrl_c_in_a_terminal_reaches_each_process_once(shop: Supervised) -> None:
    ours, theirs = os.openpty()
    try:
        await shop.started(
            processes=2,
            stdin=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        await shop.jobs.wait.enqueue()
        await eventually(lambda: shop.journal("start"), within=10)

        os.write(ours, b"\x03")
        await shop.says("worker.stopped")
        (shop.folder / "gate").touch()

        assert await shop.exit_code() == 0
        assert await shop.states() == {State.COMPLETED: 1}
    finally:
        os.close(ours)
        os.close(theirs)


async def test_an_application_that_cannot_be_found_ends_the_supervisor(shop: Supervised) -> None:
    shop.jobs.__name__, name = "nowhere", shop.jobs.__name__
    try:
        shop.start("--processes", "2")

        assert await shop.exit_code() == 1
    finally:
        shop.jobs.__name__ = name
    assert "cannot find the module 'nowhere'" in shop.log()
    assert "Traceback" not in shop.log()


async def test_every_line_of_a_process_says_which_it_is(shop: Supervised) -> None:
    process = await shop.started("--log", "json", processes=2)

    process.terminate()
    await shop.exit_code()

    lines = [line for line in shop.log().splitlines() if '"worker.started"' in line]
    assert sorted('"process_number": 1' in line for line in lines) == [False, True]
    assert sorted('"process_number": 2' in line for line in lines) == [False, True]


@pytest.mark.parametrize("size", ["", "much", "0", "12 parsecs", "-5MB"])
def test_a_limit_that_is_no_amount_of_memory_is_refused(tmp_path: Path, size: str) -> None:
    line = [sys.executable, "-m", "backstay", "worker", "shop:app", "--max-memory", size]

    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=30)

    assert done.returncode == 1
    assert "write an amount of memory such as" in done.stderr


@both
@pytest.mark.prove
@pytest.mark.timeout(600)
async def test_a_poison_job_among_ten_thousand_dies_alone(shop: Supervised) -> None:
    """At true scale: three crashes of its own, and not one of its neighbours is lost or dead."""
    app = shop.jobs.app
    half = [shop.jobs.note.args() for _ in range(4999)]
    await app.jobs.enqueue_many(half)
    poison = await shop.jobs.poison.enqueue()
    await app.jobs.enqueue_many([*half, shop.jobs.note.args()])
    await shop.started("--concurrency", "10", processes=2)

    async def is_over() -> bool:
        return await shop.states() == {State.COMPLETED: 9999, State.DEAD: 1}

    await eventually(is_over, within=500, every=0.5)

    dead = await poison.get()
    statuses = [attempt.status for attempt in await app.jobs.attempts(poison.id)]
    assert (dead.state, dead.reason, dead.crashes) == (State.DEAD, "crash loop", 3)
    assert statuses == ["crashed"] * 5
    assert len({line.job_id for line in shop.journal("start")}) == 10_000
    assert [letter.job_id for letter in await app.dead_letters.open(limit=10)] == [poison.id]
