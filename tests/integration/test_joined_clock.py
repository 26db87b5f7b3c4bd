"""A test's clock counts also for jobs that are stored in a transaction of the caller's or the handler's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from backstay import Backstay, Context, State
from backstay.testing import FrozenClock, Harness, PrivatePostgres, harness

app = Backstay("sqlite:////nowhere/joined_clock.db")
START = datetime(2026, 1, 15, 9, tzinfo=UTC)


@app.job
async def child() -> None: ...


@app.job
async def parent(ctx: Context) -> None:
    async with ctx.transaction():
        await child.enqueue()
        await child.options(delay="30d").enqueue()


@pytest.fixture(scope="module")
def database(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("joined_clock")
    yield postgres_server.url("joined_clock")
    postgres_server.drop_database("joined_clock")


@pytest.fixture(params=["sqlite", "postgres"])
def backstay(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    url = (
        f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue("database")
    )
    with harness(app, url, clock=FrozenClock(START)) as opened:
        yield opened


async def children() -> list[Any]:
    return [job for job in reversed((await app.jobs.search()).jobs) if job.kind == "child"]


async def test_jobs_of_a_handlers_transaction_have_the_tests_time(backstay: Harness) -> None:
    await backstay.try_job(parent)

    now, later = await children()
    assert (now.state, now.created_at, now.run_at) == (State.AVAILABLE, START, START)
    assert (later.state, later.created_at, later.run_at) == (
        State.SCHEDULED,
        START,
        START + timedelta(days=30),
    )

    await backstay.travel(timedelta(days=31))
    assert (await backstay.drain()).completed == 2


@pytest.fixture
async def connection(database: str) -> AsyncIterator[asyncpg.Connection]:
    opened = await asyncpg.connect(database)
    yield opened
    await opened.close()


def enqueue_with_sqlalchemy(url: str) -> None:
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with Session(engine) as session:
        child.options(tx=session).enqueue_sync()
        session.commit()
    engine.dispose()


@pytest.mark.parametrize("backstay", ["postgres"], indirect=True)
async def test_jobs_of_a_callers_transaction_have_it_too_over_months(
    backstay: Harness, connection: asyncpg.Connection, database: str
) -> None:
    for _ in range(3):
        async with connection.transaction():
            await child.options(tx=connection, wait_for="go", wait_timeout="10d").enqueue()
        await backstay.travel(timedelta(days=30))
    await asyncio.to_thread(enqueue_with_sqlalchemy, database)

    created = [job.created_at for job in await children()]
    assert created == [START + timedelta(days=30 * month) for month in range(4)]
    assert (await backstay.drain()).completed == 4
