"""The bare loop on PostgreSQL: the limit that the others are held against."""

from __future__ import annotations

import os
from collections.abc import Sequence

from bench import bare
from bench.adapter import URL, Meter, run

BATCH = int(os.environ.get("BENCH_OPTION", "500"))
METER = Meter(every=BATCH)


class Client:
    """Plain inserts."""

    packages = ("asyncpg",)

    async def open(self) -> None:
        self._connection = await bare.connect(URL)
        await self._connection.execute(bare.TABLE)

    async def enqueue(self, n: int, sent: int) -> None:
        [job_id] = bare.ordered_ids(1)
        await self._connection.execute(bare.INSERT_ONE, job_id, f'{{"n":{n}}}')

    async def enqueue_many(self, numbers: Sequence[int]) -> None:
        await bare.enqueue_many(self._connection, numbers)

    async def remaining(self) -> int:
        return await self._connection.fetchval(
            "SELECT (SELECT count(*) FROM bare.jobs WHERE state = 'available')"
            " + (SELECT count(*) FROM bare.jobs WHERE state = 'running')"
        )

    async def empty(self) -> None:
        await self._connection.execute("TRUNCATE bare.jobs")


def work(processes: int) -> None:
    """Drain once, then wait for the end."""
    run(_drain())


async def _drain() -> None:
    connection = await bare.connect(URL)
    await bare.drain(connection, batch=BATCH, claimed=METER.mark)
    await METER.rest()
