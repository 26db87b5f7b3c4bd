"""A worker that is to leave when nothing that could run is left."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from backstay import Backstay

SHOP = """
from backstay import Backstay

app = Backstay("sqlite:///shop.db")

@app.job
async def add(a: int) -> int:
    return a
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "shop.py").write_text(SHOP)
    return subprocess.run(
        [sys.executable, "-m", "backstay", "worker", "shop:app", "--until-empty", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=110,
    )


def test_a_worker_leaves_when_nothing_is_left_if_it_is_told_to(tmp_path: Path) -> None:
    app = Backstay(f"sqlite:///{tmp_path}/shop.db")

    @app.job
    async def add(a: int) -> int:
        return a

    async def store() -> None:
        await add.enqueue_many([{"a": number} for number in range(20)])
        await add.options(delay="1h").enqueue(a=1)
        await app.close()

    async def states() -> dict[str, int]:
        found = {count.state: count.jobs for count in await app.jobs.counts()}
        await app.close()
        return found

    asyncio.run(store())

    done = run(tmp_path)

    assert done.returncode == 0, done.stderr
    assert asyncio.run(states()) == {"completed": 20, "scheduled": 1}


def test_a_supervisor_cannot_leave_when_nothing_is_left(tmp_path: Path) -> None:
    done = run(tmp_path, "--processes", "2")

    assert done.returncode != 0
    assert "--until-empty goes with a single process" in done.stderr


def test_a_worker_prints_a_line_when_a_job_starts_and_when_it_is_completed(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    stored = subprocess.run(
        [sys.executable, "-m", "backstay", "--app", "shop:app", "--json", "enqueue", "add", "a=7"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    job_id = json.loads(stored.stdout)["id"]

    done = run(tmp_path)

    lines = [json.loads(line) for line in done.stdout.splitlines() if job_id in line]
    assert [line["message"] for line in lines] == ["job.started", "job.completed"]
    assert all((line["job_type"], line["context"]["attempt"]) == ("add", 1) for line in lines)
    assert lines[1]["context"]["took_ms"] >= 0
