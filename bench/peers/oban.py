"""Oban for Python: psycopg, claims in batches, one acknowledgement a job."""

from __future__ import annotations

from collections.abc import Sequence

from oban import Job, Oban, worker
from oban.schema import install
from psycopg_pool import AsyncConnectionPool

from bench.adapter import URL, Meter, become

METER = Meter()
CONCURRENCY = 100


@worker(queue="default")
class Noop:
    """What is measured."""

    async def process(self, job: Job) -> None:
        METER.note(job.args["sent"])


class Client:
    """An instance without queues only enqueues."""

    packages = ("oban", "psycopg", "uvloop")

    async def open(self) -> None:
        self._pool = AsyncConnectionPool(URL, min_size=1, max_size=20, open=False)
        await self._pool.open()
        await install(self._pool)
        self._oban = Oban(pool=self._pool)
        await self._oban.start()

    async def enqueue(self, n: int, sent: int) -> None:
        await Noop.enqueue({"n": n, "sent": sent})

    async def enqueue_many(self, numbers: Sequence[int]) -> None:
        await self._oban.enqueue_many([Noop.new({"n": n, "sent": 0}) for n in numbers])

    async def remaining(self) -> int:
        async with self._pool.connection() as connection:
            found = await connection.execute(
                "SELECT count(*) FROM oban_jobs"
                " WHERE state IN ('available', 'executing', 'scheduled', 'retryable')"
            )
            [count] = await found.fetchone()
        return count

    async def empty(self) -> None:
        async with self._pool.connection() as connection:
            await connection.execute("TRUNCATE oban_jobs")


def work(processes: int) -> None:
    """As a user starts it."""
    queues = ("--queues", f"default:{CONCURRENCY}")
    become("oban", "start", "--dsn", URL, *queues, "--pool-max-size", "20", "--log-level", "ERROR")
