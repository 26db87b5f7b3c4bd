"""Limits hold while worker processes are killed, and nothing stays behind: what the database itself can witness."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from limit_program import QUEUES, application
from support import eventually, rows

from backstay import Backstay
from backstay.options import JobOptions

PROGRAM = Path(__file__).with_name("limit_program.py")
KILLS = int(os.environ.get("BACKSTAY_TEST_KILLS", "6"))


class Crew:
    """Worker processes of which any may be killed."""

    def __init__(self, url: str, folder: Path, *settings: int) -> None:
        self._url, self._settings = url, settings
        self.log = folder / "log"
        self._file = self.log.open("wb")
        self.workers: list[subprocess.Popen[bytes]] = []

    def hire(self, number: int = 1) -> None:
        command = [sys.executable, str(PROGRAM), self._url, *map(str, self._settings)]
        for _ in range(number):
            self.workers.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self._file, stderr=self._file)
            )

    def kill_one(self) -> None:
        victim = self.workers.pop(random.randrange(len(self.workers)))
        victim.kill()
        victim.wait()

    def close(self) -> None:
        for worker in self.workers:
            worker.send_signal(signal.SIGTERM)
        for worker in self.workers:
            try:
                worker.wait(timeout=20)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
        self._file.close()


@asynccontextmanager
async def crew_of(
    url: str, folder: Path, number: int, *settings: int, **limits: int
) -> AsyncIterator[tuple[Crew, Backstay]]:
    app, crew = application(url, **limits), Crew(url, folder, *settings)
    try:
        crew.hire(number)
        yield crew, app
    finally:
        crew.close()
        await app.close()


async def enqueue(app: Backstay, kind: str, many: list[dict[str, Any]]) -> None:
    for args in many:
        await app.jobs.enqueue_by_name(kind, args)


async def unfinished(url: str) -> int:
    return int((await rows(url, "SELECT count(*) FROM backstay.jobs WHERE state <> 'completed'"))[0][0])


async def watch(url: str, sql: str, allowed: int, *, until: asyncio.Event) -> list[int]:
    """Sample a count until told to stop; returns every sample above what is allowed, and the highest."""
    seen = [0]
    while not until.is_set():
        for (count,) in await rows(url, sql):
            seen.append(int(count))
        await asyncio.sleep(0.01)
    return [max(seen), *[count for count in seen if count > allowed]]


# A witness that no code of the product knows of: the database itself refuses a second running row of a key.
_WITNESS = {
    "postgres": "CREATE UNIQUE INDEX witness ON backstay.jobs (kind, (args ->> 'key')) "
    "WHERE state = 'running' AND kind IN ('exclusive', 'ordered')",
    "sqlite": "CREATE UNIQUE INDEX witness ON backstay_jobs (kind, json_extract(args, '$.key')) "
    "WHERE state = 'running' AND kind IN ('exclusive', 'ordered')",
}

_STRAY_PERMITS = """
SELECT count(*)
FROM backstay.permits AS permit
JOIN backstay.jobs AS job ON job.id = permit.job_id AND job.lease_epoch = permit.lease_epoch
WHERE job.state <> 'running'
"""

_BARE_RUNS = """
SELECT count(*)
FROM backstay.jobs AS job
WHERE job.state = 'running'
  AND job.kind IN ('exclusive', 'ordered')
  AND NOT EXISTS (
    SELECT 1
    FROM backstay.permits AS permit
    WHERE permit.job_id = job.id
      AND permit.lease_epoch = job.lease_epoch
)
"""


@pytest.mark.prove
@pytest.mark.timeout(300)
async def test_one_for_each_key_holds_under_kills_and_no_permit_stays(url: str, tmp_path: Path) -> None:
    """G1: eight workers, one killed every two seconds; never two running rows of a key, and the queue never stalls."""
    keys, stop = 12, asyncio.Event()
    async with crew_of(url, tmp_path, 8, 4) as (crew, app):
        await app._connections.prepare()
        await rows(url, _WITNESS["sqlite" if url.startswith("sqlite") else "postgres"])
        await eventually(lambda: _all_at_work(url, 8), within=90, every=0.2)
        watching = [
            asyncio.create_task(watch(url, sql, 0, until=stop)) for sql in (_STRAY_PERMITS, _BARE_RUNS)
        ]
        for kill in range(KILLS):
            work = [{"key": n % keys, "n": kill * 1000 + n} for n in range(100)]
            await enqueue(app, "exclusive", work)
            await enqueue(app, "ordered", [{"key": n % 4, "n": kill * 1000 + n} for n in range(40)])
            await asyncio.sleep(2)
            crew.kill_one()
            crew.hire()

        await eventually(lambda: _none_left(url), within=180, every=0.2)
        stop.set()
        found = await asyncio.gather(*watching)

    assert found == [[0], [0]]
    assert await rows(url, "SELECT count(*) FROM backstay.permits") == [(0,)]
    assert "witness" not in crew.log.read_text()


async def _all_at_work(url: str, number: int) -> bool:
    found = await rows(url, "SELECT count(*) FROM backstay.workers WHERE state = 'alive'")
    return bool(found[0][0] >= number)


async def _none_left(url: str) -> bool:
    return await unfinished(url) == 0


@pytest.mark.prove
@pytest.mark.timeout(300)
async def test_no_window_has_more_starts_than_rate_and_burst_while_workers_are_killed(
    url: str, tmp_path: Path
) -> None:
    """G5: by the database's clock, over restarts."""
    async with crew_of(url, tmp_path, 3, 10) as (crew, app):
        await enqueue(app, "paced", [{"n": n} for n in range(200)])
        for _ in range(3):
            await asyncio.sleep(2)
            crew.kill_one()
            crew.hire()
        await eventually(lambda: _none_left(url), within=120, every=0.2)

    epoch = "started_at / 1000000.0" if url.startswith("sqlite") else "EXTRACT(EPOCH FROM started_at)::float8"
    times = sorted(at for (at,) in await rows(url, f"SELECT {epoch} FROM backstay.jobs WHERE run = 1"))
    for window in (0.1, 0.25, 0.5, 1.0, 2.0, 5.0):
        most = max(sum(first <= at <= first + window for at in times) for first in times)
        assert most <= 40 * window + 10, window


@pytest.mark.prove
@pytest.mark.timeout(300)
async def test_five_a_worker_ten_a_queue_and_fifty_in_all(url: str, tmp_path: Path) -> None:
    """ENG-091: 30 jobs in one queue and 4 workers, never more than 10; 80 jobs in 9 queues, never more than 50."""
    running = "SELECT count(*) FROM backstay.jobs WHERE state = 'running'"
    by_queue = f"{running} GROUP BY queue"
    async with crew_of(url, tmp_path, 4, 5, 50, 10, ceiling=50, queue_limit=10) as (crew, app):
        stop = asyncio.Event()
        await app._connections.prepare()
        watching = [
            asyncio.create_task(watch(url, sql, most, until=stop))
            for sql, most in ((by_queue, 10), (running, 50))
        ]
        for n in range(30):
            await app.jobs.enqueue_by_name("crowded", {"n": n}, JobOptions(queue="q0"))
        await eventually(lambda: _none_left(url), within=120, every=0.05)
        # Sixty slots from now on.
        crew.hire(8)
        for n in range(80):
            await app.jobs.enqueue_by_name("crowded", {"n": n}, JobOptions(queue=f"q{n % QUEUES}"))
        await eventually(lambda: _none_left(url), within=120, every=0.05)
        stop.set()
        most = await asyncio.gather(*watching)

    # What a worker has done and not yet stored counts for the queue, but takes no slot.
    assert max(int(found) for (found,) in await rows(url, "SELECT result FROM backstay.jobs")) <= 5
    assert [len(found) for found in most] == [1, 1], most
