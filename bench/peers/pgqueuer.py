"""PgQueuer: asyncpg, claims and completions in batches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.core.completion import CompletionWatcher
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.adapter import URL, Meter, run

METER = Meter()
BATCH = 200


class Client:
    """One connection for one caller, a pool for many."""

    packages = ("pgqueuer", "asyncpg", "uvloop")

    async def open(self) -> None:
        self._connection = await asyncpg.connect(URL)
        self._driver = AsyncpgDriver(self._connection)
        self._queries = Queries(self._driver)
        await self._queries.install()
        self._pool = await asyncpg.create_pool(URL, min_size=20, max_size=20)
        self._beside = Queries(AsyncpgPoolDriver(self._pool))
        watching = AsyncpgDriver(await asyncpg.connect(URL))
        watcher = CompletionWatcher(watching, queries=Queries(watching), debounce=timedelta(milliseconds=1))
        self._watcher = await watcher.__aenter__()

    async def enqueue(self, n: int, sent: int) -> int:
        [job_id] = await self._queries.enqueue("noop", _payload(n, sent))
        return job_id

    async def enqueue_beside(self, n: int, sent: int) -> None:
        await self._beside.enqueue("noop", _payload(n, sent))

    async def enqueue_many(self, numbers: Sequence[int]) -> None:
        count = len(numbers)
        await self._queries.enqueue(["noop"] * count, [_payload(n, 0) for n in numbers], [0] * count)

    async def wait(self, job_id: int) -> None:
        await self._watcher.wait_for(job_id)

    async def remaining(self) -> int:
        return await self._connection.fetchval("SELECT count(*) FROM pgqueuer")

    async def empty(self) -> None:
        await self._connection.execute("TRUNCATE pgqueuer, pgqueuer_log, pgqueuer_statistics")


def _payload(n: int, sent: int) -> bytes:
    return json.dumps({"n": n, "sent": sent}).encode()


def work(processes: int) -> None:
    """The queue manager on uvloop, as `pgq run` has it."""
    run(_work())


async def _work() -> None:
    manager = PgQueuer(AsyncpgDriver(await asyncpg.connect(URL)))

    @manager.entrypoint("noop")
    async def noop(job: Job) -> None:
        METER.note(json.loads(job.payload)["sent"])

    await manager.run(batch_size=BATCH)
