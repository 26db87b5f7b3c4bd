"""What every store must do, as tests that a store of your own can run as well.

Each module holds the tests of one subject, which take a fixture called `store`. Make the fixture in a
`conftest.py`, with the stores under test on a clock that stands still and tables that are empty:

    @pytest.fixture
    async def store():
        clock = FrozenClock()
        database = open_database(url, clock=clock)
        yield Store(stores_on(database.lane("test", size=4)), clock)
        await database.close()

and give each module a file in which pytest finds its tests:

    from windlass.testing.contract.claims import *
"""

import pytest

MODULES = (
    "audit",
    "cancelling",
    "claims",
    "dead_letters",
    "enqueuing",
    "keys",
    "looking",
    "rescue",
    "settling",
    "support",
    "timestamps",
    "transitions",
    "upkeep",
    "waiting",
    "workers",
)
"""The modules of the suite; `support` holds what their tests are written with."""

# Without this a failing assertion would not show its values, because these are not the user's own test files.
pytest.register_assert_rewrite(*(f"{__name__}.{name}" for name in MODULES))
