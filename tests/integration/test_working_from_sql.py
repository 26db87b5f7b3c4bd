"""Programs of any language take and end jobs through functions of the database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from backstay import Backoff, Backstay, JobOptions, State
from backstay.records import JobEnded
from backstay.testing import PrivatePostgres

Connection = Any
HEARD: list[JobEnded] = []


@pytest.fixture(scope="module")
def url(postgres_server: PrivatePostgres) -> str:
    postgres_server.create_database("working_from_sql")
    return postgres_server.url("working_from_sql")


@pytest.fixture
async def app(url: str) -> AsyncIterator[Backstay]:
    """An application that sends jobs which somebody else works; its own worker has one queue, and maintenance."""
    app = Backstay(url)
    HEARD.clear()

    @app.job(queue="inside")
    async def told(ended: JobEnded) -> None:
        HEARD.append(ended)

    @app.job(queue="inside")
    async def read_on() -> str:
        return "read"

    for kind, options in {
        "scan": {"max_attempts": 2, "backoff": Backoff("10ms")},
        "watched": {"on_completed": "told"},
        "limited": {"limit": 1},
    }.items():

        @app.job(kind=kind, queue="scans", **options)
        async def outside(page: int = 1) -> Any:
            raise AssertionError("only programs from outside work this")

    await app.migrate()
    async with app.working(queues=["inside"]):
        yield app
    await app.close()


@pytest.fixture
async def sql(url: str, app: Backstay) -> AsyncIterator[Connection]:
    """The connection of a program from outside, whose worker has started."""
    connection = await asyncpg.connect(url)
    await connection.execute("DELETE FROM backstay.jobs WHERE queue = 'scans'")
    await connection.execute("SELECT backstay.worker_start('outside', ARRAY['scan', 'watched'])")
    yield connection
    await connection.close()


async def take(sql: Connection, kind: str = "scan") -> Any:
    return await sql.fetchrow("SELECT * FROM backstay.claim('outside', ARRAY[$1])", kind)


async def until(is_so: Callable[[], Any]) -> Any:
    async with asyncio.timeout(30):
        while not (found := await is_so()):
            await asyncio.sleep(0.02)
    return found


async def in_state(app: Backstay, job_id: UUID, state: State) -> Any:
    async def is_there() -> Any:
        job = await app.jobs.get(job_id)
        return job if job.state is state else None

    return await until(is_there)


async def test_a_job_is_taken_renewed_and_completed(app: Backstay, sql: Connection) -> None:
    handle = await app.jobs.enqueue_by_name("scan", {"page": 7})

    job = await take(sql)
    renewed = await sql.fetchrow("SELECT * FROM backstay.renew($1, $2)", job["id"], job["epoch"])
    done = await sql.fetchval("SELECT backstay.complete($1, $2, $3)", job["id"], job["epoch"], '{"words": 3}')

    assert (job["id"], json.loads(job["args"]), job["attempt"]) == (handle.id, {"page": 7}, 1)
    assert tuple(renewed) == (True, False, None)
    assert done is True
    assert await handle.result(timeout=30) == {"words": 3}
    assert await take(sql) is None


async def test_completing_twice_is_true_twice_and_anothers_claim_is_false(
    app: Backstay, sql: Connection
) -> None:
    await app.jobs.enqueue_by_name("scan", {})
    job = await take(sql)
    complete = "SELECT backstay.complete($1, $2)"

    assert not await sql.fetchval(complete, job["id"], job["epoch"] + 2)
    assert await sql.fetchval(complete, job["id"], job["epoch"])
    assert await sql.fetchval(complete, job["id"], job["epoch"])
    assert tuple(await sql.fetchrow("SELECT * FROM backstay.renew($1, $2)", job["id"], job["epoch"])) == (
        False,
        False,
        None,
    )


async def test_a_failure_is_decided_by_the_policy_of_the_kind(app: Backstay, sql: Connection) -> None:
    handle = await app.jobs.enqueue_by_name("scan", {})
    fail = "SELECT backstay.fail($1, $2, 'the scanner jams, password=hunter2', 'temporary_resource', 'Jam')"

    first = await take(sql)
    assert await sql.fetchval(fail, first["id"], first["epoch"])
    assert not await sql.fetchval("SELECT backstay.complete($1, $2)", first["id"], first["epoch"])
    second = await until(lambda: take(sql))
    assert (second["id"], second["attempt"]) == (handle.id, 2)
    assert await sql.fetchval(fail, second["id"], second["epoch"])
    dead = await in_state(app, handle.id, State.DEAD)

    assert (dead.error["type"], dead.error["error_class"]) == ("Jam", "temporary_resource")
    assert "jams" in dead.error["message"]
    assert "hunter2" not in json.dumps(dead.error)
    await until(lambda: sql.fetchval("SELECT count(*) = 0 FROM backstay.reports"))


async def test_a_job_that_is_put_off_keeps_its_attempts(app: Backstay, sql: Connection) -> None:
    await app.jobs.enqueue_by_name("scan", {})
    first = await take(sql)

    assert await sql.fetchval(
        "SELECT backstay.snooze($1, $2, interval '10 milliseconds')", first["id"], first["epoch"]
    )

    again = await until(lambda: take(sql))
    assert (again["id"], again["attempt"]) == (first["id"], 1)


async def test_what_is_to_follow_a_completion_follows(app: Backstay, sql: Connection) -> None:
    handle = await app.jobs.enqueue_by_name("watched", {})
    job = await take(sql, "watched")

    assert await sql.fetchval("SELECT backstay.complete($1, $2, '\"done\"')", job["id"], job["epoch"])

    async def heard() -> list[JobEnded]:
        return HEARD

    [ended] = await until(heard)
    assert (ended.job_id, ended.state) == (handle.id, State.COMPLETED)
    assert await handle.result(timeout=30) == "done"


async def test_a_job_that_was_taken_over_is_no_longer_the_first_ones(app: Backstay, sql: Connection) -> None:
    await app.jobs.enqueue_by_name("scan", {})
    first = await take(sql)
    await sql.execute("SELECT backstay.snooze($1, $2, interval '0')", first["id"], first["epoch"])

    again = await until(lambda: take(sql))

    assert (again["id"], again["epoch"] > first["epoch"]) == (first["id"], True)
    assert not await sql.fetchval("SELECT backstay.complete($1, $2)", first["id"], first["epoch"])
    assert not await sql.fetchval("SELECT backstay.fail($1, $2, 'late')", first["id"], first["epoch"])
    assert await sql.fetchval("SELECT backstay.epoch_of($1, 'outside')", first["id"]) == again["epoch"]


async def test_a_cancelled_job_tells_who_works_it(app: Backstay, sql: Connection) -> None:
    handle = await app.jobs.enqueue_by_name("scan", {})
    job = await take(sql)
    await app.jobs.cancel(handle.id, by="ann", reason="not needed")

    renewed = await sql.fetchrow("SELECT * FROM backstay.renew($1, $2)", job["id"], job["epoch"])

    assert tuple(renewed) == (True, True, "not needed")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT backstay.claim('nobody', ARRAY['scan'])", "worker nobody does not live"),
        ("SELECT backstay.claim('outside', ARRAY['scna'])", "no application has declared the kind scna"),
        ("SELECT backstay.worker_start('other', ARRAY['limited'])", "the kind limited has a limit"),
    ],
)
async def test_what_cannot_be_is_refused(sql: Connection, statement: str, message: str) -> None:
    with pytest.raises(asyncpg.PostgresError, match=message) as refused:
        await sql.fetch(statement)

    assert refused.value.hint


async def test_a_result_that_is_too_large_is_refused_and_the_job_kept(app: Backstay, sql: Connection) -> None:
    await app.jobs.enqueue_by_name("scan", {})
    job = await take(sql)

    with pytest.raises(asyncpg.PostgresError, match="are allowed"):
        await sql.fetch(
            "SELECT backstay.complete($1, $2, $3)", job["id"], job["epoch"], json.dumps("x" * 2_000_000)
        )

    assert (await app.jobs.get(job["id"])).state is State.RUNNING


async def test_a_worker_beats_and_stops(sql: Connection) -> None:
    assert await sql.fetchval("SELECT backstay.worker_beat('outside')")
    assert await sql.fetchval("SELECT backstay.worker_stop('outside')")
    assert not await sql.fetchval("SELECT backstay.worker_beat('outside')")


async def test_jobs_come_in_the_order_of_their_turn_and_none_where_none_are_asked_for(
    app: Backstay, sql: Connection
) -> None:
    for priority in (9, 1, 5):
        await app.jobs.enqueue_by_name("scan", {"page": priority}, JobOptions(priority=priority))

    none = await sql.fetch("SELECT * FROM backstay.claim('outside', ARRAY['scan'], number => 0)")
    rows = await sql.fetch("SELECT * FROM backstay.claim('outside', ARRAY['scan'], number => 3)")

    assert none == []
    assert [json.loads(row["args"])["page"] for row in rows] == [1, 5, 9]
