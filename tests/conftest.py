"""What every test may ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from windlass.testing import PrivatePostgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PrivatePostgres]:
    """One PostgreSQL server for the whole run, quick instead of safe against a power cut."""
    with PrivatePostgres.start(fsync=False, settings={"max_connections": "200"}) as server:
        yield server
