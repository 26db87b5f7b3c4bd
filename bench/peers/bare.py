"""The bare loop on PostgreSQL: the limit that the others are held against."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bench import bare
from bench.adapter import URL, Meter, run

BATCH = int(os.environ.get("BENCH_OPTION", "500"))
METER = Meter(every=BATCH)
LOOK_EVERY = 0.1


class Client:
    """Plain inserts."""

    packages = ("asyncpg",)

    async def open(self) -> None:
        self._connection = await bare.connect(URL)
        await self._connection.execute(bare.TABLE)

        self._together = bare.Together([await bare.connect(URL), await bare.connect(URL)])

    async def enqueue(self, n: int, sent: int) -> None:
        [job_id] = bare.ordered_ids(1)
        if sent:
            await self._connection.execute(bare.INSERT_AND_TELL, job_id, f'{{"n":{n},"sent":{sent}}}')
        else:
            await self._connection.execute(bare.INSERT_ONE, job_id, f'{{"n":{n}}}')

    async def enqueue_beside(self, n: int, sent: int) -> None:
        await self._together.enqueue(n)

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
    """Drain, and again whenever somebody tells of a job."""
    run(_drain())


async def _drain() -> None:
    connection, listening, told = await bare.connect(URL), await bare.connect(URL), asyncio.Event()
    await listening.add_listener(bare.CHANNEL, lambda *_: told.set())
    while True:
        await bare.drain(connection, batch=BATCH, claimed=_tell)
        with suppress(TimeoutError):
            await asyncio.wait_for(told.wait(), LOOK_EVERY)
        told.clear()


def _tell(rows: Sequence[Any]) -> None:
    METER.mark()
    # Jobs of a drain do not say when they were sent.
    if "sent" in rows[0]["args"]:
        METER.note(json.loads(rows[0]["args"])["sent"])
