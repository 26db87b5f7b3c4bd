"""Jobs that are stored or completed in a transaction of the application's own, ready to be cut.

What the application writes in it and what Windlass writes become true together, or neither does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import asyncpg

from chaos.operations import CutStore, Operation, new, one_claim
from windlass.connect import open_connections
from windlass.env import SYSTEM
from windlass.errors import StoreUnavailable
from windlass.job import Claim, NewJob
from windlass.stores.completing.completing import Completions
from windlass.stores.joining.joining import Joining
from windlass.stores.joining.postgres import PostgresHome

# Written so that doing it again changes nothing, as the caller must who never heard the answer.
WRITES = "INSERT INTO public.ledger (entry) VALUES ('paid') ON CONFLICT DO NOTHING"


def kept_with(arrange: Any) -> Any:
    """The same, beside a table of the application's own."""

    async def arranged(store: CutStore) -> Any:
        connection = await asyncpg.connect(store.url)
        await connection.execute("CREATE TABLE IF NOT EXISTS public.ledger (entry text PRIMARY KEY)")
        await connection.close()
        return await arrange(store)

    return arranged


@asynccontextmanager
async def as_a_caller() -> AsyncIterator[None]:
    """The application hears of a lost connection in the words of its driver, and cannot know what was done."""
    try:
        yield
    except (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, OSError) as error:
        raise StoreUnavailable(str(error), was_sent=True) from error


async def enqueue_inside(store: CutStore, jobs: list[NewJob]) -> None:
    async with as_a_caller():
        connection = await asyncpg.connect(store.url)
        async with connection.transaction():
            await connection.execute(WRITES)
            await Joining(PostgresHome(store.url)).join(connection, jobs)


async def complete_inside(store: CutStore, claim: Claim) -> None:
    connections = open_connections(store.url, env=SYSTEM, clock=store.clock)
    completions = Completions(
        home=PostgresHome(store.url),
        url=store.url,
        pooled=False,
        clock=store.clock,
        env=SYSTEM,
        pool=connections.handler_pool,
    )
    ending = completions.of(None, claim.guard, limit=timedelta(seconds=30), words=lambda: None, is_sync=False)
    async with as_a_caller():
        await ending.begin()
        await ending.execute(WRITES, ())
        await ending.finish('{"run": 1}')


JOINED = (
    Operation("joining.join", kept_with(new()), enqueue_inside, has_own_times=True),
    Operation(
        "joining.join",
        kept_with(new(1, idempotency_key="k", fingerprint="f")),
        enqueue_inside,
        has_own_times=True,
    ),
    Operation("completing.finish", kept_with(one_claim), complete_inside, is_repeated=False),
)
