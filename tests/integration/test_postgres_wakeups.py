"""Which session tells of a new job: its own with the commit after a quiet while, another one for those in a row."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from urllib.parse import urlsplit

import asyncpg
import pytest

from windlass import State, Windlass
from windlass.env import SYSTEM
from windlass.options import NO_OPTIONS
from windlass.testing import PrivatePostgres
from windlass.wakeups.contract import pair_hint, queue_hint, where_work_is
from windlass.wakeups.postgres import CHANNEL, RIDE_EVERY

DATABASE = "postgres_wakeups"
Heard = list[tuple[int, str]]


@pytest.fixture
async def app(postgres_server: PrivatePostgres) -> AsyncIterator[Windlass]:
    postgres_server.drop_database(DATABASE)
    postgres_server.create_database(DATABASE)
    app = Windlass(postgres_server.url(DATABASE))
    app.declare("note")
    await app.connections.migrate()
    # The connections are made, and what they were made for is told.
    await app.jobs.enqueue_by_name("note")
    await asyncio.sleep(4 * RIDE_EVERY)
    yield app
    await app.close()


@pytest.fixture
async def heard(app: Windlass) -> AsyncIterator[Heard]:
    """Hints as they arrive, each with the session that sent it."""
    told: Heard = []
    listening = await asyncpg.connect(app.url)
    await listening.add_listener(CHANNEL, lambda _, pid, __, hint: told.append((pid, str(hint))))
    yield told
    await listening.close()


async def sessions(app: Windlass) -> dict[int, str]:
    """The last statement of every session."""
    connection = await asyncpg.connect(app.url)
    found = await connection.fetch(
        "SELECT pid, query FROM pg_stat_activity WHERE application_name = 'windlass'"
    )
    await connection.close()
    return {row["pid"]: row["query"] for row in found}


async def until(heard: Heard, hints: int) -> None:
    async with asyncio.timeout(20):
        while len(heard) < hints:
            await asyncio.sleep(0.01)


async def test_a_job_after_a_quiet_while_is_told_of_by_its_own_commit(app: Windlass, heard: Heard) -> None:
    await app.jobs.enqueue_by_name("note")
    await until(heard, 1)

    [(pid, hint)] = heard
    assert hint == pair_hint("default", "note")
    assert (await sessions(app))[pid].startswith("INSERT INTO windlass.jobs")


async def test_jobs_in_a_row_are_told_of_by_another_session(app: Windlass, heard: Heard) -> None:
    standing_still = replace(SYSTEM, monotonic=lambda: 1000.0)
    caller = Windlass(app.url, env=standing_still)
    caller.declare("note")
    for _ in range(5):
        await caller.jobs.enqueue_by_name("note")
    await until(heard, 2)
    await caller.close()

    of_the_first, *of_the_others = [pid for pid, _ in heard]
    assert of_the_first not in of_the_others
    assert {hint for _, hint in heard} == {pair_hint("default", "note"), queue_hint("default")}


async def test_a_job_is_stored_where_notifications_are_refused(app: Windlass) -> None:
    owner = await asyncpg.connect(app.url)
    await owner.execute("""
        DROP ROLE IF EXISTS quiet;
        CREATE ROLE quiet LOGIN;
        GRANT USAGE ON SCHEMA windlass TO quiet;
        GRANT ALL ON ALL TABLES IN SCHEMA windlass TO quiet;
        GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA windlass TO quiet;
        REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC;
    """)
    parts = urlsplit(app.url)
    quiet = Windlass(parts._replace(netloc=f"quiet@{parts.netloc.rpartition('@')[2]}").geturl())
    quiet.declare("note")

    job = await quiet.jobs.enqueue_by_name("note")

    assert (await app.jobs.get(job.id)).state is State.AVAILABLE
    await quiet.close()
    await owner.close()


async def test_a_job_that_is_not_stored_is_not_told_of(app: Windlass, heard: Heard) -> None:
    await app.jobs.enqueue_by_name("note")
    await until(heard, 1)
    await asyncio.sleep(4 * RIDE_EVERY)
    connection = await asyncpg.connect(app.url)
    await connection.execute("ALTER TABLE windlass.jobs ADD CONSTRAINT nothing_new CHECK (FALSE) NOT VALID")

    with pytest.raises(Exception, match="nothing_new"):
        await app.jobs.enqueue_by_name("note")
    await connection.execute("ALTER TABLE windlass.jobs DROP CONSTRAINT nothing_new")
    await asyncio.sleep(4 * RIDE_EVERY)
    await app.jobs.enqueue_by_name("note")
    await until(heard, 2)
    await connection.close()

    assert len(heard) == 2


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


async def test_a_named_job_is_taken_at_once_and_others_nobody_spoke_of_right_after(app: Windlass) -> None:
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
        job = app.jobs.builder.build(silent.spec, '{"text": "silent"}', NO_OPTIONS)
        await app.jobs.stores.enqueuing.enqueue([job])
        await named.enqueue(text="second")
        async with asyncio.timeout(20):
            while len(done) < 3:
                await asyncio.sleep(0.01)

    assert done[0] == "first"
    assert set(done) == {"first", "silent", "second"}


async def test_hints_about_several_kinds_are_all_followed(app: Windlass) -> None:
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
