"""The entrypoint of the image, as process 1 of a namespace: signals get through, and no dead process stays."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from backstay.testing import PrivatePostgres

ROOT = Path(__file__).resolve().parents[2]
ENTRYPOINT = ROOT / "deploy" / "docker" / "entrypoint.py"
BACKSTAY = Path(sys.executable).with_name("backstay")
PATIENCE = 120

# Leaves an orphan behind that dies soon, and tells of every process of the namespace that is dead but not buried.
ORPHANS = """
import os, subprocess, sys, time
from pathlib import Path
from typing import Any
for _ in range(20):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(3)
        os._exit(0)
for _ in range(20):
    os.wait()
states = lambda: [p.read_text().rpartition(")")[2].split()[0] for p in Path("/proc").glob("[0-9]*/stat")]
by = time.monotonic() + 60
while "Z" in states() and time.monotonic() < by:
    time.sleep(0.01)
print(os.getppid(), states().count("Z"))
"""
APPLICATION = """
import asyncio
from backstay import Backstay
app = Backstay()
@app.job
async def slow() -> None:
    await asyncio.sleep(1)
"""


class Container:
    """The entrypoint and its command in namespaces of their own, ended with the test."""

    def __init__(self, command: Sequence[str | Path], **how: object) -> None:
        namespaces = ["--pid", "--fork", "--mount-proc", "--kill-child"]
        if os.geteuid() != 0:
            namespaces += ["--user", "--map-root-user"]
        self.process = subprocess.Popen(
            ["unshare", *namespaces, sys.executable, "-I", str(ENTRYPOINT), *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **how,  # type: ignore[call-overload]  # what subprocess takes
        )

    @property
    def first(self) -> psutil.Process:
        """Process 1, as seen from outside."""
        return wait_for(lambda: next(iter(psutil.Process(self.process.pid).children()), None))

    def tell(self, number: signal.Signals) -> None:
        self.first.send_signal(number)

    def end(self) -> tuple[int, str, str]:
        said, complained = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said, complained


def wait_for(find: Callable[[], Any]) -> Any:
    by = time.monotonic() + PATIENCE
    while (found := find()) is None:
        assert time.monotonic() < by
        time.sleep(0.02)
    return found


@pytest.fixture
def run() -> Iterator[Callable[..., Container]]:
    started: list[Container] = []

    def start(*command: str | Path, **how: object) -> Container:
        started.append(Container(command, **how))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


def test_it_is_process_1_and_buries_orphans(run: Callable[..., Container]) -> None:
    code, said, complained = run(sys.executable, "-c", ORPHANS).end()

    assert (code, said.split(), complained) == (0, ["1", "0"], "")


def test_without_it_orphans_stay_dead_and_unburied() -> None:
    """The test above would notice: a process 1 that waits for its own child alone leaves zombies."""
    careless = (
        f"import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', {ORPHANS!r}]).returncode)"
    )
    careless = careless.replace("+ 60", "+ 1")
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-c", careless],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )

    assert done.stdout.split() == ["1", "20"], done.stderr


@pytest.mark.parametrize(
    ("command", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137), ("kill -TERM $$", 143)]
)
def test_it_leaves_as_its_command_did(run: Callable[..., Container], command: str, code: int) -> None:
    assert run("/bin/sh", "-c", command).end()[0] == code


def test_a_command_that_is_not_there_is_told(run: Callable[..., Container]) -> None:
    code, _, complained = run("no-such-program").end()

    assert code == 127
    assert complained == "entrypoint.py: cannot run no-such-program: No such file or directory\n"


def test_without_a_command_it_says_what_is_missing() -> None:
    done = subprocess.run([sys.executable, ENTRYPOINT], capture_output=True, text=True)

    assert done.returncode == 2
    assert "name the command to run" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_gets_through(run: Callable[..., Container], number: signal.Signals) -> None:
    program = (
        f"import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [{int(number)}]); print('ready', flush=True);"
        f"print(signal.sigwait([{int(number)}]).name)"
    )
    container = run(sys.executable, "-c", program)
    assert container.process.stdout is not None
    assert container.process.stdout.readline() == "ready\n"

    container.tell(number)

    code, said, _ = container.end()
    assert (code, said) == (0, f"{number.name}\n")


def test_workers_finish_their_jobs_when_the_container_is_stopped(
    run: Callable[..., Container], postgres_server: PrivatePostgres, tmp_path: Path
) -> None:
    postgres_server.create_database("contained")
    (tmp_path / "contained_jobs.py").write_text(APPLICATION)
    environment = {
        **os.environ,
        "BACKSTAY_URL": postgres_server.url("contained"),
        "PYTHONPATH": str(tmp_path),
    }

    def call(*words: str) -> str:
        command = [str(BACKSTAY), "--app", "contained_jobs:app", *words]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    call("db", "migrate")
    for _ in range(3):
        call("enqueue", "slow")
    health = tmp_path / "health"
    worker = [BACKSTAY, "worker", "contained_jobs:app", "--processes", "2", "--health", health]
    container = run(*worker, env=environment, cwd=tmp_path)
    wait_for(lambda: (health / "ready").exists() or None)

    container.tell(signal.SIGTERM)

    code, _, complained = container.end()
    assert code == 0, complained
    assert not (health / "ready").exists()
    assert '"running"' not in call("jobs", "--json")


def test_the_namespace_tools_are_here() -> None:
    assert shutil.which("unshare"), "these tests need unshare, of the package util-linux"
