"""Worker programs whose output nobody reads any more, and handlers that stop the loop they share with others."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import eventually

from backstay import Backstay

SOON = 40
JOBS = """
import asyncio
from pathlib import Path
from backstay import Backstay

app = Backstay("sqlite:///jobs.db")

@app.job
async def stop_the_loop() -> str:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.01)
    return "stopped nothing"

@app.job
async def work(number: int) -> int:
    return number

@app.job
async def wait(path: str) -> None:
    while not Path(path).exists():
        await asyncio.sleep(0.01)
"""


@pytest.fixture
def app(tmp_path: Path) -> Backstay:
    (tmp_path / "shop.py").write_text(JOBS)
    app = Backstay(f"sqlite:///{tmp_path}/jobs.db")
    app.declare("stop_the_loop")
    app.declare("work")
    app.declare("wait")
    return app


def start(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "backstay", "worker", "shop:app", *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


@pytest.mark.parametrize("options", [(), ("--processes", "1")], ids=["alone", "supervised"])
async def test_a_first_signal_is_heard_though_nobody_reads_the_errors(
    app: Backstay, tmp_path: Path, options: tuple[str, ...]
) -> None:
    worker = start(tmp_path, *options)
    try:
        assert worker.stderr is not None
        done = await app.jobs.enqueue_by_name("work", {"number": 7})
        assert await done.result(timeout=SOON) == 7
        worker.stderr.close()

        worker.send_signal(signal.SIGTERM)

        await eventually(lambda: worker.poll() is not None, within=SOON)
        assert worker.returncode == 0
        assert [one.state for one in await app.workers.all()] == ["stopped"]
    finally:
        worker.kill()
        worker.wait()
        await app.close()


async def test_a_handler_that_stops_the_loop_stops_nobody(app: Backstay, tmp_path: Path) -> None:
    worker = start(tmp_path)
    try:
        odd = await app.jobs.enqueue_by_name("stop_the_loop", {})
        assert await odd.result(timeout=SOON) == "stopped nothing"
        other = await app.jobs.enqueue_by_name("work", {"number": 7})
        assert await other.result(timeout=SOON) == 7

        worker.send_signal(signal.SIGTERM)

        await eventually(lambda: worker.poll() is not None, within=SOON)
        assert worker.returncode == 0
    finally:
        worker.kill()
        worker.communicate()
        await app.close()
