"""Databases for the proof."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from backstay.composition.connect import open_database
from backstay.stores.database.migrate import migrate
from backstay.testing import PrivatePostgres

_numbers = count()


@pytest.fixture(scope="session")
def new_database(postgres_server: PrivatePostgres) -> Callable[[], str]:
    """Makes a database with tables, as often as it is called."""
    postgres_server.create_database("chaos_template")

    async def make_tables() -> None:
        database = open_database(postgres_server.url("chaos_template"))
        await migrate(database)
        await database.close()

    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, make_tables()).result()

    def make() -> str:
        name = f"chaos_{next(_numbers)}"
        postgres_server.create_database(name, template="chaos_template")
        return postgres_server.url(name)

    return make
