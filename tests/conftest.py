"""What every test may ask for."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from windlass.testing import PrivatePostgres

# Tests that run side by side are given the width of a terminal; commands whose output is read by a program have none.
os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PrivatePostgres]:
    """One PostgreSQL server for the whole run, quick instead of safe against a power cut."""
    with PrivatePostgres.start(fsync=False, settings={"max_connections": "200"}) as server:
        yield server
