"""Databases for tests with processes: an SQLite file or a PostgreSQL database of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from support import Workshop, workshop

from windlass.connect import open_database
from windlass.stores.migrate import migrate
from windlass.testing import PrivatePostgres

_numbers = count()


def migrate_now(url: str) -> None:
    """Make the tables, from a thread, because the caller may be on an event loop."""

    async def make() -> None:
        database = open_database(url)
        await migrate(database)
        await database.close()

    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, make()).result()


@pytest.fixture(scope="session")
def new_postgres_database(postgres_server: PrivatePostgres) -> Callable[[], str]:
    """Makes a database with tables, as often as it is called."""
    postgres_server.create_database("process_template")
    migrate_now(postgres_server.url("process_template"))

    def make() -> str:
        name = f"process_{next(_numbers)}"
        postgres_server.create_database(name, template="process_template")
        return postgres_server.url(name)

    return make


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/jobs.db"


@pytest.fixture
def postgres_url(new_postgres_database: Callable[[], str]) -> str:
    return new_postgres_database()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """The database of a test that is to hold on both."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
async def shop(url: str, tmp_path: Path) -> AsyncIterator[Workshop]:
    async with workshop(url, tmp_path) as opened:
        yield opened


@pytest.fixture
async def postgres_shop(postgres_url: str, tmp_path: Path) -> AsyncIterator[Workshop]:
    async with workshop(postgres_url, tmp_path) as opened:
        yield opened


@pytest.fixture
async def sqlite_shop(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Workshop]:
    async with workshop(sqlite_url, tmp_path) as opened:
        yield opened
