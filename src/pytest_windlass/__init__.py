"""The pytest plugin: fixtures that test an application's jobs.

Every pytest run of an environment with Windlass in it loads this module, also in projects that do not use it here.
So it lives outside the package and imports nothing of it before a fixture is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from windlass import Windlass
    from windlass.testing import Harness, SyncHarness

__all__: list[str] = []

IN_MEMORY = "sqlite://:memory:"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting to pytest's own."""
    parser.addini("windlass_test_url", "the database that tests of Windlass jobs use, and empty", default="")


@pytest.fixture
def windlass_application() -> Windlass:
    """The application under test: define a fixture of this name in a conftest.py."""
    raise pytest.UsageError(
        "which application is to be tested? Define a fixture 'windlass_application' in your conftest.py "
        "that returns your Windlass object"
    )


@pytest.fixture
def windlass_url(pytestconfig: pytest.Config) -> str:
    """The database to test on: WINDLASS_TEST_URL, else `windlass_test_url` of pytest's settings, else in memory."""
    return os.environ.get("WINDLASS_TEST_URL") or pytestconfig.getini("windlass_test_url") or IN_MEMORY


@pytest.fixture
def windlass(windlass_application: Windlass, windlass_url: str) -> Iterator[Harness]:
    """The application on a database of the test's own; for `async def` tests."""
    from windlass.testing import harness

    with harness(windlass_application, windlass_url) as opened:
        yield opened


@pytest.fixture
def windlass_sync(windlass: Harness) -> SyncHarness:
    """The same by blocking calls; for tests without an event loop."""
    from windlass.testing import SyncHarness

    return SyncHarness(windlass)
