"""A worker on a fair queue: who comes later does not wait for the backlog of another."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from backstay import Backstay
from backstay.composition.connect import open_database
from backstay.stores.database.migrate import migrate
from backstay.testing import PrivatePostgres

SLOTS, SECONDS_EACH = 2, 0.002


@pytest.mark.parametrize(
    ("database", "backlog"),
    [("sqlite", 3000), ("postgres", 3000), pytest.param("postgres", 100_000, marks=pytest.mark.prove)],
)
async def test_a_newcomer_starts_long_before_the_backlog_of_another_is_done(
    database: str, backlog: int, tmp_path: Path, postgres_server: PrivatePostgres
) -> None:
    if database == "postgres":
        postgres_server.create_database("fair_workers")
    url = f"sqlite:///{tmp_path}/fair.db" if database == "sqlite" else postgres_server.url("fair_workers")
    opened = open_database(url)
    await migrate(opened)
    await opened.close()
    app = Backstay(url)
    app.queue("import", fair=True)
    started: list[str] = []

    @app.job(queue="import", kind=f"work_{database}")
    async def work(tenant: str) -> None:
        started.append(tenant)
        await asyncio.sleep(SECONDS_EACH)

    for _ in range(backlog // 1000):
        await app.jobs.enqueue_many([work.options(tenant="a").args(tenant="a") for _ in range(1000)])
    async with app.working(concurrency=SLOTS):
        while len(started) < 50:  # handlers tell by what they append, in this very loop
            await asyncio.sleep(0.005)
        before = len(started)
        newcomer = await work.options(tenant="b").enqueue(tenant="b")
        await newcomer.result(timeout=60)

    # What was claimed for the slots and a tenth of a second ahead, and nothing of the rest: far less than a quarter of
    # a short backlog, and of a long one less than what two seconds of work would be.
    assert started.index("b") - before < min(backlog // 4, 2 * SLOTS / SECONDS_EACH)
    await app.close()
    if database == "postgres":
        postgres_server.drop_database("fair_workers")
