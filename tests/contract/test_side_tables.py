"""What belongs to a job cannot be there without it, and goes when it goes, whoever removes it."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from raw_sql import run_sql

from backstay.errors import StoreError
from backstay.model.job import JobId
from backstay.stores.database.interface import Database
from backstay.stores.database.postgres import Postgres
from backstay.testing.contract.support import Store

NOBODY = JobId(UUID(int=1))
FLOW = UUID(int=2)

# A row of each table that belongs to the job {id}; {other} is another job.
ROWS = {
    "attempts": "(job_id, lease_epoch, attempt, run, status, started_at, finished_at, duration_ms) "
    "VALUES ('{id}', 1, 1, 1, 'failed', {at}, {at}, 0)",
    "dependencies": "(job_id, parent_id, type) VALUES ('{id}', '{other}', 'success')",
    "dependencies of a parent": "(job_id, parent_id, type) VALUES ('{other}', '{id}', 'success')",
    "flow_jobs": f"(job_id, flow_id) VALUES ('{{id}}', '{FLOW}')",
    "measures": "(job_id, lease_epoch, cpu_ms, peak_rss_mb) VALUES ('{id}', 1, 5, 5)",
    "progress": "(job_id, lease_epoch, current, updated_at) VALUES ('{id}', 1, 0.5, {at})",
    "signals": "(job_id, name, position, key, sent_by, sent_at) VALUES ('{id}', 'go', 1, 'k', 'ann', {at})",
    "steps": "(job_id, name, position, lease_epoch, attempt, run, duration_ms, finished_at) "
    "VALUES ('{id}', 'first', 1, 1, 1, 1, 0, {at})",
    "waits": "(job_id, name, number, position, is_open, waiting_since) VALUES ('{id}', 'go', 1, 1, TRUE, {at})",
}
sides = pytest.mark.parametrize("side", ROWS)
# There, triggers do it. SQLite has neither TRUNCATE nor two writers.
on_postgres = pytest.mark.parametrize("database", ["postgres"], indirect=True)


def row_of(database: Database, side: str, job_id: JobId, other: JobId) -> str:
    at = "clock_timestamp()" if isinstance(database, Postgres) else "0"
    return f"INSERT INTO backstay.{table(side)} {ROWS[side]}".format(id=job_id, other=other, at=at)


def table(side: str) -> str:
    return side.split()[0]


async def rows_left(database: Database, side: str) -> int:
    [row] = await run_sql(database, f"SELECT count(*) AS number FROM backstay.{table(side)}")
    return int(row["number"])


@pytest.fixture(autouse=True)
async def flow(store: Store, database: Database) -> None:
    at = "clock_timestamp()" if isinstance(database, Postgres) else "0"
    await run_sql(
        database, f"INSERT INTO backstay.flows (id, name, created_at) VALUES ('{FLOW}', 'nightly', {at})"
    )


@sides
async def test_nothing_is_stored_for_a_job_that_is_not_there(
    store: Store, database: Database, side: str
) -> None:
    other = await store.enqueue()

    with pytest.raises(StoreError, match=r"(?i)no job|foreign key"):
        await run_sql(database, row_of(database, side, NOBODY, other))

    assert await rows_left(database, side) == 0


@sides
async def test_what_belongs_to_a_job_goes_with_it(store: Store, database: Database, side: str) -> None:
    job_id, other = await store.enqueue(), await store.enqueue()
    await run_sql(database, row_of(database, side, job_id, other))

    await run_sql(database, f"DELETE FROM backstay.jobs WHERE id = '{job_id}'")

    assert await rows_left(database, side) == 0
    assert await store.job(other)


@sides
async def test_what_belongs_to_others_stays(store: Store, database: Database, side: str) -> None:
    job_id, other, third = [await store.enqueue() for _ in range(3)]
    await run_sql(database, row_of(database, side, job_id, other))

    await run_sql(database, f"DELETE FROM backstay.jobs WHERE id = '{third}'")

    assert await rows_left(database, side) == 1


@on_postgres
@sides
async def test_a_table_emptied_at_once_takes_everything_with_it(
    store: Store, database: Postgres, side: str
) -> None:
    await run_sql(database, row_of(database, side, await store.enqueue(), await store.enqueue()))

    await run_sql(database, "TRUNCATE backstay.jobs CASCADE")

    assert await rows_left(database, side) == 0


@on_postgres
async def test_the_id_of_a_job_cannot_change(store: Store, database: Postgres) -> None:
    job_id = await store.enqueue()

    with pytest.raises(StoreError, match="stays as it is"):
        await run_sql(database, f"UPDATE backstay.jobs SET id = '{NOBODY}' WHERE id = '{job_id}'")


@on_postgres
@sides
async def test_who_removes_a_job_waits_for_what_is_being_added_to_it(
    store: Store, database: Postgres, side: str
) -> None:
    job_id, other = await store.enqueue(), await store.enqueue()

    async with database.lane("adding").transaction() as connection:
        adding: Any = connection
        await adding.driver.execute(row_of(database, side, job_id, other))
        removing = asyncio.create_task(
            run_sql(database, f"DELETE FROM backstay.jobs WHERE id = '{job_id}' RETURNING id")
        )
        await waiting_for_a_lock(database)

    assert [row["id"] for row in await removing] == [job_id]
    assert await rows_left(database, side) == 0


async def waiting_for_a_lock(database: Postgres) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with asyncio.timeout(10):
        while True:
            async with database.lane("watching").transaction() as connection:
                watching: Any = connection
                if await watching.driver.fetchval(waiting):
                    return
