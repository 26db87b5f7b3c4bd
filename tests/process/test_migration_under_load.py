"""A release that only adds to the tables is rolled out while jobs come and go: nobody of the old one notices."""

from __future__ import annotations

import asyncio

import pytest
from support import Workshop

from backstay.composition.connect import open_database
from backstay.stores.database.migrate import migrate

JOBS = 600
MIGRATION = """
ALTER TABLE backstay.jobs ADD COLUMN colour text;
CREATE TABLE backstay.colours (name text PRIMARY KEY);
"""


async def test_old_workers_and_clients_go_on_while_the_tables_are_added_to(postgres_shop: Workshop) -> None:
    shop = postgres_shop
    await shop.started_worker()
    half_stored = asyncio.Event()

    async def store() -> None:
        for number in range(JOBS):
            await shop.enqueue("note", n=number)
            if number == JOBS // 2:
                half_stored.set()

    storing = asyncio.create_task(store())
    await asyncio.wait(
        {storing, asyncio.ensure_future(half_stored.wait())}, return_when=asyncio.FIRST_COMPLETED
    )
    applied = await migrate_as_the_next_release(shop.url)
    # Started when the tables are those of the next release already, as when a machine restarts in the middle.
    late = await shop.started_worker()
    await storing
    await shop.all_ended(JOBS, within=60)

    assert applied == ["0003 expand_colours"]
    assert [worker.events("store.failed") for worker in shop.workers] == [[], []]
    assert late.is_running
    assert await shop.rows("SELECT count(*), max(attempt) FROM backstay.jobs WHERE state = 'completed'") == [
        (JOBS, 1)
    ]


async def migrate_as_the_next_release(url: str) -> list[str]:
    database = open_database(url)
    known = database.dialect.migrations
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(
            vars(database.dialect), "migrations", [*known, (len(known) + 1, "expand_colours", MIGRATION)]
        )
        applied = await migrate(database)
    await database.close()
    return [str(migration) for migration in applied]
