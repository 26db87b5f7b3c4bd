"""The stores that the contract runs on: every test once on SQLite, once on PostgreSQL, once through a pooler.

What counts most goes through the pooler in every run, the others where `make prove` asks for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from raw_sql import empty_tables

from backstay.composition.connect import open_database, stores_on
from backstay.stores.database.interface import Database
from backstay.stores.database.migrate import migrate
from backstay.testing import PrivatePostgres
from backstay.testing.clock import FrozenClock
from backstay.testing.contract.support import Store
from pgbouncer import pooler, program

POOLED_ALWAYS = {"test_claims_contract", "test_settling_contract", "test_enqueuing_contract"}
# Enough for a test that holds transactions open beside others, few enough that sessions go from hand to hand.
SESSIONS = 6


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Leave most of what goes through the pooler to the proofs."""
    for item in items:
        if item.path.parent != Path(__file__).parent or not isinstance(item, pytest.Function):
            continue
        spec = getattr(item, "callspec", None)
        if spec and spec.params.get("database") == "pooled" and item.path.stem not in POOLED_ALWAYS:
            item.add_marker(pytest.mark.prove)


@pytest.fixture(scope="session")
def pooled_postgres(migrated_postgres: str) -> Iterator[str]:
    """The same database through PgBouncer in transaction mode."""
    with program() as found, pooler(found, migrated_postgres, size=SESSIONS) as url:
        yield url


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


@pytest.fixture(params=["sqlite", "postgres", "pooled"])
async def database(request: pytest.FixtureRequest, clock: FrozenClock) -> AsyncIterator[Database]:
    """A migrated database without rows."""
    if request.param == "sqlite":
        opened = open_database("sqlite://:memory:", clock=clock)
        await migrate(opened)
    else:
        fixture = "pooled_postgres" if request.param == "pooled" else "migrated_postgres"
        opened = open_database(request.getfixturevalue(fixture), clock=clock)
        await empty_tables(opened)
    yield opened
    await opened.close()


@pytest.fixture
def store(database: Database, clock: FrozenClock) -> Store:
    return Store(stores_on(database.lane("test", size=4)), clock)
