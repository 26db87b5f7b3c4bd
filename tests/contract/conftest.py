"""The stores that the contract runs on: every test once on SQLite, once on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from raw_sql import empty_tables

from windlass.connect import open_database, stores_on
from windlass.stores.database import Database
from windlass.stores.migrate import migrate
from windlass.testing import PrivatePostgres
from windlass.testing.clock import FrozenClock
from windlass.testing.contract.support import Store


@pytest.fixture(scope="session")
def migrated_postgres(postgres_server: PrivatePostgres) -> str:
    """The URL of a database with tables; its copies and its emptying are each test's own affair."""
    postgres_server.create_database("contract")
    url = postgres_server.url("contract")

    async def prepare() -> None:
        database = open_database(url)
        await migrate(database)
        await database.close()

    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, prepare()).result()
    return url


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture(params=["sqlite", "postgres"])
async def database(request: pytest.FixtureRequest, clock: FrozenClock) -> AsyncIterator[Database]:
    """A migrated database without rows."""
    if request.param == "sqlite":
        opened = open_database("sqlite://:memory:", clock=clock)
        await migrate(opened)
    else:
        opened = open_database(request.getfixturevalue("migrated_postgres"), clock=clock)
        await empty_tables(opened)
    yield opened
    await opened.close()


@pytest.fixture
def store(database: Database, clock: FrozenClock) -> Store:
    return Store(stores_on(database.lane("test", size=4)), clock)
