"""A shop's jobs under the test's own clock, on each of the databases, and visitors of its dashboard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from dashboard_browser import ADA, Browser, browser_of
from dashboard_jobs import make_app

from backstay import Backstay
from backstay.http import Person
from backstay.testing import Harness, PrivatePostgres, harness

Visit = Callable[[Person | None], Browser]


@pytest.fixture(scope="session")
def dashboard_url(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("dashboard")
    yield postgres_server.url("dashboard")
    postgres_server.drop_database("dashboard")


@pytest.fixture(params=["sqlite", "postgres"])
def shop(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """The shop on empty tables."""
    url = "sqlite://:memory:" if request.param == "sqlite" else request.getfixturevalue("dashboard_url")
    with harness(make_app(), url) as own:
        yield own


@pytest.fixture
def app(shop: Harness) -> Backstay:
    return shop.app


@pytest.fixture
async def visit(app: Backstay) -> AsyncIterator[Visit]:
    """Makes visitors of the dashboard."""
    opened: list[Browser] = []

    def visitor(person: Person | None) -> Browser:
        opened.append(browser_of(app, person))
        return opened[-1]

    yield visitor
    for browser in opened:
        await browser.client.aclose()


@pytest.fixture
def ada(visit: Visit) -> Browser:
    """Somebody who may do everything."""
    return visit(ADA)
