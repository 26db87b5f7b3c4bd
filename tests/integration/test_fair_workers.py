"""A worker on a fair queue: who comes later does not wait for the backlog of another."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from windlass import Windlass
from windlass.connect import open_database
from windlass.stores.migrate import migrate
from windlass.testing import PrivatePostgres

BACKLOG = 3000


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_a_newcomer_starts_long_before_the_backlog_of_another_is_done(
    database: str, tmp_path: Path, postgres_server: PrivatePostgres
) -> None:
    if database == "postgres":
        postgres_server.create_database("fair_workers")
    url = f"sqlite:///{tmp_path}/fair.db" if database == "sqlite" else postgres_server.url("fair_workers")
    opened = open_database(url)
    await migrate(opened)
    await opened.close()
    app = Windlass(url)
    app.queue("import", fair=True)
    started: list[str] = []

    @app.job(queue="import", kind=f"work_{database}")
    async def work(tenant: str) -> None:
        started.append(tenant)
        await asyncio.sleep(0.002)

    await app.jobs.enqueue_many([work.options(tenant="a").args(tenant="a") for _ in range(BACKLOG)])
    async with app.working(concurrency=2):
        while len(started) < 50:  # handlers tell by what they append, in this very loop
            await asyncio.sleep(0.005)
        before = len(started)
        newcomer = await work.options(tenant="b").enqueue(tenant="b")
        await newcomer.result(timeout=60)

    # What was claimed for the slots and a tenth of a second ahead, and nothing of the rest.
    assert started.index("b") - before < BACKLOG // 4
    await app.close()
    if database == "postgres":
        postgres_server.drop_database("fair_workers")
