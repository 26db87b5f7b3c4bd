"""Fixtures for a conftest.py: all tests on a PostgreSQL server of their own."""

from collections.abc import Iterator

import pytest

from backstay.testing import PrivatePostgres


@pytest.fixture(scope="session")
def server() -> Iterator[PrivatePostgres]:
    with PrivatePostgres.start(fsync=False) as started:
        started.create_database("test")
        yield started


@pytest.fixture
def backstay_url(server: PrivatePostgres) -> str:
    return server.url("test")
