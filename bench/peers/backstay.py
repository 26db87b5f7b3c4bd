"""Backstay itself: an application whose jobs do nothing, on whichever database it is given."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from backstay import Backstay, Context
from backstay.composition.connect import open_database
from backstay.handle import JobHandle
from backstay.stores.database import migrate
from bench import bare
from bench.adapter import URL, Meter, become

CONCURRENCY = os.environ.get("BENCH_OPTION", "100")
METER = Meter()
app = Backstay(URL or None)


@app.job
async def noop(n: int, sent: int) -> None:
    """What is measured unless something else is said."""
    METER.note(sent)


@app.job
async def loaded(n: int, sent: int, body: str) -> None:
    """With a payload."""
    METER.note(sent)


@app.job
def threaded(n: int, sent: int) -> None:
    """In a thread."""
    METER.note(sent)


@app.job(runs_in="process")
def processed(n: int, sent: int) -> None:
    """In a process of its own."""
    METER.note(sent)


@app.job
async def transactional(ctx: Context, n: int, sent: int) -> None:
    """Completed in the handler's own transaction, with a row of its own."""
    METER.note(sent)
    async with ctx.transaction() as tx:
        await tx.execute("INSERT INTO bench_written (n) VALUES ($1)", n)


@app.job(max_attempts=1)
async def failing(n: int, sent: int) -> None:
    """Every tenth fails for good, and becomes a dead letter."""
    METER.note(sent)
    if n % 10 == 0:
        raise ValueError("every tenth fails")


KINDS = {kind.spec.kind: kind for kind in (noop, loaded, threaded, processed, transactional, failing)}
KINDS["later"] = noop.options(delay="1d")
# By the indexes a worker uses: one that read five million finished jobs would be what is measured.
COUNT = """
SELECT (SELECT count(*) FROM backstay.jobs WHERE state = 'available' AND NOT is_suspect)
    + (SELECT count(*) FROM backstay.jobs WHERE state = 'available' AND is_suspect)
    + (SELECT count(*) FROM backstay.jobs WHERE state = 'running')
"""


class Client:
    """What an application does with its jobs."""

    packages = ("backstay", "asyncpg", "uvloop")

    async def open(self) -> None:
        self._kind, self._more = noop, dict[str, str]()
        database = open_database(URL)
        await migrate.migrate(database)
        await database.close()
        if URL.startswith("postgresql"):
            self._connection = await bare.connect(URL)
            await self._connection.execute("CREATE TABLE IF NOT EXISTS bench_written (n bigint NOT NULL)")

    def variant(self, name: str, size: int) -> None:
        """Enqueue another kind from now on, with so many bytes of payload."""
        self._kind, self._more = KINDS[name], {"body": "x" * size} if size else {}

    async def enqueue(self, n: int, sent: int) -> JobHandle[None]:
        return await noop.enqueue(n, sent)

    async def enqueue_many(self, numbers: Sequence[int]) -> None:
        await self._kind.enqueue_many([{"n": number, "sent": 0, **self._more} for number in numbers])

    async def wait(self, handle: JobHandle[None]) -> None:
        await handle.result()

    async def remaining(self) -> int:
        if URL.startswith("postgresql"):
            return await self._connection.fetchval(COUNT)
        with sqlite3.connect(URL.removeprefix("sqlite:///")) as connection:
            [count] = connection.execute(
                "SELECT count(*) FROM backstay_jobs WHERE state IN ('available', 'running')"
            ).fetchone()
        connection.close()
        return count

    async def hold(self) -> None:
        self._held_at = datetime.now(UTC)
        await app.queues.pause("default", reason="until all workers are there")

    async def ready(self) -> int:
        return sum(worker.started_at >= self._held_at for worker in await app.workers.all())

    async def release(self) -> None:
        await app.queues.resume("default")

    async def empty(self) -> None:
        if URL.startswith("postgresql"):
            await self._connection.execute("TRUNCATE backstay.jobs, bench_written CASCADE")
            return
        await app.close()
        for path in Path(URL.removeprefix("sqlite:///")).parent.iterdir():
            path.unlink()
        await self.open()


def work(processes: int) -> None:
    """As a user starts it."""
    become(
        "backstay", "worker", "bench.peers.backstay:app", "--concurrency", CONCURRENCY, "--log-level", "error"
    )
