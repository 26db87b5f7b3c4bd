"""Callers that enqueue at the same time: who sends for whom, and what a cancelled one leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import uuid4

import asyncpg
import pytest

from backstay import Backstay
from backstay.client.enqueue.coalescer import MANY, Coalescer
from backstay.errors import OutcomeUnknown
from backstay.model.job import JobId, NewJob
from backstay.testing import PrivatePostgres

DATABASE = "callers_together"


@pytest.fixture
async def app(postgres_server: PrivatePostgres) -> AsyncIterator[Backstay]:
    postgres_server.drop_database(DATABASE)
    postgres_server.create_database(DATABASE)
    app = Backstay(postgres_server.url(DATABASE))
    app.declare("note")
    await app._connections.migrate()
    yield app
    await app.close()


async def enqueue(app: Backstay, n: int) -> None:
    await app.jobs.enqueue_by_name("note", {"n": n})


@asynccontextmanager
async def nobody_can_store(app: Backstay) -> AsyncIterator[None]:
    connection = await asyncpg.connect(app.url)
    async with connection.transaction():
        await connection.execute("LOCK TABLE backstay.jobs IN EXCLUSIVE MODE")
        yield
    await connection.close()


async def stored(app: Backstay) -> list[int]:
    connection = await asyncpg.connect(app.url)
    numbers = await connection.fetch("SELECT (args ->> 'n')::int AS n FROM backstay.jobs ORDER BY n")
    await connection.close()
    return [row["n"] for row in numbers]


async def started(*tasks: asyncio.Task[None]) -> None:
    """Let each of them go as far as it comes."""
    await asyncio.sleep(0.3)
    assert not any(task.done() for task in tasks)


async def test_who_comes_while_one_is_stored_waits_and_is_stored_next(app: Backstay) -> None:
    await enqueue(app, 0)
    async with nobody_can_store(app):
        callers = [asyncio.create_task(enqueue(app, n)) for n in range(1, 20)]
        await started(*callers)

    await asyncio.gather(*callers)

    assert await stored(app) == list(range(20))


async def test_a_cancelled_caller_hears_what_is_not_known_and_holds_nobody_up(app: Backstay) -> None:
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


@pytest.mark.parametrize(
    ("callers", "under_way"), [(MANY, [1]), (MANY + 1, [1, MANY]), (101, [1, 50]), (2001, [1, 500])]
)
async def test_many_callers_are_stored_while_others_still_are(callers: int, under_way: list[int]) -> None:
    begun: list[int] = []
    done: list[str] = []
    may_end = asyncio.Event()

    async def store(jobs: Sequence[NewJob], hint: str | None) -> None:
        begun.append(len(jobs))
        await may_end.wait()
        done.extend(job.args for job in jobs)

    coalescer = Coalescer(store)
    calls = [
        asyncio.create_task(coalescer.enqueue(NewJob(JobId(uuid4()), "note", "default", str(n))))
        for n in range(callers)
    ]
    await started(*calls)
    assert begun == under_way
    may_end.set()
    await asyncio.gather(*calls)
    await coalescer.close()

    assert sorted(map(int, done)) == list(range(callers))
    assert coalescer.is_free


async def test_two_groups_of_callers_are_stored_in_turns() -> None:
    """Each group hands in its next jobs while the database is at work for the other."""
    under_way, together, sizes = 0, [], []

    async def store(jobs: Sequence[NewJob], hint: str | None) -> None:
        nonlocal under_way
        under_way += 1
        together.append(under_way)
        sizes.append(len(jobs))
        await asyncio.sleep(0.02)
        under_way -= 1

    async def caller() -> None:
        for _ in range(20):
            await coalescer.enqueue(NewJob(JobId(uuid4()), "note", "default", "{}"))

    coalescer = Coalescer(store)
    await asyncio.gather(*(caller() for _ in range(100)))

    assert sum(sizes) == 2000
    assert max(together) == 2
    assert sizes.count(50) > 20


async def test_closing_waits_for_the_one_that_is_being_stored(app: Backstay) -> None:
    await enqueue(app, 0)
    coalescer = app._here().client.enqueuer.coalescer
    for first, second in ((1, 2), (3, 4)):
        async with nobody_can_store(app):
            callers = [asyncio.create_task(enqueue(app, n)) for n in (first, second)]
            await started(*callers)
            closing = asyncio.create_task(coalescer.close())
            await started(closing)
        await asyncio.gather(*callers, closing)

    assert await stored(app) == [0, 1, 2, 3, 4]
