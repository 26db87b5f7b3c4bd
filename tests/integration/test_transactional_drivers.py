"""Jobs join the caller's transaction with every driver people use: there after its commit, gone with its rollback."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from drivers import ON_POSTGRES, ON_SQLITE, Driver, async_sqlalchemy, sqlalchemy
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from backstay import Backstay
from backstay.errors import IdempotencyMismatch, InvalidSettings, SchemaMismatch, SyncOnLoop, WrongDatabase
from backstay.model.job import Job
from backstay.testing import PrivatePostgres

Put = Callable[..., Coroutine[Any, Any, Any]]


class Change(Exception):
    """Somebody changed their mind."""


class Notes:
    """An application that notes numbers, and a way to enqueue with either kind of driver."""

    def __init__(self, url: str, driver: Driver) -> None:
        self.url, self.driver = url, driver
        self.app = Backstay(url)
        self.noted: asyncio.Queue[int] = asyncio.Queue()
        self.handler = self.app.job(kind="note")(self._note)

    async def _note(self, number: int) -> None:
        self.noted.put_nowait(number)

    async def put(self, tx: Any, number: int, **options: Any) -> Any:
        """Enqueue the way the driver asks for; with a blocking one this never waits."""
        bound = self.handler.options(tx=tx, **options)
        return bound.enqueue_sync(number) if self.driver.is_sync else await bound.enqueue(number)

    async def put_many(self, tx: Any, numbers: range, **options: Any) -> Any:
        calls = [self.handler.options(**options).args(number) for number in numbers]
        if self.driver.is_sync:
            return self.app.sync.jobs.enqueue_many(calls, tx=tx)
        return await self.app.jobs.enqueue_many(calls, tx=tx)

    async def stored(self) -> list[Job]:
        found = (await self.app.jobs.search(limit=200)).jobs
        return sorted((job for job in found if job.kind == "note"), key=lambda job: job.args["number"])

    async def numbers(self) -> list[int]:
        return [job.args["number"] for job in await self.stored()]


@pytest.fixture(scope="module")
def postgres_url(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("drivers")
    postgres_server.create_database("drivers_elsewhere")
    url = postgres_server.url("drivers")
    asyncio.run(migrated(url))
    yield url
    postgres_server.drop_database("drivers")
    postgres_server.drop_database("drivers_elsewhere")


async def migrated(url: str) -> None:
    app = Backstay(url)
    await app._connections.migrate()
    await app.close()


@pytest.fixture
def places(request: pytest.FixtureRequest, driver: Driver, tmp_path: Path) -> tuple[str, str]:
    """The URL of the store, and that of another database of the same kind."""
    if driver in ON_POSTGRES:
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        return request.getfixturevalue("postgres_url"), server.url("drivers_elsewhere")
    return f"sqlite:///{tmp_path}/jobs.db", f"sqlite:///{tmp_path}/other.db"


EVERY = [*ON_POSTGRES, *ON_SQLITE]
BLOCKING = [driver for driver in EVERY if driver.is_sync]
AWAITED = [driver for driver in EVERY if not driver.is_sync]


def name(driver: Driver) -> str:
    return driver.name


@pytest.fixture(params=EVERY, ids=name)
def driver(request: pytest.FixtureRequest) -> Driver:
    found: Driver = request.param
    return found


@pytest.fixture
async def notes(driver: Driver, places: tuple[str, str]) -> AsyncIterator[Notes]:
    url, _ = places
    await migrated(url)
    notes = Notes(url, driver)
    yield notes
    await asyncio.to_thread(notes.app.close_sync)
    await notes.app.close()
    if driver in ON_POSTGRES:
        with psycopg.connect(url) as connection:
            connection.execute(
                "TRUNCATE backstay.jobs, backstay.idempotency_keys, backstay.unique_windows CASCADE"
            )


async def test_a_commit_leaves_the_job(notes: Notes) -> None:
    async def body(tx: Any) -> Any:
        return await notes.put(tx, 1)

    handle = await notes.driver.transact(notes.url, body)

    assert [job.id for job in await notes.stored()] == [handle.id]
    assert handle.is_new


async def test_a_rollback_leaves_nothing(notes: Notes) -> None:
    async def body(tx: Any) -> None:
        await notes.put(tx, 1, key="once")
        raise Change

    with pytest.raises(Change):
        await notes.driver.transact(notes.url, body)

    assert await notes.numbers() == []


async def test_a_commit_wakes_a_worker_that_would_not_look_for_a_minute(notes: Notes) -> None:
    async def body(tx: Any) -> None:
        await notes.put(tx, 7)

    async with notes.app.working(poll_idle="60s"):
        await notes.driver.transact(notes.url, body)
        noted = await asyncio.wait_for(notes.noted.get(), timeout=20)

    assert noted == 7


async def test_another_database_is_refused_by_name(notes: Notes, places: tuple[str, str]) -> None:
    _, elsewhere = places

    async def body(tx: Any) -> None:
        for _ in range(2):
            with pytest.raises(WrongDatabase, match=r"(elsewhere|other\.db).*stored in .*(drivers|jobs\.db)"):
                await notes.put(tx, 1)

    await notes.driver.transact(elsewhere, body)

    assert await notes.numbers() == []


async def test_autocommit_is_refused(notes: Notes) -> None:
    async def body(tx: Any) -> None:
        with pytest.raises(InvalidSettings, match="committed at once"):
            await notes.put(tx, 1)

    await notes.driver.without_transaction(notes.url, body)

    assert await notes.numbers() == []


async def test_a_savepoint_rolled_back_takes_only_its_own_job(notes: Notes) -> None:
    async def body(tx: Any) -> None:
        await notes.put(tx, 1)
        with suppress(Change):
            async with notes.driver.savepoint(tx):
                await notes.put(tx, 2)
                raise Change
        async with notes.driver.savepoint(tx):
            await notes.put(tx, 3)

    await notes.driver.transact(notes.url, body)

    assert await notes.numbers() == [1, 3]


async def test_many_jobs_join_together(notes: Notes) -> None:
    async def body(tx: Any) -> Any:
        return await notes.put_many(tx, range(5))

    async def changed(tx: Any) -> None:
        await notes.put_many(tx, range(5, 9))
        raise Change

    handles = await notes.driver.transact(notes.url, body)
    with pytest.raises(Change):
        await notes.driver.transact(notes.url, changed)

    assert [job.id for job in await notes.stored()] == [handle.id for handle in handles]


async def test_a_key_finds_the_first_job(notes: Notes) -> None:
    async def body(tx: Any) -> Any:
        return [await notes.put(tx, 1, key="once"), await notes.put(tx, 1, key="once")]

    first, again = await notes.driver.transact(notes.url, body)

    assert (first.is_new, again.is_new) == (True, False)
    assert first.id == again.id


async def test_a_key_of_another_job_is_a_mismatch_and_a_savepoint_saves_the_rest(notes: Notes) -> None:
    async def body(tx: Any) -> None:
        await notes.put(tx, 1, key="once")
        with pytest.raises(IdempotencyMismatch) as raised:
            async with notes.driver.savepoint(tx):
                await notes.put(tx, 2, key="once")
        assert raised.value.key == "once"

    await notes.driver.transact(notes.url, body)

    assert await notes.numbers() == [1]


async def test_a_unique_key_finds_the_active_job(notes: Notes) -> None:
    async def body(tx: Any) -> Any:
        return await notes.put_many(tx, range(2), unique="one")

    first, second = await notes.driver.transact(notes.url, body)

    assert (first.id, second.is_new) == (second.id, False)


async def test_a_job_for_another_queue_is_found_by_its_workers(notes: Notes) -> None:
    async def body(tx: Any) -> None:
        await notes.put(tx, 4, queue="aside")

    await notes.driver.transact(notes.url, body)
    async with notes.app.working(poll_idle="60s"):
        assert await asyncio.wait_for(notes.noted.get(), timeout=5) == 4


@pytest.mark.parametrize("driver", [ON_SQLITE[1], ON_SQLITE[3]], ids=["blocking", "awaited"])
async def test_sqlalchemys_ordinary_settings_for_sqlite_will_do(notes: Notes, driver: Driver) -> None:
    async def body(tx: Any) -> None:
        await notes.put(tx, 1)

    async def changed(tx: Any) -> None:
        await notes.put(tx, 2)
        raise Change

    for session in (True, False):
        if driver.is_sync:
            begin = sqlalchemy("pysqlite", session=session, savepoints=False)
        else:
            begin = async_sqlalchemy("aiosqlite", session=session, savepoints=False)
        ordinary = replace(driver, begin=begin)
        await ordinary.transact(notes.url, body)
        with pytest.raises(Change):
            await ordinary.transact(notes.url, changed)

    assert await notes.numbers() == [1, 1]


@pytest.mark.parametrize("driver", BLOCKING, ids=name)
async def test_a_coroutine_cannot_use_a_blocking_transaction(notes: Notes) -> None:
    async with notes.driver.begin(notes.url) as tx:
        with pytest.raises(InvalidSettings, match=r"blocks, .*enqueue_sync"):
            await notes.handler.options(tx=tx).enqueue(1)
        with pytest.raises(SyncOnLoop):
            notes.handler.options(tx=tx).enqueue_sync(1)

    assert await notes.numbers() == []


@pytest.mark.parametrize("driver", AWAITED, ids=name)
async def test_a_blocking_call_cannot_use_an_asynchronous_transaction(notes: Notes) -> None:
    async with notes.driver.begin(notes.url) as tx:
        with pytest.raises(InvalidSettings, match=r"must be awaited, .*await handler\.enqueue"):
            await asyncio.to_thread(notes.handler.options(tx=tx).enqueue_sync, 1)

    assert await notes.numbers() == []


def test_a_blocking_transaction_needs_no_event_loop_of_the_callers(postgres_url: str) -> None:
    app = Backstay(postgres_url)
    handler = app.job(kind="plain")(lambda: None)

    with psycopg.connect(postgres_url) as connection:
        job = handler.options(tx=connection).enqueue_sync()
        with pytest.raises(Exception, match="no job"):
            job.get_sync()

    assert job.get_sync().kind == "plain"
    app.close_sync()


def test_the_statement_runs_in_the_callers_thread(tmp_path: Path) -> None:
    app = Backstay(f"sqlite:///{tmp_path}/jobs.db")
    handler = app.job(kind="plain")(lambda: None)
    app.sync.jobs.counts()
    connection = sqlite3.connect(tmp_path / "jobs.db", check_same_thread=True)

    with connection:
        connection.execute("CREATE TABLE orders (id integer PRIMARY KEY)")
        connection.execute("INSERT INTO orders DEFAULT VALUES")
        job = handler.options(tx=connection).enqueue_sync()
    connection.close()

    assert job.get_sync().kind == "plain"
    app.close_sync()


def test_a_file_without_our_tables_says_so(tmp_path: Path) -> None:
    app = Backstay(f"sqlite:///{tmp_path}/jobs.db")
    handler = app.job(kind="plain")(lambda: None)
    connection = sqlite3.connect(tmp_path / "jobs.db")

    with connection:
        connection.execute("CREATE TABLE orders (id integer PRIMARY KEY)")
        with pytest.raises(SchemaMismatch, match="backstay db migrate"):
            handler.options(tx=connection).enqueue_sync()
    connection.close()
    app.close_sync()


def test_a_refused_batch_leaves_the_callers_transaction_on_sqlite_as_it_was(tmp_path: Path) -> None:
    app = Backstay(f"sqlite:///{tmp_path}/jobs.db")
    handler = app.job(kind="numbered")(lambda number: None)
    app.sync.jobs.counts()
    connection = sqlite3.connect(tmp_path / "jobs.db")

    with connection:
        handler.options(tx=connection, key="k").enqueue_sync(1)
        with pytest.raises(IdempotencyMismatch):
            app.sync.jobs.enqueue_many([handler.args(2), handler.options(key="k").args(3)], tx=connection)
    connection.close()

    assert [job.args["number"] for job in app.sync.jobs.search().jobs] == [1]
    app.close_sync()


async def test_a_session_announces_after_its_commit_and_not_inside(postgres_url: str) -> None:
    app = Backstay(postgres_url)
    handler = app.job(kind="heard", queue="hearing")(lambda: None)
    listener = await psycopg.AsyncConnection.connect(postgres_url, autocommit=True)
    await listener.execute("LISTEN backstay")

    def store() -> int:
        engine = create_engine(postgres_url.replace("://", "+psycopg://"))
        with Session(engine) as session, session.begin():
            handler.options(tx=session).enqueue_sync()
            with session.begin_nested():
                handler.options(tx=session).enqueue_sync()
            assert session.scalar(text("SELECT current_setting('backstay.notify', TRUE)")) == ""
            own: int = session.scalar(text("SELECT pg_backend_pid()"))
        engine.dispose()
        return own

    own = await asyncio.to_thread(store)
    heard = [told async for told in listener.notifies(timeout=20, stop_after=1)]
    heard += [told async for told in listener.notifies(timeout=1)]
    await listener.close()
    await asyncio.to_thread(app.close_sync)

    assert {told.payload for told in heard} == {"queue:hearing"}
    assert own not in {told.pid for told in heard}


def test_a_joined_connection_makes_no_checkpoints_where_they_are_unsound(tmp_path: Path) -> None:
    app = Backstay(f"sqlite:///{tmp_path}/jobs.db")
    handler = app.job(kind="plain")(lambda: None)
    app.sync.jobs.counts()
    connection = sqlite3.connect(tmp_path / "jobs.db")

    with connection:
        handler.options(tx=connection).enqueue_sync()
    [pages] = connection.execute("PRAGMA wal_autocheckpoint").fetchone()
    connection.close()
    app.close_sync()

    assert (pages == 0) == (sqlite3.sqlite_version_info < (3, 51, 3))


async def test_a_session_on_somebody_elses_connection_announces_by_the_commit(postgres_url: str) -> None:
    app = Backstay(postgres_url)
    ran = asyncio.Event()

    @app.job(kind="outer")
    async def handler() -> None:
        ran.set()

    def store() -> None:
        engine = create_engine(postgres_url.replace("://", "+psycopg://"))
        with engine.connect() as connection, connection.begin():
            with Session(connection, join_transaction_mode="create_savepoint") as session, session.begin():
                handler.options(tx=session).enqueue_sync()
            assert not ran.is_set()
        engine.dispose()

    async with app.working(poll_idle="60s"):
        await asyncio.to_thread(store)
        await asyncio.wait_for(ran.wait(), timeout=20)
    await asyncio.to_thread(app.close_sync)
    await app.close()
