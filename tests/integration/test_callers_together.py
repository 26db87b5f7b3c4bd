"""Callers that enqueue at the same time: who sends for whom, and what a cancelled one leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import uuid4

import asyncpg
import pytest

from windlass import Windlass
from windlass.client.coalescer import Coalescer
from windlass.errors import OutcomeUnknown
from windlass.job import JobId, NewJob
from windlass.testing import PrivatePostgres

DATABASE = "callers_together"


@pytest.fixture
async def app(postgres_server: PrivatePostgres) -> AsyncIterator[Windlass]:
    postgres_server.drop_database(DATABASE)
    postgres_server.create_database(DATABASE)
    app = Windlass(postgres_server.url(DATABASE))
    app.declare("note")
    await app.connections.migrate()
    yield app
    await app.close()


async def enqueue(app: Windlass, n: int) -> None:
    await app.jobs.enqueue_by_name("note", {"n": n})


@asynccontextmanager
async def nobody_can_store(app: Windlass) -> AsyncIterator[None]:
    connection = await asyncpg.connect(app.url)
    async with connection.transaction():
        await connection.execute("LOCK TABLE windlass.jobs IN EXCLUSIVE MODE")
        yield
    await connection.close()


async def stored(app: Windlass) -> list[int]:
    connection = await asyncpg.connect(app.url)
    numbers = await connection.fetch("SELECT (args ->> 'n')::int AS n FROM windlass.jobs ORDER BY n")
    await connection.close()
    return [row["n"] for row in numbers]


async def started(*tasks: asyncio.Task[None]) -> None:
    """Let each of them go as far as it comes."""
    await asyncio.sleep(0.3)
    assert not any(task.done() for task in tasks)


async def test_who_comes_while_one_is_stored_waits_and_is_stored_next(app: Windlass) -> None:
    await enqueue(app, 0)
    async with nobody_can_store(app):
        callers = [asyncio.create_task(enqueue(app, n)) for n in range(1, 20)]
        await started(*callers)

    await asyncio.gather(*callers)

    assert await stored(app) == list(range(20))


async def test_a_cancelled_caller_hears_what_is_not_known_and_holds_nobody_up(app: Windlass) -> None:
    causes: dict[int, BaseException | None] = {}

    async def noting(n: int) -> None:
        try:
            await enqueue(app, n)
        except asyncio.CancelledError as cancelled:
            causes[n] = cancelled.__cause__
            raise

    await enqueue(app, 0)
    async with nobody_can_store(app):
        first, second, third = (asyncio.create_task(noting(n)) for n in (1, 2, 3))
        await started(first, second, third)
        first.cancel()
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
    await third

    # The first was sent, and may be there; the second was not.
    assert isinstance(causes[1], OutcomeUnknown)
    assert causes[2] is None
    assert set(await stored(app)) - {1} == {0, 3}


async def test_whatever_storing_raises_each_caller_hears_it_and_the_next_are_stored() -> None:
    stored_together: list[list[str]] = []

    async def store(jobs: Sequence[NewJob], hint: str | None) -> None:
        await asyncio.sleep(0.01)
        stored_together.append([job.args for job in jobs])
        if len(jobs) == 2:
            raise TypeError("a value that the driver cannot write")

    coalescer = Coalescer(store)
    first, second, third = (
        asyncio.create_task(coalescer.enqueue(NewJob(JobId(uuid4()), "note", "default", str(n))))
        for n in (1, 2, 3)
    )
    await first
    for caller in (second, third):
        with pytest.raises(TypeError, match="cannot write"):
            await caller
    await coalescer.enqueue(NewJob(JobId(uuid4()), "note", "default", "4"))

    assert stored_together == [["1"], ["2", "3"], ["4"]]


async def test_closing_waits_for_the_one_that_is_being_stored(app: Windlass) -> None:
    await enqueue(app, 0)
    coalescer = app.here().client.jobs.coalescer
    for first, second in ((1, 2), (3, 4)):
        async with nobody_can_store(app):
            callers = [asyncio.create_task(enqueue(app, n)) for n in (first, second)]
            await started(*callers)
            closing = asyncio.create_task(coalescer.close())
            await started(closing)
        await asyncio.gather(*callers, closing)

    assert await stored(app) == [0, 1, 2, 3, 4]
