"""Transactions in which handlers complete their jobs, with every library and on both databases."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from backstay import Backoff, Backstay, Context, Hopeless, Retry, Snooze, State
from backstay.errors import (
    AlreadySettled,
    ClaimLost,
    InvalidSettings,
    InvalidStep,
    SyncOnLoop,
    TransactionTooLong,
    WrongDatabase,
)
from backstay.stores.handler_transaction.blocks import OwnSession
from backstay.stores.handler_transaction.sqlite_block import WriterSession
from backstay.testing import Harness, PrivatePostgres, harness

told: list[str] = []
app = Backstay("sqlite:////nowhere/backstay.db", emit=lambda event, /, **facts: told.append(event))
job = app.job(max_attempts=2, backoff=Backoff.fixed("1s"))
INSERT = {"postgresql": "INSERT INTO ledger (n) VALUES ($1)", "sqlite": "INSERT INTO ledger (n) VALUES (?)"}


class Here:
    """The database of the test, and what can be opened on it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_sqlite = url.startswith("sqlite")
        self.path = url.removeprefix("sqlite:///")
        self.insert = INSERT["sqlite" if self.is_sqlite else "postgresql"]

    def engine(self) -> Engine:
        url = self.url if self.is_sqlite else self.url.replace("postgresql", "postgresql+psycopg")
        return create_engine(url, poolclass=NullPool)

    def async_engine(self) -> AsyncEngine:
        driver = "sqlite+aiosqlite" if self.is_sqlite else "postgresql+asyncpg"
        return create_async_engine(self.url.replace("sqlite" if self.is_sqlite else "postgresql", driver, 1))

    def written(self) -> list[int]:
        engine = self.engine()
        with engine.connect() as connection:
            found = [row[0] for row in connection.execute(text("SELECT n FROM ledger ORDER BY n"))]
        engine.dispose()
        return found


here: Here


@pytest.fixture(params=["sqlite", "postgresql"])
def backstay(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    global here
    url = (
        f"sqlite:///{tmp_path}/jobs.db"
        if request.param == "sqlite"
        else request.getfixturevalue("ledger_url")
    )
    here = Here(url)
    told.clear()
    engine = here.engine()
    with harness(app, url) as opened:
        with engine.begin() as connection:
            connection.execute(text("DROP TABLE IF EXISTS ledger"))
            connection.execute(text("CREATE TABLE ledger (n integer)"))
        yield opened
    engine.dispose()


@pytest.fixture(scope="module")
def ledger_url(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("ledger")
    yield postgres_server.url("ledger")
    postgres_server.drop_database("ledger")


@app.job
async def child(n: int) -> int:
    return n


def end(tx: Any, result: object, how: str) -> None:
    """Say how the job is to end."""
    match how:
        case "raise":
            raise ValueError("undo it")
        case "fail":
            tx.fail(ValueError("no such account"))
        case "hopeless":
            tx.fail(Hopeless("no such account"))
        case "retry":
            tx.retry("1h")
        case "snooze":
            tx.snooze("1h")
        case _:
            tx.result(result)


@job
async def own(ctx: Context, n: int, how: str = "return") -> Any:
    ctx.progress(1, 2, "half")
    async with ctx.transaction() as tx:
        await tx.execute(here.insert, n)
        await child.enqueue(n=n)
        match how:
            case "raise snooze":
                raise Snooze(60)
            case "raise retry":
                raise Retry(after=60)
            case _:
                end(tx, {"n": n}, how)
    if how == "late":
        raise ValueError("too late to matter")
    return "what the handler returns is not the result"


async def test_writes_children_and_completion_are_committed_together(backstay: Harness) -> None:
    ran = await backstay.try_job(own, n=7)

    assert (ran.job.state, ran.job.result) == (State.COMPLETED, {"n": 7})
    assert here.written() == [7]
    assert [found.args for found in await backstay.enqueued(child)] == [{"n": 7}]
    assert ran.job.finished_at == backstay.now
    assert ran.job.progress is not None
    assert ran.job.progress.message == "half"
    assert (await backstay.drain()).completed == 1


@pytest.mark.parametrize(
    ("how", "state"),
    [("raise", State.SCHEDULED), ("raise snooze", State.SCHEDULED), ("raise retry", State.SCHEDULED)],
)
async def test_any_exception_in_the_block_undoes_everything(
    backstay: Harness, how: str, state: State
) -> None:
    ran = await backstay.try_job(own, n=7, how=how)

    assert ran.job.state is state
    assert here.written() == []
    assert await backstay.enqueued(child) == []


async def test_an_error_after_the_block_is_told_and_changes_nothing(backstay: Harness) -> None:
    ran = await backstay.try_job(own, n=7, how="late")

    assert (ran.job.state, ran.job.result, ran.job.error) == (State.COMPLETED, {"n": 7}, None)
    assert "job.error_after_commit" in told
    assert "job.settled" not in told


@app.job
async def twice(ctx: Context, what: str) -> None:
    async with ctx.transaction() as tx:
        await tx.execute(here.insert, 1)
        if what == "step inside":
            await ctx.step("one", asyncio.sleep, 0)
        if what == "nested":
            async with ctx.transaction():
                pass
    match what:
        case "progress":
            ctx.progress(1, 2)
        case "step":
            await ctx.step("one", asyncio.sleep, 0)
        case "transaction":
            async with ctx.transaction():
                pass


@pytest.mark.parametrize("what", ["progress", "step", "transaction"])
async def test_nothing_can_be_said_about_a_job_that_is_completed(backstay: Harness, what: str) -> None:
    ran = await backstay.try_job(twice, what=what)

    assert isinstance(ran.error, AlreadySettled)
    assert (ran.job.state, here.written()) == (State.COMPLETED, [1])


@pytest.mark.parametrize(("what", "error"), [("step inside", InvalidStep), ("nested", InvalidSettings)])
async def test_the_block_holds_neither_steps_nor_another_block(
    backstay: Harness, what: str, error: type[Exception]
) -> None:
    ran = await backstay.try_job(twice, what=what)

    assert isinstance(ran.error, error)
    assert here.written() == []


@app.job
async def caught(ctx: Context) -> None:
    try:
        async with ctx.transaction() as tx:
            await tx.execute(here.insert, 1)
            raise ValueError("undo it")
    except ValueError:
        async with ctx.transaction() as tx:
            await tx.execute(here.insert, 2)


async def test_a_block_that_was_undone_can_be_followed_by_another(backstay: Harness) -> None:
    ran = await backstay.try_job(caught)

    assert (ran.job.state, here.written()) == (State.COMPLETED, [2])


@job
async def overtaken(ctx: Context, n: int) -> None:
    async with ctx.transaction() as tx:
        await tx.execute(here.insert, n)
        if not here.is_sqlite:
            rival = await asyncpg.connect(here.url)
            await rival.execute("UPDATE backstay.jobs SET lease_epoch = lease_epoch + 2")
            await rival.close()
        else:
            await tx.execute("UPDATE backstay_jobs SET lease_epoch = lease_epoch + 2")


async def test_a_worker_that_lost_the_job_writes_nothing(backstay: Harness) -> None:
    ran = await backstay.try_job(overtaken, n=1)

    assert isinstance(ran.error, ClaimLost)
    assert here.written() == []


@job
async def through_session(ctx: Context, n: int, how: str = "return") -> Any:
    engine = here.async_engine()
    try:
        async with AsyncSession(engine) as session, ctx.transaction(session) as tx:
            await session.execute(text("INSERT INTO ledger (n) VALUES (:n)"), {"n": n})
            await child.enqueue(n=n)
            end(tx, n, how)
    finally:
        await engine.dispose()


@job
async def through_async_connection(ctx: Context, n: int, how: str = "return") -> Any:
    engine = here.async_engine()
    try:
        async with engine.connect() as connection, ctx.transaction(connection) as tx:
            await connection.execute(text("INSERT INTO ledger (n) VALUES (:n)"), {"n": n})
            await child.enqueue(n=n)
            end(tx, n, how)
    finally:
        await engine.dispose()


@job
def through_blocking_session(ctx: Context, n: int, how: str = "return") -> Any:
    engine = here.engine()
    with Session(engine) as session, ctx.transaction(session) as tx:
        session.execute(text("INSERT INTO ledger (n) VALUES (:n)"), {"n": n})
        child.enqueue_sync(n=n)
        end(tx, n, how)


@job
def through_blocking_connection(ctx: Context, n: int, how: str = "return") -> Any:
    engine = here.engine()
    with engine.connect() as connection, ctx.transaction(connection) as tx:
        connection.execute(text("INSERT INTO ledger (n) VALUES (:n)"), {"n": n})
        child.enqueue_sync(n=n)
        end(tx, n, how)


@job
def own_in_thread(ctx: Context, n: int, how: str = "return") -> Any:
    with ctx.transaction() as tx:
        tx.execute(here.insert.replace("$1", "%s"), n)
        child.enqueue_sync(n=n)
        end(tx, n, how)


@job
async def through_driver(ctx: Context, n: int, how: str = "return") -> Any:
    """The database's own driver, where it is asynchronous."""
    if here.is_sqlite:
        return await own.__wrapped__(ctx, n, how)
    connection = await asyncpg.connect(here.url)
    try:
        async with ctx.transaction(connection) as tx:
            await connection.execute(here.insert, n)
            await child.enqueue(n=n)
            end(tx, n, how)
    finally:
        await connection.close()


@job
def through_blocking_driver(ctx: Context, n: int, how: str = "return") -> Any:
    connect: Any = sqlite3.connect if here.is_sqlite else psycopg.connect
    with closing(connect(here.path)) as connection, ctx.transaction(connection) as tx:
        connection.execute(here.insert.replace("$1", "%s"), (n,))
        child.enqueue_sync(n=n)
        end(tx, n, how)


WAYS = [
    through_session,
    through_async_connection,
    through_blocking_session,
    through_blocking_connection,
    own_in_thread,
    through_driver,
    through_blocking_driver,
]


@pytest.mark.parametrize("handler", WAYS, ids=lambda handler: handler.kind)
async def test_every_library_completes_the_job_with_its_commit(backstay: Harness, handler: Any) -> None:
    ran = await backstay.try_job(handler, n=3)

    assert (ran.error, ran.job.state, here.written()) == (None, State.COMPLETED, [3])
    assert [found.args for found in await backstay.enqueued(child)] == [{"n": 3}]
    assert "claim.lost" not in told


@pytest.mark.parametrize("handler", WAYS, ids=lambda handler: handler.kind)
async def test_every_library_undoes_the_block_that_raised(backstay: Harness, handler: Any) -> None:
    ran = await backstay.try_job(handler, n=3, how="raise")

    assert (type(ran.error), ran.job.state, here.written()) == (ValueError, State.SCHEDULED, [])
    assert await backstay.enqueued(child) == []


ENDINGS = {
    # how: state, reason, attempt, seconds until it runs again, status of the attempt
    "fail": (State.SCHEDULED, None, 1, 1, "failed"),
    "hopeless": (State.DEAD, "hopeless", 1, 0, "failed"),
    "retry": (State.SCHEDULED, None, 1, 3600, "failed"),
    "snooze": (State.SCHEDULED, None, 0, 3600, "snoozed"),
}


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("handler", [own, *WAYS], ids=lambda handler: handler.kind)
async def test_a_transaction_can_end_the_job_in_another_way(
    backstay: Harness, handler: Any, how: str
) -> None:
    ran = await backstay.try_job(handler, n=3, how=how)

    state, reason, attempt, seconds, status = ENDINGS[how]
    job, [ended] = ran.job, await app.jobs.attempts(ran.job.id)
    assert (ran.error, here.written()) == (None, [3])
    assert [found.args for found in await backstay.enqueued(child)] == [{"n": 3}]
    assert (job.state, job.reason, job.attempt, job.result) == (state, reason, attempt, None)
    assert (job.run_at - backstay.now).total_seconds() == seconds
    assert (ended.status, ended.finished_at) == (status, backstay.now)
    assert len(await app.dead_letters.of_job(job.id)) == (state is State.DEAD)
    assert "claim.lost" not in told


async def test_the_last_attempt_that_a_transaction_fails_is_the_jobs_death(backstay: Harness) -> None:
    first = await backstay.try_job(own, n=3, how="fail")
    await backstay.travel("1s")
    await backstay.drain()

    job = await app.jobs.get(first.job.id)
    assert (job.state, job.reason, here.written()) == (State.DEAD, "exhausted", [3, 3])


@job
async def undecided(ctx: Context, first: str, second: str) -> None:
    async with ctx.transaction() as tx:
        await tx.execute(here.insert, 1)
        end(tx, 1, first)
        end(tx, 1, second)


@pytest.mark.parametrize(("first", "second"), [("fail", "snooze"), ("retry", "retry"), ("snooze", "return")])
async def test_a_second_verdict_is_refused_and_undoes_the_block(
    backstay: Harness, first: str, second: str
) -> None:
    ran = await backstay.try_job(undecided, first=first, second=second)

    assert isinstance(ran.error, AlreadySettled)
    assert (ran.job.state, here.written()) == (State.SCHEDULED, [])


async def test_an_exception_after_the_verdict_undoes_the_block(backstay: Harness) -> None:
    ran = await backstay.try_job(undecided, first="snooze", second="raise")

    assert (type(ran.error), ran.job.attempt, here.written()) == (ValueError, 1, [])


@job
async def lost_and_failed(ctx: Context) -> None:
    async with ctx.transaction() as tx:
        await tx.execute(here.insert, 1)
        tx.fail(ValueError("nobody wants to know"))
        await (
            tx.execute(STOLEN) if here.is_sqlite else elsewhere("UPDATE backstay.jobs SET lease_epoch = 3")
        )


STOLEN = "UPDATE backstay_jobs SET lease_epoch = lease_epoch + 2"


async def elsewhere(sql: str) -> None:
    rival = await asyncpg.connect(here.url)
    await rival.execute(sql)
    await rival.close()


async def test_a_worker_that_lost_the_job_fails_nothing(backstay: Harness) -> None:
    ran = await backstay.try_job(lost_and_failed)

    assert isinstance(ran.error, ClaimLost)
    assert here.written() == []


async def test_an_ending_that_breaks_off_at_any_statement_leaves_nothing(
    backstay: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = WriterSession if here.is_sqlite else OwnSession
    whole, broken = session.fetch, 0

    async def fetch(self: Any, name: str, values: Any) -> Any:
        nonlocal statement
        if name != "progress/write" and not name.startswith("joining") and (statement := statement - 1) < 0:
            raise OSError(f"broke off at {name}")
        return await whole(self, name, values)

    monkeypatch.setattr(session, "fetch", fetch)
    while True:
        statement = broken
        ran = await backstay.try_job(own, n=broken, how="hopeless")
        if ran.error is None:
            break
        assert (ran.job.state, here.written()) == (State.SCHEDULED, [])
        assert await app.dead_letters.of_job(ran.job.id) == []
        broken += 1

    assert broken >= 5
    assert (ran.job.state, here.written()) == (State.DEAD, [broken])


@job
async def cancelled_meanwhile(ctx: Context) -> None:
    async with ctx.transaction() as tx:
        tx.retry("1h")
        if here.is_sqlite:
            await tx.execute("UPDATE backstay_jobs SET cancel_requested_at = 1, cancel_reason = 'no more'")
        else:
            await elsewhere("UPDATE backstay.jobs SET cancel_requested_at = now(), cancel_reason = 'no more'")


async def test_a_job_that_was_asked_to_cancel_is_not_run_again(backstay: Harness) -> None:
    ran = await backstay.try_job(cancelled_meanwhile)

    assert (ran.job.state, ran.job.reason) == (State.CANCELLED, "no more")


@app.job
async def misuse(ctx: Context, how: str) -> None:
    match how:
        case "blocking on the loop":
            with ctx.transaction():
                pass
        case "blocking session":
            with closing(sqlite3.connect(":memory:")) as connection:
                async with ctx.transaction(connection):
                    pass
        case "no session":
            async with ctx.transaction("a text"):
                pass
        case "other database":
            engine = create_async_engine("sqlite+aiosqlite://")
            try:
                async with engine.connect() as connection, ctx.transaction(connection):
                    pass
            finally:
                await engine.dispose()


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("blocking on the loop", SyncOnLoop),
        ("blocking session", InvalidSettings),
        ("no session", InvalidSettings),
        ("other database", WrongDatabase),
    ],
)
async def test_what_cannot_complete_the_job_is_refused(
    backstay: Harness, how: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await backstay.run_job(misuse, how=how)


@app.job(transaction_limit="200ms", max_attempts=1)
async def slow(ctx: Context, n: int) -> None:
    async with ctx.transaction() as tx:
        await tx.execute(here.insert, n)
        await asyncio.sleep(0.6)
        await child.options(tx=False).enqueue(n=n)
        await tx.execute(here.insert, n)


async def test_sqlites_writer_is_free_again_when_the_block_takes_too_long(backstay: Harness) -> None:
    ran = await backstay.try_job(slow, n=1)

    if here.is_sqlite:
        assert isinstance(ran.error, TransactionTooLong)
        assert here.written() == []
    else:
        assert here.written() == [1, 1]
    assert len(await backstay.enqueued(child)) == 1


@app.job(timeout="300ms", max_attempts=1)
async def cancelled(ctx: Context) -> None:
    async with ctx.transaction() as tx:
        await tx.execute(here.insert, 1)
        await asyncio.Event().wait()


async def test_a_time_limit_inside_the_block_undoes_it(backstay: Harness) -> None:
    ran = await backstay.try_job(cancelled)

    assert (ran.job.state, here.written()) == (State.DEAD, [])
    assert (await backstay.try_job(own, n=2)).job.state is State.COMPLETED


async def test_a_task_that_outlives_the_block_does_not_enqueue_through_it(backstay: Harness) -> None:
    started.clear()
    ran = await backstay.try_job(starts_a_task)
    await asyncio.gather(*started)

    assert ran.job.state is State.COMPLETED
    assert len(await backstay.enqueued(child)) == 1


started: list[asyncio.Task[Any]] = []


@app.job
async def starts_a_task(ctx: Context) -> None:
    over = asyncio.Event()

    async def later() -> None:
        await over.wait()
        await child.enqueue(n=1)

    async with ctx.transaction():
        started.append(asyncio.create_task(later()))
    over.set()
