"""What every store must do, as tests that a store of your own can run as well.

The tests take a fixture called `store`. Make it in a file of your tests, with the stores under test on a clock that
stands still and tables that are empty, and let pytest find the tests beside it:

    @pytest.fixture
    async def store():
        clock = FrozenClock()
        database = MyDatabase(clock=clock)
        await migrate(database)
        yield Store(stores_on(database.lane("test", size=4)), clock)
        await database.close()

    globals().update(all_tests())

To run them on several stores at once, make the fixture in a `conftest.py` and give each module a file of its own:

    from backstay.testing.contract.claims import *
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

MODULES = (
    "audit",
    "cancelling",
    "causes",
    "claims",
    "dead_letters",
    "debouncing",
    "enqueuing",
    "failures",
    "fairness",
    "figures",
    "flows",
    "keys",
    "limits",
    "locks",
    "looking",
    "measures",
    "misfits",
    "operations",
    "ordering",
    "outbox",
    "overrides",
    "pausing",
    "promoted",
    "rates",
    "reactions",
    "rescue",
    "schedule_history",
    "schedules",
    "settling",
    "signals",
    "steps",
    "support",
    "timestamps",
    "transitions",
    "triage",
    "upkeep",
    "waiting",
    "whole_flows",
    "workers",
)
"""The modules of the suite; `support` holds what their tests are written with."""

# Without this a failing assertion would not show its values, because these are not the user's own test files.
pytest.register_assert_rewrite(*(f"{__name__}.{name}" for name in MODULES))


def all_tests() -> dict[str, Callable[..., Any]]:
    """Every test of the suite under a name that pytest collects: `test_<module>__<what it shows>`."""
    return {
        f"test_{module}__{name.removeprefix('test_')}": test
        for module in MODULES
        for name, test in vars(import_module(f"{__name__}.{module}")).items()
        if name.startswith("test_")
    }
