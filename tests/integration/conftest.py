"""What several files share: databases for plan tests, filled once, and applications on empty tables."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest
from plan_rows import prepared
from plans import MODES, STATISTICS, Tables, opened, opened_for_handlers

from backstay import Backstay
from backstay.testing import PrivatePostgres
from backstay.testing.database import EMPTY_TABLES


@pytest.fixture(scope="session")
def emptied_url(postgres_server: PrivatePostgres) -> Iterator[str]:
    """A database on PostgreSQL that tests empty before they begin; none may trust what the one before it left."""
    postgres_server.create_database("emptied")
    yield postgres_server.url("emptied")
    postgres_server.drop_database("emptied")


@pytest.fixture(params=["sqlite", "postgres"])
async def empty_app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backstay]:
    """An application without jobs, on each of the databases."""
    if request.param == "sqlite":
        application = Backstay(f"sqlite:///{tmp_path / 'jobs.db'}")
        yield application
        await application.close()
        return
    application = Backstay(request.getfixturevalue("emptied_url"))
    await application._connections.migrate()
    connection = await asyncpg.connect(application.url)
    await connection.execute(EMPTY_TABLES)
    await connection.close()
    yield application
    await application.close()


@pytest.fixture(scope="session")
def plan_databases(postgres_server: PrivatePostgres) -> Iterator[dict[str, str]]:
    databases = prepared(postgres_server, finished=100_000)
    yield databases
    for database in databases.values():
        postgres_server.drop_database(database)


@pytest.fixture(params=STATISTICS)
async def tables(
    request: pytest.FixtureRequest, postgres_server: PrivatePostgres, plan_databases: dict[str, str]
) -> AsyncIterator[Tables]:
    async with opened(postgres_server, plan_databases[request.param]) as tables:
        yield tables


@pytest.fixture(params=STATISTICS)
async def pooled_tables(
    request: pytest.FixtureRequest, postgres_server: PrivatePostgres, plan_databases: dict[str, str]
) -> AsyncIterator[Tables]:
    """The same on a connection to a pooler, which keeps no settings of a session."""
    async with opened(postgres_server, plan_databases[request.param], query="?pooled=true") as tables:
        yield tables


@pytest.fixture(params=STATISTICS)
async def handlers_tables(
    request: pytest.FixtureRequest, postgres_server: PrivatePostgres, plan_databases: dict[str, str]
) -> AsyncIterator[Tables]:
    """The same on a connection of the handlers' pool."""
    async with opened_for_handlers(postgres_server, plan_databases[request.param]) as tables:
        yield tables


@pytest.fixture(params=MODES)
def plan_cache_mode(request: pytest.FixtureRequest) -> str:
    mode: str = request.param
    return mode
