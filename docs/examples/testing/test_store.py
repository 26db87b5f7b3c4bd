"""Runs the tests that every store must pass; put your own database in the place of this one."""

from collections.abc import AsyncIterator

import pytest

from windlass.connect import open_database, stores_on
from windlass.stores.migrate import migrate
from windlass.testing import FrozenClock
from windlass.testing.contract import all_tests
from windlass.testing.contract.support import Store


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    """The stores under test: with tables, without rows, at a time that stands still."""
    clock = FrozenClock()
    database = open_database("sqlite://:memory:", clock=clock)
    await migrate(database)
    yield Store(stores_on(database.lane("test", size=4)), clock)
    await database.close()


globals().update(all_tests())
