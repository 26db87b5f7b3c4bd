"""The pytest plugin: fixtures that test an application's jobs.

Every pytest run of an environment with Backstay in it loads this module, also in projects that do not use it here.
So it lives outside the package and imports nothing of it before a fixture is asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from backstay import Backstay
    from backstay.testing import Harness, SyncHarness

__all__: list[str] = []

IN_MEMORY = "sqlite://:memory:"
STRAY = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting to pytest's own."""
    parser.addini("backstay_test_url", "the database that tests of Backstay jobs use, and empty", default="")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Remember whether the file that jobs go to unless told otherwise is there before a test."""
    item.stash[STRAY] = _usual_file(item).exists()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Warn of a test that has made that file: it has stored jobs where the application would."""
    file = _usual_file(item)
    if "backstay.app" in sys.modules and not item.stash.get(STRAY, True) and file.exists():
        item.warn(
            pytest.PytestWarning(
                f"this test has stored jobs in {file}, as the application itself would: ask for the fixture "
                "'backstay' or 'backstay_sync', and they go to a database of the test's own"
            )
        )


def _usual_file(item: pytest.Item) -> Path:
    return item.config.invocation_params.dir / "backstay.db"


@pytest.fixture
def backstay_application() -> Backstay:
    """The application under test: define a fixture of this name in a conftest.py."""
    raise pytest.UsageError(
        "which application is to be tested? Define a fixture 'backstay_application' in your conftest.py "
        "that returns your Backstay object"
    )


@pytest.fixture
def backstay_url(pytestconfig: pytest.Config) -> str:
    """The database to test on: BACKSTAY_TEST_URL, else `backstay_test_url` of pytest's settings, else in memory."""
    return os.environ.get("BACKSTAY_TEST_URL") or pytestconfig.getini("backstay_test_url") or IN_MEMORY


@pytest.fixture
def backstay(backstay_application: Backstay, backstay_url: str) -> Iterator[Harness]:
    """The application on a database of the test's own; for `async def` tests."""
    from backstay.testing import harness

    with harness(backstay_application, backstay_url) as opened:
        yield opened


@pytest.fixture
def backstay_sync(backstay: Harness) -> SyncHarness:
    """The same by blocking calls; for tests without an event loop."""
    from backstay.testing import SyncHarness

    return SyncHarness(backstay)
