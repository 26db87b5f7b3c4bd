"""A shop's jobs in one process, its dashboard and its worker in another, and a real browser before it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from browser_support import Shop

from backstay import Backstay
from backstay.testing import PrivatePostgres
from backstay_parts.browser import install_chromium

PROGRAM = Path(__file__).with_name("browser_shop.py")
# The texts that try to become something else are those of the kit's tests.
sys.path.append(str(Path(__file__).parents[1] / "kit"))


@pytest.fixture(scope="session")
def chromium() -> str:
    """Debian's Chromium, installed where it is missing."""
    return install_chromium()


@pytest.fixture(scope="session")
def browser_url(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("browser")
    yield postgres_server.url("browser")
    postgres_server.drop_database("browser")


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """The address of a dashboard with a worker behind it, and the database, on each of the databases."""
    folder = tmp_path_factory.mktemp("shop")
    url = (
        f"sqlite:///{folder / 'shop.db'}"
        if request.param == "sqlite"
        else request.getfixturevalue("browser_url")
    )
    with subprocess.Popen(
        [sys.executable, str(PROGRAM)],
        env={**os.environ, "BACKSTAY_URL": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        found = re.search(r"http\S+", process.stdout.readline())
        assert found, "the dashboard did not start"
        yield found[0], url
        process.terminate()


@pytest.fixture
async def shop(served: tuple[str, str], tmp_path: Path, chromium: str) -> AsyncIterator[Shop]:
    link, url = served
    app = Backstay(url)
    yield Shop(link, app, tmp_path)
    await app.close()
