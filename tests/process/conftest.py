"""Databases for tests with processes: an SQLite file or a PostgreSQL database of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from support import Workshop, migrate_now, workshop

from backstay.testing import PrivatePostgres, PrivateRedis
from pgbouncer import pooler, program

_numbers = count()
POOLED = {
    "test_clients",
    "test_handlers",
    "test_kinds_of_others",
    "test_leaving",
    "test_wakeups",
}
"""Files whose tests go through a pooler as well; a Redis carries the hints, which do not pass it."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out of a pooler's tests what is of other files."""

    def is_left_out(item: pytest.Item) -> bool:
        spec = getattr(item, "callspec", None)
        is_pooled = spec is not None and spec.params.get("url") == "pooled"
        return is_pooled and item.path.parent == Path(__file__).parent and item.path.stem not in POOLED

    left_out = [item for item in items if is_left_out(item)]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


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


@pytest.fixture(scope="session")
def carrier() -> Iterator[PrivateRedis]:
    with PrivateRedis.start() as server:
        yield server


@pytest.fixture
def pooled_url(postgres_url: str, carrier: PrivateRedis, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A database of the test's own through PgBouncer in transaction mode, with few sessions."""
    monkeypatch.setenv("BACKSTAY_WAKEUPS", carrier.url())
    with program() as found, pooler(found, postgres_url, size=8) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres", pytest.param("pooled", marks=pytest.mark.prove)])
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
