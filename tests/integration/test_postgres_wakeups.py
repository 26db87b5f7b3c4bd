"""Which session tells of a new job: its own with the commit after a quiet while, another one for those in a row."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import asyncpg
import pytest

from backstay import Backstay, State
from backstay.options import NO_OPTIONS
from backstay.runtime.env import SYSTEM
from backstay.testing import PrivatePostgres
from backstay.wakeups.contract import pair_hint, queue_hint, where_work_is
from backstay.wakeups.postgres import CHANNEL, RIDE_EVERY

DATABASE = "postgres_wakeups"
Heard = list[tuple[int, str]]


@pytest.fixture
async def app(postgres_server: PrivatePostgres) -> AsyncIterator[Backstay]:
    postgres_server.drop_database(DATABASE)
    postgres_server.create_database(DATABASE)
    app = Backstay(postgres_server.url(DATABASE))
    await app._connections.migrate()
    yield app
    await app.close()


@dataclass
class Watch:
    """Time goes by for a caller only when a test says so."""

    seconds: float = 1000.0

    def quiet_while(self) -> None:
        self.seconds += 1


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
async def caller(app: Backstay, watch: Watch) -> AsyncIterator[Backstay]:
    """Has its connections, and has not enqueued for a while."""
    caller = Backstay(app.url, env=replace(SYSTEM, monotonic=lambda: watch.seconds))
    caller.declare("note")
    await caller.jobs.enqueue_by_name("note")
    watch.quiet_while()
    yield caller
    await caller.close()


@pytest.fixture
async def heard(caller: Backstay) -> AsyncIterator[Heard]:
    """Hints as they arrive, each with the session that sent it."""
    told: Heard = []
    listening = await asyncpg.connect(caller.url)
    await listening.add_listener(CHANNEL, lambda _, pid, __, hint: told.append((pid, str(hint))))
    yield told
    await listening.close()


async def sessions(app: Backstay) -> dict[int, str]:
    """The last statement of every session."""
    connection = await asyncpg.connect(app.url)
    found = await connection.fetch(
        "SELECT pid, query FROM pg_stat_activity WHERE application_name = 'backstay'"
    )
    await connection.close()
    return {row["pid"]: row["query"] for row in found}


async def until(heard: Heard, hints: int) -> None:
    async with asyncio.timeout(20):
        while len(heard) < hints:
            await asyncio.sleep(0.01)


async def test_a_job_after_a_quiet_while_is_told_of_by_its_own_commit(caller: Backstay, heard: Heard) -> None:
    await caller.jobs.enqueue_by_name("note")
    await until(heard, 1)

    [(pid, hint)] = heard
    assert hint == pair_hint("default", "note")
    assert (await sessions(caller))[pid].startswith("INSERT INTO backstay.jobs")


async def test_jobs_in_a_row_are_told_of_by_another_session(caller: Backstay, heard: Heard) -> None:
    for _ in range(5):
        await caller.jobs.enqueue_by_name("note")
    await until(heard, 2)

    of_the_first, *of_the_others = [pid for pid, _ in heard]
    assert of_the_first not in of_the_others
    assert {hint for _, hint in heard} == {pair_hint("default", "note"), queue_hint("default")}


async def test_a_job_is_stored_where_notifications_are_refused(app: Backstay) -> None:
    owner = await asyncpg.connect(app.url)
    await owner.execute("""
        DROP ROLE IF EXISTS quiet;
        CREATE ROLE quiet LOGIN;
        GRANT USAGE ON SCHEMA backstay TO quiet;
        GRANT ALL ON ALL TABLES IN SCHEMA backstay TO quiet;
        GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA backstay TO quiet;
        REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC;
    """)
    parts = urlsplit(app.url)
    quiet = Backstay(parts._replace(netloc=f"quiet@{parts.netloc.rpartition('@')[2]}").geturl())
    quiet.declare("note")

    job = await quiet.jobs.enqueue_by_name("note")

    assert (await app.jobs.get(job.id)).state is State.AVAILABLE
    await quiet.close()
    await owner.close()


async def test_a_job_that_is_not_stored_is_not_told_of(caller: Backstay, watch: Watch, heard: Heard) -> None:
    await caller.jobs.enqueue_by_name("note")
    watch.quiet_while()
    connection = await asyncpg.connect(caller.url)
    await connection.execute("ALTER TABLE backstay.jobs ADD CONSTRAINT nothing_new CHECK (FALSE) NOT VALID")

    with pytest.raises(Exception, match="nothing_new"):
        await caller.jobs.enqueue_by_name("note")
    await connection.execute("ALTER TABLE backstay.jobs DROP CONSTRAINT nothing_new")
    watch.quiet_while()
    await caller.jobs.enqueue_by_name("note")
    # Whatever the caller still has to tell goes out before it is closed.
    await caller.close()
    await connection.execute(f"NOTIFY {CHANNEL}, 'the end'")
    await connection.close()
    await until(heard, 3)

    assert [hint for _, hint in heard] == [pair_hint("default", "note")] * 2 + ["the end"]


@pytest.mark.parametrize(
    ("hint", "place"),
    [
        (queue_hint("a:b"), ("a:b", "")),
        (pair_hint("a:b", "c.d"), ("a:b", "c.d")),
        ("later", ("", "")),
        ("done:queue:a", ("", "")),
    ],
)
def test_a_hint_says_where_there_is_work(hint: str, place: tuple[str, str]) -> None:
    assert where_work_is(hint) == place


async def test_a_named_job_is_taken_at_once_and_others_nobody_spoke_of_right_after(app: Backstay) -> None:
    """A hint leads to its own pair first; what is there besides is not left to the next poll."""
    done: list[str] = []

    @app.job
    async def named(text: str) -> None:
        done.append(text)

    @app.job(queue="other")
    async def silent(text: str) -> None:
        done.append(text)

    async with app.working(poll_idle="600s", poll_busy="600s"):
        await (await named.enqueue(text="first")).result(timeout=20)
        await asyncio.sleep(4 * RIDE_EVERY)
        job = app._enqueuer.builder.build(silent.spec, '{"text": "silent"}', NO_OPTIONS)
        await app._enqueuer.stores.enqueuing.enqueue([job])
        await named.enqueue(text="second")
        async with asyncio.timeout(20):
            while len(done) < 3:
                await asyncio.sleep(0.01)

    assert done[0] == "first"
    assert set(done) == {"first", "silent", "second"}


async def test_hints_about_several_kinds_are_all_followed(app: Backstay) -> None:
    done: list[str] = []
    handlers = []
    for name in ("one", "two", "three"):

        @app.job(kind=name)
        async def handle(kind: str) -> None:
            done.append(kind)

        handlers.append(handle)

    async with app.working(poll_idle="600s", poll_busy="600s"):
        for _ in range(5):
            for handler in handlers:
                await handler.enqueue(kind=handler.kind)
                await asyncio.sleep(1.5 * RIDE_EVERY)
        async with asyncio.timeout(20):
            while len(done) < 15:
                await asyncio.sleep(0.01)

    assert sorted(done) == sorted(["one", "two", "three"] * 5)
