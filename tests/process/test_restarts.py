"""The database itself goes away and comes back."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import Workshop, eventually, migrate_now, workshop

from backstay.errors import OutcomeUnknown, StoreUnavailable
from backstay.model.job import JobId
from backstay.testing import PrivatePostgres


@pytest.fixture
def private_server() -> Iterator[PrivatePostgres]:
    with PrivatePostgres.start(fsync=False) as server:
        migrate_now(server.url())
        yield server


@pytest.mark.prove
async def test_no_accepted_job_is_lost_when_postgresql_crashes_under_load(
    private_server: PrivatePostgres, tmp_path: Path
) -> None:
    """ENG-044: workers go on by themselves when the database is back."""
    async with workshop(private_server.url(), tmp_path) as shop:
        workers = [await shop.started_worker(concurrency=10) for _ in range(2)]
        accepted: list[JobId] = []
        enough = asyncio.Event()
        client = asyncio.create_task(enqueue_until(enough, shop, accepted))
        for crash in range(1, 4):
            await eventually(lambda wanted=400 * crash: len(accepted) >= wanted, within=40)
            await asyncio.to_thread(private_server.restart, "immediate")
        await eventually(lambda: len(accepted) >= 1600, within=40)
        enough.set()
        await client

        async def all_completed() -> bool:
            return set(await shop.states()) == {"completed"}

        await eventually(all_completed, within=60)
        stored = await shop.rows("SELECT id FROM backstay.jobs WHERE state = 'completed'")
        ends = Counter(line.job_id for line in shop.journal("end"))
        assert set(accepted) <= {row[0] for row in stored}
        assert {str(job_id) for job_id in accepted} <= set(ends)
        assert [worker.is_running for worker in workers] == [True, True]
        assert [await worker.terminated() for worker in workers] == [0, 0]


async def enqueue_until(enough: asyncio.Event, shop: Workshop, accepted: list[JobId]) -> None:
    """Enqueue in a steady stream, and keep only what was promised."""
    n = 0
    while not enough.is_set():
        n += 1
        try:
            accepted.append(await shop.enqueue("note", n=n))
        except (StoreUnavailable, OutcomeUnknown):
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.002)
