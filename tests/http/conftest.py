"""What the tests of the HTTP service share: an application on each database, and callers of every role."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from http_world import World, opened

from backstay.testing import PrivatePostgres

numbers = itertools.count()


@pytest.fixture(params=["sqlite", "postgres"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """The service on each database, without jobs."""
    if request.param == "sqlite":
        async with opened(f"sqlite:///{tmp_path / 'service.db'}") as world:
            yield world
        return
    server: PrivatePostgres = request.getfixturevalue("postgres_server")
    name = f"service_{next(numbers)}"
    server.create_database(name)
    async with opened(server.url(name)) as world:
        yield world
    server.drop_database(name)


@pytest.fixture
async def quick_world(tmp_path: Path) -> AsyncIterator[World]:
    """The service on SQLite, where the database does not matter."""
    async with opened(f"sqlite:///{tmp_path / 'service.db'}") as world:
        yield world
