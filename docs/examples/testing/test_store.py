"""Runs the tests that every store must pass; put your own database in the place of this one."""

from collections.abc import AsyncIterator

import pytest

from backstay.composition.connect import open_database, stores_on
from backstay.stores.database.migrate import migrate
from backstay.testing import FrozenClock
from backstay.testing.contract import all_tests
from backstay.testing.contract.support import Store


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    """The stores under test: with tables, without rows, at a time that stands still."""
    clock = FrozenClock()
    database = open_database("sqlite://:memory:", clock=clock)
    await migrate(database)
    yield Store(stores_on(database.lane("test", size=4)), clock)
    await database.close()


globals().update(all_tests())
