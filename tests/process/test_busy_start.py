"""A worker that is started while somebody keeps the database's tables to himself."""

from __future__ import annotations

import asyncpg
from support import Workshop, eventually


async def test_a_worker_that_finds_the_database_busy_waits_and_starts(postgres_shop: Workshop) -> None:
    migration = await asyncpg.connect(postgres_shop.url)
    try:
        async with migration.transaction():
            await migration.execute("LOCK TABLE backstay.workers IN ACCESS EXCLUSIVE MODE")
            worker = postgres_shop.start_worker()
            await eventually(lambda: worker.events("store.failed"), within=30)
    finally:
        await migration.close()

    await worker.has_started()

    assert "lock" in worker.events("store.failed")[0]["error"]
    assert await worker.terminated() == 0
