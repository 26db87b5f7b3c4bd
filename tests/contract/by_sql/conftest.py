"""The contract's store on PostgreSQL, with claims by the functions for working from SQL.

The files of the contract about claims, settling, rescue and cancelling run as they are, but for what `ELSE` names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from differences import ELSE
from raw_sql import empty_tables
from sql_claims import SqlClaims

from backstay.composition.connect import open_database, stores_on
from backstay.stores.database.interface import Database
from backstay.testing.clock import FrozenClock
from backstay.testing.contract.support import Store


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the functions do in another way."""
    here = Path(__file__).parent
    other = [item for item in items if item.path.parent == here and item.name in ELSE]
    if other:
        items[:] = [item for item in items if item not in other]
        config.hook.pytest_deselected(items=other)


@pytest.fixture
async def database(migrated_postgres: str, clock: FrozenClock) -> AsyncIterator[Database]:
    """It without rows."""
    opened = open_database(migrated_postgres, clock=clock)
    await empty_tables(opened)
    yield opened
    await opened.close()


@pytest.fixture
async def store(database: Database, migrated_postgres: str, clock: FrozenClock) -> AsyncIterator[Store]:
    stores = stores_on(database.lane("test", size=4))
    connection = await asyncpg.connect(migrated_postgres)
    claims = SqlClaims(stores.claims, connection, clock)
    yield Store(dataclasses.replace(stores, claims=claims), clock)
    await connection.close()
