"""Jobs that are part of the caller's own transaction: there after its commit, gone with its rollback."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.pool import NullPool

from backstay.errors import (
    IdempotencyMismatch,
    InvalidPayload,
    InvalidSettings,
    SchemaMismatch,
    StoreUnavailable,
    WrongDatabase,
)
from backstay.model.job import JobId, NewJob, Stored
from backstay.model.records import KindRecord
from backstay.stores.caller_transaction.job_json import to_object
from backstay.stores.caller_transaction.joining import Joining
from backstay.stores.caller_transaction.postgres import PostgresTarget
from backstay.stores.caller_transaction.sqlite import SqliteTarget
from backstay.stores.database.migrate import migrate
from backstay.stores.database.postgres import Postgres
from backstay.stores.enqueuing import EnqueuingStore
from backstay.stores.kinds import KindStore
from backstay.testing import PrivatePostgres

Connection = Any
SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}, "additionalProperties": False}
KINDS = [
    KindRecord(kind="send", queue="post", policy={}, arguments=SCHEMA, fingerprint="1"),
    KindRecord(kind="brief", queue="q", policy={"expires_after_seconds": 9}, arguments=None, fingerprint="1"),
    KindRecord(kind="anything", queue="default", policy={}, arguments=None, fingerprint="1"),
]


@pytest.fixture(scope="module")
def url(postgres_server: PrivatePostgres) -> Iterator[str]:
    async def prepare() -> None:
        database = Postgres(postgres_server.url("joining"))
        await migrate(database)
        await KindStore(database.lane("test")).declare(KINDS)
        await database.close()

    postgres_server.create_database("joining")
    postgres_server.create_database("elsewhere")
    asyncio.run(prepare())
    yield postgres_server.url("joining")
    postgres_server.drop_database("joining")
    postgres_server.drop_database("elsewhere")


@pytest.fixture
async def observer(url: str) -> AsyncIterator[Connection]:
    """A second connection, which sees only what is committed."""
    connection = await asyncpg.connect(url)
    yield connection
    await connection.execute(
        "TRUNCATE backstay.jobs, backstay.idempotency_keys, backstay.unique_windows CASCADE"
    )
    await connection.close()


@pytest.fixture
async def engine(url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(url.replace("postgresql://", "postgresql+asyncpg://"), poolclass=NullPool)
    yield engine
    await engine.dispose()


Begin = Callable[[], AbstractAsyncContextManager[Any]]


@pytest.fixture(params=["asyncpg connection", "asyncpg pool", "sqlalchemy connection", "sqlalchemy session"])
def begin(request: pytest.FixtureRequest, url: str, engine: AsyncEngine) -> Begin:
    """Opens a transaction the way each library does, committed at the end of the block unless it raises."""

    @asynccontextmanager
    async def on_connection() -> AsyncIterator[Connection]:
        connection = await asyncpg.connect(url)
        try:
            async with connection.transaction():
                yield connection
        finally:
            await connection.close()

    @asynccontextmanager
    async def on_pool() -> AsyncIterator[Connection]:
        async with (
            asyncpg.create_pool(url, min_size=1, max_size=1) as pool,
            pool.acquire() as connection,
            connection.transaction(),
        ):
            yield connection

    @asynccontextmanager
    async def on_session() -> AsyncIterator[AsyncSession]:
        async with AsyncSession(engine) as session, session.begin():
            yield session

    ways: dict[str, Begin] = {
        "asyncpg connection": on_connection,
        "asyncpg pool": on_pool,
        "sqlalchemy connection": engine.begin,
        "sqlalchemy session": on_session,
    }
    return ways[request.param]


class Change(Exception):
    """Somebody changed their mind."""


def new_job(**options: Any) -> NewJob:
    return NewJob(**{"id": JobId(uuid4()), "kind": "anything", "queue": "default", "args": "{}"} | options)


async def enqueue_in(transaction: object, jobs: list[NewJob], *, url: str) -> list[Stored]:
    return await Joining(PostgresTarget(url)).join(transaction, jobs)


async def enqueue_and_roll_back(begin: Begin, job: NewJob, url: str) -> None:
    async with begin() as transaction:
        await enqueue_in(transaction, [job], url=url)
        raise Change


async def stored(observer: Connection) -> int:
    count: int = await observer.fetchval("SELECT count(*) FROM backstay.jobs")
    return count


async def test_a_committed_transaction_leaves_the_job(begin: Begin, url: str, observer: Connection) -> None:
    job = new_job()

    async with begin() as transaction:
        [result] = await enqueue_in(transaction, [job], url=url)
        assert await stored(observer) == 0

    assert (result.id, result.is_new) == (job.id, True)
    assert await stored(observer) == 1


async def test_a_transaction_rolled_back_leaves_nothing(begin: Begin, url: str, observer: Connection) -> None:
    with pytest.raises(Change):
        await enqueue_and_roll_back(begin, new_job(idempotency_key="k", fingerprint="1"), url)

    assert await stored(observer) == 0
    assert await observer.fetchval("SELECT count(*) FROM backstay.idempotency_keys") == 0


async def test_a_key_is_free_again_after_a_rollback(begin: Begin, url: str, observer: Connection) -> None:
    with pytest.raises(Change):
        await enqueue_and_roll_back(begin, new_job(idempotency_key="k", fingerprint="1"), url)

    async with begin() as transaction:
        [result] = await enqueue_in(transaction, [new_job(idempotency_key="k", fingerprint="2")], url=url)

    assert result.is_new


async def test_the_same_key_finds_the_first_job(begin: Begin, url: str, observer: Connection) -> None:
    first, second = (new_job(idempotency_key="k", fingerprint="1") for _ in range(2))

    async with begin() as transaction:
        [stored_first] = await enqueue_in(transaction, [first], url=url)
        [stored_second] = await enqueue_in(transaction, [second], url=url)

    assert (stored_first.is_new, stored_second.is_new) == (True, False)
    assert stored_second.id == first.id
    assert await stored(observer) == 1


async def test_the_same_key_for_another_job_is_a_mismatch(
    begin: Begin, url: str, observer: Connection
) -> None:
    async with begin() as transaction:
        await enqueue_in(transaction, [new_job(idempotency_key="k", fingerprint="1")], url=url)

    with pytest.raises(IdempotencyMismatch) as raised:
        async with begin() as transaction:
            await enqueue_in(transaction, [new_job(), new_job(idempotency_key="k", fingerprint="2")], url=url)

    assert raised.value.key == "k"
    assert await stored(observer) == 1


async def test_a_unique_key_finds_the_active_job(begin: Begin, url: str, observer: Connection) -> None:
    first = new_job(unique_key="u")

    async with begin() as transaction:
        results = await enqueue_in(transaction, [first, new_job(unique_key="u")], url=url)

    assert [(result.id, result.is_new) for result in results] == [(first.id, True), (first.id, False)]


async def test_a_savepoint_rolled_back_takes_only_its_own_job(url: str, observer: Connection) -> None:
    @asynccontextmanager
    async def savepoint() -> AsyncIterator[Connection]:
        async with connection.transaction():
            yield connection

    kept = new_job()
    connection = await asyncpg.connect(url)

    async with connection.transaction():
        await enqueue_in(connection, [kept], url=url)
        with pytest.raises(Change):
            await enqueue_and_roll_back(savepoint, new_job(), url)
        await enqueue_in(connection, [new_job()], url=url)
    await connection.close()

    assert await stored(observer) == 2
    assert await observer.fetchval("SELECT count(*) FROM backstay.jobs WHERE id = $1", kept.id) == 1


async def test_a_savepoint_saves_the_transaction_from_a_refused_job(
    engine: AsyncEngine, url: str, observer: Connection
) -> None:
    async with AsyncSession(engine) as session, session.begin():
        await enqueue_in(session, [new_job(idempotency_key="k", fingerprint="1")], url=url)
        with pytest.raises(IdempotencyMismatch):
            async with session.begin_nested():
                await enqueue_in(session, [new_job(idempotency_key="k", fingerprint="2")], url=url)

    assert await stored(observer) == 1


async def test_a_kind_that_no_worker_has_declared_yet_is_stored(
    begin: Begin, url: str, observer: Connection
) -> None:
    async with begin() as transaction:
        await enqueue_in(transaction, [new_job(kind="brand-new", queue="q", priority=7)], url=url)

    row = await observer.fetchrow("SELECT kind, queue, priority FROM backstay.jobs")
    assert tuple(row) == ("brand-new", "q", 7)


async def test_what_the_client_left_out_is_not_filled_in_from_the_kind(
    url: str, observer: Connection
) -> None:
    connection = await asyncpg.connect(url)

    async with connection.transaction():
        await enqueue_in(connection, [new_job(kind="brief")], url=url)
    await connection.close()

    assert await observer.fetchval("SELECT expires_at FROM backstay.jobs") is None


async def test_workers_are_told_when_the_transaction_commits(
    begin: Begin, url: str, observer: Connection
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    await observer.add_listener("backstay", lambda *told: heard.put_nowait(told[-1]))
    jobs = [new_job(queue="a"), new_job(queue="a"), new_job(queue="b"), new_job(delay=timedelta(hours=1))]

    async with begin() as transaction:
        await enqueue_in(transaction, jobs, url=url)
        await observer.fetchval("SELECT 1")
        assert heard.empty()

    hints = [await asyncio.wait_for(heard.get(), timeout=10) for _ in range(3)]
    await observer.fetchval("SELECT 1")
    assert sorted(hints) == ["later", "queue:a", "queue:b"]
    assert heard.empty()


async def test_hints_can_be_switched_off_for_a_transaction(url: str, observer: Connection) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    await observer.add_listener("backstay", lambda *told: heard.put_nowait(told[-1]))
    connection = await asyncpg.connect(url)

    async with connection.transaction():
        await connection.execute("SET LOCAL backstay.notify = off")
        await enqueue_in(connection, [new_job(queue="silent")], url=url)
    async with connection.transaction():
        await enqueue_in(connection, [new_job(queue="loud")], url=url)
    await connection.close()

    assert await asyncio.wait_for(heard.get(), timeout=10) == "queue:loud"


async def test_it_takes_one_statement_once_the_connection_is_known(url: str, observer: Connection) -> None:
    asked: list[str] = []
    connection = await asyncpg.connect(url)
    async with connection.transaction():
        await enqueue_in(connection, [new_job()], url=url)
        with connection.query_logger(lambda record: asked.append(record.query)):
            await enqueue_in(connection, [new_job(), new_job()], url=url)
    await connection.close()

    assert len(asked) == 1
    assert "backstay.enqueue_checked" in asked[0]


async def test_the_row_is_the_one_an_ordinary_enqueue_stores(url: str, observer: Connection) -> None:
    options: dict[str, Any] = {
        "kind": "send",
        "queue": "post",
        "args": '{"to":"Ada"}',
        "priority": 2,
        "ageing_step": timedelta(minutes=7),
        "run_at": datetime(2030, 1, 1, tzinfo=UTC),
        "tenant": "acme",
        "name": "n",
        "description": "d",
        "tags": '["red"]',
        "metadata": '{"m":1}',
        "policy": '{"lease_seconds":9,"max_attempts":3,"timeout_seconds":1.5}',
        "max_attempts": 3,
        "timeout": timedelta(seconds=1.5),
        "lease": timedelta(seconds=9),
        "parent_id": JobId(uuid4()),
        "correlation_id": "c",
        "created_by": "somebody",
        "expires_at": datetime(2031, 1, 1, tzinfo=UTC),
        "deadline": datetime(2031, 1, 2, tzinfo=UTC),
        "held_for": "approval",
    }
    ordinary, joined = new_job(**options), new_job(**options)
    database = Postgres(url)
    await EnqueuingStore(database.lane("test")).enqueue([ordinary])
    await database.close()

    connection = await asyncpg.connect(url)
    async with connection.transaction():
        await enqueue_in(connection, [joined], url=url)
    await connection.close()

    rows = [
        await observer.fetchrow("SELECT * FROM backstay.jobs WHERE id = $1", job.id)
        for job in (ordinary, joined)
    ]
    differing = {"id", "created_at", "updated_at", "policy"}
    first, second = ({name: row[name] for name in set(row.keys()) - differing} for row in rows)
    assert first == second
    assert json.loads(rows[0]["policy"]) == json.loads(rows[1]["policy"])


async def test_an_encoder_of_the_callers_for_json_does_not_matter(url: str, observer: Connection) -> None:
    connection = await asyncpg.connect(url)
    for name in ("json", "jsonb"):
        await connection.set_type_codec(name, encoder=json.dumps, decoder=json.loads, schema="pg_catalog")

    async with connection.transaction():
        await enqueue_in(connection, [new_job(args='{"a":1}')], url=url)
    await connection.close()

    assert await observer.fetchval("SELECT args FROM backstay.jobs") == '{"a":1}'


async def test_a_connection_without_a_transaction_is_refused(url: str, observer: Connection) -> None:
    with pytest.raises(InvalidSettings, match=r"committed at once: .*connection\.transaction"):
        await enqueue_in(observer, [new_job()], url=url)

    assert await stored(observer) == 0


async def test_sqlalchemys_autocommit_is_refused(engine: AsyncEngine, url: str, observer: Connection) -> None:
    async with engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        with pytest.raises(InvalidSettings, match="AUTOCOMMIT"):
            await enqueue_in(connection, [new_job()], url=url)

    assert await stored(observer) == 0


async def test_another_database_is_refused_by_name(postgres_server: PrivatePostgres, url: str) -> None:
    connection = await asyncpg.connect(postgres_server.url("elsewhere"))

    async with connection.transaction():
        for _ in range(2):
            with pytest.raises(
                WrongDatabase, match=r"in database 'elsewhere' at .*, but jobs are stored in 'joining'"
            ):
                await enqueue_in(connection, [new_job()], url=url)
        assert await connection.fetchval("SELECT 1") == 1
    await connection.close()


async def test_a_namesake_on_another_server_is_refused(url: str) -> None:
    with PrivatePostgres.start(fsync=False) as other:
        other.create_database("joining")
        connection = await asyncpg.connect(other.url("joining"))
        async with connection.transaction():
            with pytest.raises(WrongDatabase, match=str(other.port)):
                await enqueue_in(connection, [new_job()], url=url)
        await connection.close()


async def test_a_server_started_again_is_still_the_same_database() -> None:
    with PrivatePostgres.start(fsync=False) as server:
        url = server.url("postgres")
        await migrate(database := Postgres(url))
        await KindStore(database.lane("test")).declare(KINDS)
        await database.close()
        for _ in range(2):
            connection = await asyncpg.connect(url)
            async with connection.transaction():
                assert (await enqueue_in(connection, [new_job()], url=url))[0].is_new
            await connection.close()
            server.restart()


@pytest.mark.usefixtures("url")  # which makes the other database as well
async def test_a_database_without_our_tables_says_so(postgres_server: PrivatePostgres) -> None:
    elsewhere = postgres_server.url("elsewhere")
    connection = await asyncpg.connect(elsewhere)

    with pytest.raises(SchemaMismatch, match="backstay db migrate"):
        async with connection.transaction():
            await enqueue_in(connection, [new_job()], url=elsewhere)
    await connection.close()


async def test_a_broken_connection_is_reported_as_such(url: str, observer: Connection) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("BEGIN")
    await observer.execute("SELECT pg_terminate_backend($1, 5000)", connection.get_server_pid())

    with pytest.raises((StoreUnavailable, InvalidSettings)):
        await enqueue_in(connection, [new_job()], url=url)


@pytest.mark.parametrize(
    "error", [asyncpg.InternalClientError("another operation is in progress"), OSError()]
)
async def test_every_way_in_which_a_link_breaks_is_reported_as_such(
    url: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A connection that is cut while nobody waits for it may be told of in the driver's own words."""

    async def breaks(*_: object) -> None:
        raise error

    connection = await asyncpg.connect(url)
    monkeypatch.setattr(asyncpg.Connection, "fetch", breaks)

    with pytest.raises(StoreUnavailable):
        async with connection.transaction():
            await enqueue_in(connection, [new_job()], url=url)
    await connection.close()


async def test_things_that_are_no_transaction_are_refused_with_what_is(url: str, engine: AsyncEngine) -> None:
    for thing in (object(), engine, "BEGIN"):
        with pytest.raises(InvalidSettings, match="hand in an asyncpg connection"):
            await enqueue_in(thing, [new_job()], url=url)


def test_a_transaction_on_sqlite_is_refused_by_a_store_on_postgresql(url: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("BEGIN")

    with pytest.raises(WrongDatabase, match="on sqlite, but jobs are stored on postgresql"):
        Joining(PostgresTarget(url)).join_sync(connection, [new_job()])
    connection.close()


async def test_a_transaction_on_postgresql_is_refused_by_a_store_on_sqlite(observer: Connection) -> None:
    async with observer.transaction():
        with pytest.raises(WrongDatabase, match="on postgresql, but jobs are stored on sqlite"):
            await Joining(SqliteTarget("jobs.db", lambda: 0)).join(observer, [new_job()])


@pytest.mark.parametrize(
    "options",
    [{"args": "[" * 100}, {"args": "{"}, {"name": "a\0b"}, {"name": "\ud800"}],
    ids=["nested", "truncated", "NUL", "half a character"],
)
async def test_what_postgres_cannot_keep_as_json_is_an_invalid_payload(
    begin: Begin, url: str, observer: Connection, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidPayload, match="cannot keep the jobs as JSON"):
        async with begin() as transaction:
            await enqueue_in(transaction, [new_job(), new_job(**options)], url=url)

    assert await stored(observer) == 0


async def test_two_jobs_of_a_batch_cannot_share_an_id(begin: Begin, url: str, observer: Connection) -> None:
    job = new_job()

    with pytest.raises(InvalidPayload, match="same id"):
        async with begin() as transaction:
            await enqueue_in(transaction, [job, job], url=url)

    assert await stored(observer) == 0


def test_only_what_is_set_is_sent() -> None:
    job = new_job()

    assert to_object(job) == {
        "id": str(job.id),
        "kind": "anything",
        "queue": "default",
        "args_text": "{}",
        "priority": 5,
        "ageing_step_seconds": 3600,
    }
