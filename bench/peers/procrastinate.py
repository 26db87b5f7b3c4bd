"""Procrastinate: psycopg, one job a fetch, wake-ups by NOTIFY."""

from __future__ import annotations

from collections.abc import Sequence

import procrastinate

from bench.adapter import URL, Meter, run

METER = Meter()
CONCURRENCY = 30
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=URL, min_size=4, max_size=20))


@app.task(name="noop")
async def noop(n: int, sent: int) -> None:
    """What is measured."""
    METER.note(sent)


class Client:
    """One pool for everything, as its users have it."""

    packages = ("procrastinate", "psycopg", "uvloop")

    async def open(self) -> None:
        await app.open_async()
        await app.schema_manager.apply_schema_async()

    async def enqueue(self, n: int, sent: int) -> int:
        return await noop.defer_async(n=n, sent=sent)

    async def enqueue_many(self, numbers: Sequence[int]) -> None:
        await noop.batch_defer_async(*({"n": n, "sent": 0} for n in numbers))

    async def remaining(self) -> int:
        row = await app.connector.execute_query_one_async(
            "SELECT count(*) AS jobs FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
        )
        return row["jobs"]

    async def empty(self) -> None:
        await app.connector.execute_query_async("TRUNCATE procrastinate_jobs CASCADE")


def work(processes: int) -> None:
    """A worker that keeps its jobs, which is the default."""
    run(_work())


async def _work() -> None:
    async with app.open_async():
        await app.run_worker_async(concurrency=CONCURRENCY)
