"""The contract's store on PostgreSQL, with claims by the functions for working from SQL.

The files of the contract about claims, settling, rescue and cancelling run as they are, but for what `ELSE` names.
"""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg
import pytest

sys.path.append(str(Path(__file__).parents[1] / "contract"))

from raw_sql import empty_tables

from backstay.composition.connect import open_database, stores_on
from backstay.stores.database.interface import Database
from backstay.stores.database.migrate import migrate
from backstay.testing import PrivatePostgres
from backstay.testing.clock import FrozenClock
from backstay.testing.contract.support import Store
from contract_sql.sql_claims import SqlClaims

EPOCHS = "a reported end raises the epoch by two, and what maintenance decides by one more"
SUSPECTS = "a suspect is handed out alone, and only when there is no other job"
PLACES = "there is no place in the line to begin at"
ELSE = {
    "test_the_epoch_is_odd_while_a_job_runs_and_even_while_it_does_not": EPOCHS,
    "test_every_failed_attempt_leaves_a_row": EPOCHS,
    "test_the_budget_and_the_runs_are_counted_apart": EPOCHS,
    "test_a_claim_may_begin_where_another_has_ended": PLACES,
    "test_a_claim_of_one_pair_begins_where_it_is_told": PLACES,
    "test_at_most_one_suspect_is_claimed_beside_the_others": SUSPECTS,
    "test_no_suspect_is_claimed_where_none_is_asked_for": SUSPECTS,
    "test_a_suspect_is_claimed_beside_the_limit_and_also_without_one": SUSPECTS,
    "test_claims_whose_reply_was_lost_are_found_by_their_worker": "what was lost comes back with its lease",
    "test_a_claim_with_an_epoch_that_no_claim_ever_had_is_refused": "the database refuses it with its own error",
    "test_the_end_of_an_awaited_job_is_told": "the function tells it",
}
"""The tests of what the functions do in another way, and which."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the functions do in another way."""
    here = Path(__file__).parent
    other = [item for item in items if item.path.parent == here and item.name in ELSE]
    if other:
        items[:] = [item for item in items if item not in other]
        config.hook.pytest_deselected(items=other)


@pytest.fixture(scope="session")
def sql_url(postgres_server: PrivatePostgres) -> str:
    """A migrated database."""
    postgres_server.create_database("contract_sql")
    url = postgres_server.url("contract_sql")

    async def prepare() -> None:
        database = open_database(url)
        await migrate(database)
        await database.close()

    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, prepare()).result()
    return url


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
async def database(sql_url: str, clock: FrozenClock) -> AsyncIterator[Database]:
    """It without rows."""
    opened = open_database(sql_url, clock=clock)
    await empty_tables(opened)
    yield opened
    await opened.close()


@pytest.fixture
async def store(database: Database, sql_url: str, clock: FrozenClock) -> AsyncIterator[Store]:
    stores = stores_on(database.lane("test", size=4))
    connection = await asyncpg.connect(sql_url)
    claims = SqlClaims(stores.claims, connection, clock)
    yield Store(dataclasses.replace(stores, claims=claims), clock)
    await connection.close()
