"""A store that Backstay does not know keeps the contract, and a store that breaks it is found out."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from third_store import Ledger

from backstay.composition.connect import stores_on
from backstay.stores.database.migrate import migrate
from backstay.testing import FrozenClock
from backstay.testing.contract import MODULES, all_tests
from backstay.testing.contract.support import Store


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    """The third store with tables, without rows, at a time that stands still."""
    clock = FrozenClock()
    database = Ledger(clock=clock)
    await migrate(database)
    yield Store(stores_on(database.lane("test")), clock)
    await database.close()


globals().update(all_tests())


def test_the_suite_has_tests_of_every_subject() -> None:
    subjects = {name.removeprefix("test_").split("__")[0] for name in all_tests()}

    assert subjects == set(MODULES) - {"support"}


async def test_a_store_that_forgets_is_found_out(store: Store) -> None:
    broken = Store(stores_on(Forgetful(store)), store.clock)  # type: ignore[arg-type]  # a lane in two methods

    with pytest.raises(AssertionError, match="is not stored"):
        await all_tests()["test_enqueuing__a_plain_job_starts_empty"](broken)


class Forgetful:
    """A lane that loses every new job."""

    def __init__(self, store: Store) -> None:
        self._lane = store.stores.enqueuing.lane  # type: ignore[attr-defined]  # the stores of Backstay have one

    async def fetch(self, name: str, /, **values: object) -> object:
        return await self._lane.fetch(name, **values)

    async def fetch_each(self, name: str, rows: object, /, **same: object) -> object:
        return [] if name.startswith("jobs/enqueue") else await self._lane.fetch_each(name, rows, **same)
