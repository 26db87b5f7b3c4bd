"""Jobs that are stored or completed in a transaction of the application's own, ready to be cut.

What the application writes in it and what Backstay writes become true together, or neither does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import asyncpg
import psycopg
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from backstay.attempt.transaction import finished
from backstay.composition.connect import open_connections
from backstay.errors import StoreUnavailable
from backstay.model.job import Claim, NewJob
from backstay.model.outcome import ErrorInfo
from backstay.model.settlement import Settlement
from backstay.model.states import State
from backstay.runtime.env import SYSTEM
from backstay.stores.caller_transaction.joining import Joining
from backstay.stores.caller_transaction.postgres import PostgresTarget
from backstay.stores.handler_transaction.completing import Completions
from chaos.operations import CutStore, Operation, new, one_claim

LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    psycopg.OperationalError,
    DBAPIError,
    OSError,
)

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
    except LOST as error:
        raise StoreUnavailable(str(error), was_sent=True) from error


async def enqueue_inside(store: CutStore, jobs: list[NewJob]) -> None:
    async with as_a_caller():
        connection = await asyncpg.connect(store.url)
        async with connection.transaction():
            await connection.execute(WRITES)
            await Joining(PostgresTarget(store.url)).join(connection, jobs)


async def end_inside(store: CutStore, claim: Claim, settlement: Settlement, way: str = "own") -> None:
    connections = open_connections(store.url, env=SYSTEM, clock=store.clock)
    completions = Completions(
        home=PostgresTarget(store.url),
        url=store.url,
        pooled=False,
        clock=store.clock,
        env=SYSTEM,
        pool=connections.handler_pool,
    )
    limit, words = timedelta(seconds=30), lambda: None
    async with as_a_caller():
        match way:
            case "psycopg":
                await asyncio.to_thread(end_blocking, completions, claim, settlement)
            case "sqlalchemy":
                engine = create_async_engine(store.url.replace("postgresql", "postgresql+asyncpg"))
                async with AsyncSession(engine) as session:
                    ending = completions.of(session, claim, limit=limit, words=words, is_sync=False)
                    await ending.begin()
                    await session.execute(text(WRITES))
                    await ending.finish(settlement)
            case _:
                given = await asyncpg.connect(store.url) if way == "asyncpg" else None
                ending = completions.of(given, claim, limit=limit, words=words, is_sync=False)
                await ending.begin()
                await ending.execute(WRITES, ())
                await ending.finish(settlement)


def end_blocking(completions: Completions, claim: Claim, settlement: Settlement) -> None:
    """Do it as a handler that is not async does."""
    ending = completions.of(None, claim, limit=timedelta(seconds=30), words=lambda: None, is_sync=True)
    finished(ending.begin())
    finished(ending.execute(WRITES, ()))
    finished(ending.finish(settlement))


FAILED = Settlement(
    State.DEAD,
    reason="hopeless",
    error=ErrorInfo("ValueError", "no", "unknown"),
    attempt_status="failed",
)
ENDINGS = (
    Settlement(State.COMPLETED, result='{"run": 1}'),
    FAILED,
    replace(FAILED, state=State.SCHEDULED, reason=None, run_in=timedelta(seconds=5)),
    Settlement(State.SCHEDULED, run_in=timedelta(minutes=1), refund=1, attempt_status="snoozed"),
)

WAYS = ("own", "asyncpg", "sqlalchemy", "psycopg")

JOINED = (
    Operation("joining.join", kept_with(new()), enqueue_inside, has_own_times=True),
    Operation(
        "joining.join",
        kept_with(new(1, idempotency_key="k", fingerprint="f")),
        enqueue_inside,
        has_own_times=True,
    ),
    *(
        Operation(
            "completing.finish",
            kept_with(one_claim),
            partial(end_inside, settlement=ending, way=way),
            is_repeated=False,
        )
        for way in WAYS
        for ending in ENDINGS
    ),
)
