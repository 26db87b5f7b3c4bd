"""The databases that plan tests share: filled once, and copied for each state of the statistics."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from plan_rows import prepared
from plans import MODES, STATISTICS, Tables, opened, opened_for_handlers

from windlass.testing import PrivatePostgres


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
