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

from windlass import (
    AlreadySettled,
    Backoff,
    ClaimLost,
    Context,
    InvalidSettings,
    InvalidStep,
    RetryAfter,
    Snooze,
    State,
    SyncOnLoop,
    TransactionTooLong,
    Windlass,
    WrongDatabase,
)
from windlass.testing import Harness, PrivatePostgres, harness

told: list[str] = []
app = Windlass("sqlite:////nowhere/windlass.db", emit=lambda event, /, **facts: told.append(event))
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
def windlass(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
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


@job
async def own(ctx: Context, n: int, how: str = "return") -> Any:
    ctx.progress(1, 2, "half")
    async with ctx.transaction() as tx:
        await tx.execute(here.insert, n)
        await child.enqueue(n=n)
        tx.result({"n": n})
        match how:
            case "raise":
                raise ValueError("undo it")
            case "snooze":
                raise Snooze(60)
            case "retry":
                raise RetryAfter(60)
    if how == "late":
        raise ValueError("too late to matter")
    return "what the handler returns is not the result"


async def test_writes_children_and_completion_are_committed_together(windlass: Harness) -> None:
    ran = await windlass.try_job(own, n=7)

    assert (ran.job.state, ran.job.result) == (State.COMPLETED, {"n": 7})
    assert here.written() == [7]
    assert [found.args for found in await windlass.enqueued(child)] == [{"n": 7}]
    assert ran.job.finished_at == windlass.now
    assert ran.job.progress is not None
    assert ran.job.progress.message == "half"
    assert (await windlass.drain()).completed == 1


@pytest.mark.parametrize(
    ("how", "state"), [("raise", State.SCHEDULED), ("snooze", State.SCHEDULED), ("retry", State.SCHEDULED)]
)
async def test_any_exception_in_the_block_undoes_everything(
    windlass: Harness, how: str, state: State
) -> None:
    ran = await windlass.try_job(own, n=7, how=how)

    assert ran.job.state is state
    assert here.written() == []
    assert await windlass.enqueued(child) == []


async def test_an_error_after_the_block_is_told_and_changes_nothing(windlass: Harness) -> None:
    ran = await windlass.try_job(own, n=7, how="late")

    assert (ran.job.state, ran.job.result, ran.job.error) == (State.COMPLETED, {"n": 7}, None)
    assert "job.outlived" in told
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
async def test_nothing_can_be_said_about_a_job_that_is_completed(windlass: Harness, what: str) -> None:
    ran = await windlass.try_job(twice, what=what)

    assert isinstance(ran.error, AlreadySettled)
    assert (ran.job.state, here.written()) == (State.COMPLETED, [1])


@pytest.mark.parametrize(("what", "error"), [("step inside", InvalidStep), ("nested", InvalidSettings)])
async def test_the_block_holds_neither_steps_nor_another_block(
    windlass: Harness, what: str, error: type[Exception]
) -> None:
    ran = await windlass.try_job(twice, what=what)

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


async def test_a_block_that_was_undone_can_be_followed_by_another(windlass: Harness) -> None:
    ran = await windlass.try_job(caught)

    assert (ran.job.state, here.written()) == (State.COMPLETED, [2])


@job
async def overtaken(ctx: Context, n: int) -> None:
    async with ctx.transaction() as tx:
        await tx.execute(here.insert, n)
        if not here.is_sqlite:
            rival = await asyncpg.connect(here.url)
            await rival.execute("UPDATE windlass.jobs SET lease_epoch = lease_epoch + 2")
            await rival.close()
        else:
            await tx.execute("UPDATE windlass_jobs SET lease_epoch = lease_epoch + 2")


async def test_a_worker_that_lost_the_job_writes_nothing(windlass: Harness) -> None:
    ran = await windlass.try_job(overtaken, n=1)

    assert isinstance(ran.error, ClaimLost)
    assert here.written() == []


@job
async def through_session(ctx: Context, n: int, fail: bool = False) -> Any:
    engine = here.async_engine()
    try:
        async with AsyncSession(engine) as session, ctx.transaction(session) as tx:
            await session.execute(text("INSERT INTO ledger (n) VALUES (:n)"), {"n": n})
            await child.enqueue(n=n)
            tx.result(n)
            if fail:
                raise ValueError("undo it")
    finally:
        await engine.dispose()


@job
async def through_async_connection(ctx: Context, n: int, fail: bool = False) -> Any:
    engine = here.async_engine()
    try:
        async with engine.connect() as connection, ctx.transaction(connection) as tx:
            await connection.execute(text("INSERT INTO ledger (n) VALUES (:n)"), {"n": n})
            await child.enqueue(n=n)
            tx.result(n)
            if fail:
                raise ValueError("undo it")
    finally:
        await engine.dispose()


@job
def through_blocking_session(ctx: Context, n: int, fail: bool = False) -> Any:
    engine = here.engine()
    with Session(engine) as session, ctx.transaction(session) as tx:
        session.execute(text("INSERT INTO ledger (n) VALUES (:n)"), {"n": n})
        child.enqueue_sync(n=n)
        tx.result(n)
        if fail:
            raise ValueError("undo it")


@job
def through_blocking_connection(ctx: Context, n: int, fail: bool = False) -> Any:
    engine = here.engine()
    with engine.connect() as connection, ctx.transaction(connection) as tx:
        connection.execute(text("INSERT INTO ledger (n) VALUES (:n)"), {"n": n})
        child.enqueue_sync(n=n)
        tx.result(n)
        if fail:
            raise ValueError("undo it")


@job
def own_in_thread(ctx: Context, n: int, fail: bool = False) -> Any:
    with ctx.transaction() as tx:
        tx.execute(here.insert.replace("$1", "%s"), n)
        child.enqueue_sync(n=n)
        tx.result(n)
        if fail:
            raise ValueError("undo it")


@job
async def through_driver(ctx: Context, n: int, fail: bool = False) -> Any:
    """The database's own driver, where it is asynchronous."""
    if here.is_sqlite:
        return await own.__wrapped__(ctx, n, "raise" if fail else "return")
    connection = await asyncpg.connect(here.url)
    try:
        async with ctx.transaction(connection) as tx:
            await connection.execute(here.insert, n)
            await child.enqueue(n=n)
            tx.result(n)
            if fail:
                raise ValueError("undo it")
    finally:
        await connection.close()


@job
def through_blocking_driver(ctx: Context, n: int, fail: bool = False) -> Any:
    connect: Any = sqlite3.connect if here.is_sqlite else psycopg.connect
    with closing(connect(here.path)) as connection, ctx.transaction(connection) as tx:
        connection.execute(here.insert.replace("$1", "%s"), (n,))
        child.enqueue_sync(n=n)
        tx.result(n)
        if fail:
            raise ValueError("undo it")


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
async def test_every_library_completes_the_job_with_its_commit(windlass: Harness, handler: Any) -> None:
    ran = await windlass.try_job(handler, n=3)

    assert (ran.error, ran.job.state, here.written()) == (None, State.COMPLETED, [3])
    assert [found.args for found in await windlass.enqueued(child)] == [{"n": 3}]
    assert "claim.lost" not in told


@pytest.mark.parametrize("handler", WAYS, ids=lambda handler: handler.kind)
async def test_every_library_undoes_the_block_that_raised(windlass: Harness, handler: Any) -> None:
    ran = await windlass.try_job(handler, n=3, fail=True)

    assert (type(ran.error), ran.job.state, here.written()) == (ValueError, State.SCHEDULED, [])
    assert await windlass.enqueued(child) == []


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
    windlass: Harness, how: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await windlass.run_job(misuse, how=how)


@app.job(transaction_limit="200ms", max_attempts=1)
async def slow(ctx: Context, n: int) -> None:
    async with ctx.transaction() as tx:
        await tx.execute(here.insert, n)
        await asyncio.sleep(0.6)
        await child.options(tx=False).enqueue(n=n)
        await tx.execute(here.insert, n)


async def test_sqlites_writer_is_free_again_when_the_block_takes_too_long(windlass: Harness) -> None:
    ran = await windlass.try_job(slow, n=1)

    if here.is_sqlite:
        assert isinstance(ran.error, TransactionTooLong)
        assert here.written() == []
    else:
        assert here.written() == [1, 1]
    assert len(await windlass.enqueued(child)) == 1


@app.job(timeout="300ms", max_attempts=1)
async def cancelled(ctx: Context) -> None:
    async with ctx.transaction() as tx:
        await tx.execute(here.insert, 1)
        await asyncio.Event().wait()


async def test_a_time_limit_inside_the_block_undoes_it(windlass: Harness) -> None:
    ran = await windlass.try_job(cancelled)

    assert (ran.job.state, here.written()) == (State.DEAD, [])
    assert (await windlass.try_job(own, n=2)).job.state is State.COMPLETED


async def test_a_task_that_outlives_the_block_does_not_enqueue_through_it(windlass: Harness) -> None:
    started.clear()
    ran = await windlass.try_job(starts_a_task)
    await asyncio.gather(*started)

    assert ran.job.state is State.COMPLETED
    assert len(await windlass.enqueued(child)) == 1


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
