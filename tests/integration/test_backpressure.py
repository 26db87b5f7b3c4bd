"""New jobs are put off where many wait already, and a worker that has grown too large leaves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from backstay import Backstay, JobOptions, Profile, State
from backstay.testing import Harness, PrivatePostgres, harness

numbers = itertools.count()
FLOODED = {"postpone_above": 3, "postpone_by": "1m"}
app = Backstay("sqlite:///unused.db", profile=Profile(name="mill", queues={"narrow": FLOODED}))


@app.job(queue="narrow")
async def grind(number: int = 1) -> int:
    return number


@pytest.fixture(params=["sqlite", "postgres"])
def mill(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """The application on each of the databases."""
    url = "sqlite://:memory:"
    if request.param == "postgres":
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        name = f"mill_{next(numbers)}"
        server.create_database(name)
        url = server.url(name)
    with harness(app, url) as tried:
        yield tried


async def later(*handles: Any) -> list[timedelta]:
    """How much later each job is due."""
    jobs = [await handle.get() for handle in handles]
    return [max(job.run_at - job.created_at, timedelta(0)) for job in jobs]


async def test_jobs_are_put_off_by_how_many_wait_in_their_queue(mill: Harness) -> None:
    first = [await grind.enqueue(number) for number in range(7)]

    minute = timedelta(minutes=1)
    assert await later(*first) == [timedelta(0)] * 3 + [minute] * 3 + [2 * minute]
    assert (await first[-1].get()).state is State.SCHEDULED


async def test_batches_are_put_off_and_what_has_a_time_is_not(mill: Harness) -> None:
    await grind.enqueue_many([{"number": number} for number in range(4)])

    own = await grind.options(delay="5s").enqueue(1)
    elsewhere = await grind.options(queue="wide").enqueue(1)
    put_off = await grind.enqueue(1)

    assert await later(own, elsewhere, put_off) == [
        timedelta(seconds=5),
        timedelta(0),
        timedelta(minutes=1),
    ]


async def test_jobs_of_a_callers_transaction_are_put_off_too(postgres_server: PrivatePostgres) -> None:
    name = f"mill_{next(numbers)}"
    postgres_server.create_database(name)
    other = Backstay(postgres_server.url(name), profile=app.profile)

    @other.job(queue="narrow")
    async def sift(number: int = 1) -> int:
        return number

    await other.migrate()
    await sift.enqueue_many([{"number": number} for number in range(3)])
    connection = await asyncpg.connect(postgres_server.url(name))
    async with connection.transaction():
        job = await other.jobs.enqueue_by_name("sift", {}, JobOptions(tx=connection))
    await connection.close()

    assert await later(job) == [timedelta(minutes=1)]
    await other.close()


async def test_a_worker_that_uses_too_much_memory_finishes_and_leaves(tmp_path: Any) -> None:
    told: list[str] = []
    grown = Backstay(f"sqlite:///{tmp_path}/mill.db", emit=lambda event, **_: told.append(event))

    @grown.job
    async def weigh() -> None: ...

    # Any process is larger than that: it leaves as soon as it looks, and nobody stops it.
    await grown.worker(max_memory="1MB").run()

    assert "worker.outgrown" in told
    assert told.index("worker.outgrown") < told.index("worker.stopped")
    await grown.close()
