"""Everything works through a real PgBouncer in transaction mode, where no session is one's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest
from support import eventually, rows

from backstay import Backoff, Backstay, Context, Snooze, State
from backstay.composition.connect import open_database
from backstay.errors import JobCancelled
from backstay.model.events import silent
from backstay.stores.database.migrate import migrate
from backstay.testing import PrivatePostgres
from pgbouncer import Program, pooler, program

# Far fewer than an application and its worker have connections, so that sessions really go from hand to hand.
SESSIONS = 3


@pytest.fixture(scope="module")
def bouncer() -> Iterator[Program]:
    with program() as found:
        yield found


@pytest.fixture
def pooled_url(bouncer: Program, postgres_url: str) -> Iterator[str]:
    with pooler(bouncer, postgres_url, size=SESSIONS) as url:
        yield url


@pytest.fixture
async def app(pooled_url: str) -> AsyncIterator[Backstay]:
    app = Backstay(pooled_url, emit=silent)
    yield app
    await app.close()


async def test_jobs_of_every_fate_come_to_their_end(app: Backstay, postgres_url: str) -> None:
    runs: list[int] = []

    @app.job(backoff=Backoff.fixed("50ms"), max_attempts=3)
    async def work(ctx: Context, n: int) -> int:
        done = await ctx.step("once", note, n)
        ctx.progress(1, 2, "half")
        if n % 5 == 1 and ctx.attempt == 1:
            raise ConnectionError("not yet")
        if n % 5 == 2 and ctx.run == 1:
            raise Snooze("50ms")
        if n % 5 == 3:
            async with ctx.transaction() as tx:
                await tx.connection.execute("INSERT INTO effects VALUES ($1)", n)
                tx.result(done)
        return done

    async def note(n: int) -> int:
        runs.append(n)
        return n

    await run(postgres_url, "CREATE TABLE effects (n integer PRIMARY KEY)")
    keyed = [await work.options(key=f"order-{n % 10}").enqueue(n=n % 10) for n in range(20)]
    many = await app.jobs.enqueue_many([work.args(n=n) for n in range(10, 200)])
    singly = await asyncio.gather(*(work.enqueue(n=n) for n in range(200, 300)))

    async with app.working(concurrency=20, poll_busy="100ms", poll_idle="200ms") as worker:
        await eventually(lambda: worker.settled >= 300, within=60)
        results = [await job.result(timeout=30) for job in (*keyed[:10], *many, *singly)]

    assert results == list(range(300))
    assert [job.id for job in keyed[:10]] == [job.id for job in keyed[10:]]
    assert sorted(runs) == list(range(300)), "a step that is done is not done again"
    assert await rows(postgres_url, "SELECT n FROM effects ORDER BY n") == [(n,) for n in range(3, 300, 5)]
    assert await rows(postgres_url, "SELECT state, count(*) FROM backstay.jobs GROUP BY state") == [
        ("completed", 300)
    ]


async def test_a_job_joins_a_transaction_of_the_callers(app: Backstay, pooled_url: str) -> None:
    @app.job
    async def work(n: int) -> int:
        return n

    plain = pooled_url.partition("?")[0]
    caller = await asyncpg.connect(plain, statement_cache_size=0)
    transaction = caller.transaction()
    await transaction.start()
    undone = await work.options(tx=caller).enqueue(n=1)
    await transaction.rollback()
    async with caller.transaction():
        done = await work.options(tx=caller).enqueue(n=2)
    await caller.close()

    async with app.working(poll_busy="100ms", poll_idle="200ms"):
        assert await done.result(timeout=20) == 2
    assert [job.id for job in (await app.jobs.search()).jobs] == [done.id]
    assert undone.id != done.id


async def test_a_running_job_is_stopped_and_the_doctor_tells_why_hints_are_missing(app: Backstay) -> None:
    @app.job(lease="1s")
    async def wait() -> None:
        await asyncio.sleep(60)

    job = await wait.enqueue()
    async with app.working(poll_busy="100ms", poll_idle="200ms"):

        async def runs() -> bool:
            return (await job.get()).state is State.RUNNING

        await eventually(runs, within=20)
        await job.cancel(reason="not wanted")
        with pytest.raises(JobCancelled):
            await job.result(timeout=20)
        codes = {finding.code for finding in await app.doctor.check()}

    assert "hints_off" in codes


async def test_tables_are_made_through_the_pooler(bouncer: Program, postgres_server: PrivatePostgres) -> None:
    postgres_server.create_database("behind_a_pooler")
    with pooler(bouncer, postgres_server.url("behind_a_pooler"), size=1) as url:
        database = open_database(url)

        made = await migrate(database)

        assert made
        assert await migrate(database) == []
        await database.close()


async def run(url: str, statement: str) -> None:
    server = await asyncpg.connect(url)
    await server.execute(statement)
    await server.close()
