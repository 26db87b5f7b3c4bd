"""Connections that are cut after a statement was sent: what has happened is found out, never guessed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from program import application
from support import Workshop, eventually

from backstay import Backstay
from backstay.client import retry_until_known as certainty
from backstay.errors import OutcomeUnknown
from backstay.handle import JobHandle
from backstay.model.job import JobId
from backstay.options import JobOptions
from chaos.proxy import Proxy, commit_after, inserting, statement

# So long that no rescue can be what saved a job in these tests.
LONG_LEASE = "60s"

# Longer than the engine waits for a lock.
SLOW_INSERTS = (
    "CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN PERFORM pg_sleep(4); RETURN NULL; END $$",
    "CREATE TRIGGER take_long AFTER INSERT ON backstay.jobs FOR EACH ROW "
    "WHEN (NEW.args ->> 'n' = '1') EXECUTE FUNCTION take_long()",
)


async def test_an_enqueue_whose_reply_was_lost_has_stored_one_job(postgres_shop: Workshop) -> None:
    async with Proxy.before(postgres_shop.url) as proxy:
        app = application({"url": proxy.url})
        await app.jobs.enqueue_by_name("note", {"n": 0})
        cut = proxy.lose_reply(inserting("jobs"))

        handle = await app.jobs.enqueue_by_name("note", {"n": 1})

        assert cut.seen
        await app.close()
    assert await ids_of(postgres_shop, n=1) == [handle.id]


async def test_an_enqueue_that_waits_for_its_own_first_sending_is_not_taken_for_refused(
    postgres_shop: Workshop,
) -> None:
    """The connection is gone, the statement is still at work: whoever sends it again finds its row locked."""
    for change in SLOW_INSERTS:
        await postgres_shop.rows(change)
    async with Proxy.before(postgres_shop.url) as proxy:
        app = application({"url": proxy.url})
        await app.jobs.enqueue_by_name("note", {"n": 0})
        enqueuing = asyncio.create_task(app.jobs.enqueue_by_name("note", {"n": 1}))
        await eventually(
            lambda: postgres_shop.rows("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"),
            within=20,
        )

        proxy.reset_all()

        handle = await enqueuing
        await app.close()
    assert await ids_of(postgres_shop, n=1) == [handle.id]


async def test_an_enqueue_with_a_key_whose_reply_was_lost_has_stored_one_job(postgres_shop: Workshop) -> None:
    async with Proxy.before(postgres_shop.url) as proxy:
        app = application({"url": proxy.url})
        cut = proxy.lose_reply(commit_after("keys/reserve"))

        handle = await enqueue_with_key(app)
        again = await enqueue_with_key(app)

        assert cut.seen
        assert (handle.is_new, again.is_new, again.id) == (True, False, handle.id)
        await app.close()
    assert await ids_of(postgres_shop, n=1) == [handle.id]


async def enqueue_with_key(app: Backstay) -> JobHandle[Any]:
    return await app.jobs.enqueue_by_name("note", {"n": 1}, JobOptions(key="order-7"))


async def test_an_enqueue_says_so_when_it_cannot_learn_what_became_of_it(
    postgres_shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certainty, "PATIENCE", 0.5)
    async with Proxy.before(postgres_shop.url) as proxy:
        app = application({"url": proxy.url})
        await app.jobs.enqueue_by_name("note", {"n": 0})
        proxy.lose_reply(inserting("jobs"))
        proxy.refuse_after_fault = True

        with pytest.raises(OutcomeUnknown) as raised:
            await app.jobs.enqueue_by_name("note", {"n": 1})

        await app.close()
    assert await ids_of(postgres_shop, n=1) == list(raised.value.ids)


async def test_jobs_whose_claim_was_lost_start_again_within_seconds(postgres_shop: Workshop) -> None:
    shop = postgres_shop
    await shop.enqueue_many("note", [{"n": n} for n in range(5)])
    async with Proxy.before(shop.url) as proxy:
        cut = proxy.lose_reply(statement("jobs/claim"))
        worker = shop.start_worker(url=proxy.url, lease=LONG_LEASE, concurrency=10)

        await shop.all_ended(5, within=20)

        assert cut.seen
        assert len(worker.events("claim.released")) == 5
        assert await worker.terminated() == 0
    assert len(shop.journal("start")) == 5
    assert await shop.rows("SELECT DISTINCT attempt, run FROM backstay.jobs") == [(1, 2)]
    assert await shop.rows("SELECT status, count(*) FROM backstay.attempts GROUP BY status") == [
        ("released", 5)
    ]


async def test_a_completion_whose_reply_was_lost_counts_once(postgres_shop: Workshop) -> None:
    shop = postgres_shop
    async with Proxy.before(shop.url) as proxy:
        cut = proxy.lose_reply(statement("jobs/complete"))
        worker = await shop.started_worker(url=proxy.url, lease=LONG_LEASE)
        await shop.enqueue_many("note", [{"n": n} for n in range(5)])

        await shop.all_ended(5, within=20)

        assert cut.seen
        assert await worker.terminated() == 0
        assert worker.events("worker.stopped")[0]["late_outcomes"] == 0
    assert len(shop.journal("start")) == 5
    assert await shop.rows("SELECT DISTINCT attempt, run, lease_epoch FROM backstay.jobs") == [(1, 1, 2)]


async def test_a_failure_whose_reply_was_lost_is_recorded_once(postgres_shop: Workshop) -> None:
    shop = postgres_shop
    async with Proxy.before(shop.url) as proxy:
        cut = proxy.lose_reply(commit_after("jobs/settle"))
        worker = await shop.started_worker(url=proxy.url, lease=LONG_LEASE)
        job_id = await shop.enqueue("raise_on_loop", name="SystemExit")

        await eventually(lambda: worker.events("job.settled"), within=20)

        assert cut.seen
        assert await worker.terminated() == 0
        assert worker.events("worker.stopped")[0]["late_outcomes"] == 0
    assert (await shop.app.jobs.get(job_id)).state == "dead"
    assert [attempt.status for attempt in await shop.app.jobs.attempts(job_id)] == ["failed"]
    assert len(await shop.app.dead_letters.open()) == 1


async def test_a_worker_whose_connections_die_without_a_sign_goes_on_with_new_ones(
    postgres_shop: Workshop,
) -> None:
    shop = postgres_shop
    async with Proxy.before(shop.url) as proxy:
        worker = await shop.started_worker(url=proxy.url, poll_idle="200ms", patience=1)
        job_id = await shop.enqueue("wait_for_file", path=str(shop.gate()))
        await eventually(lambda: is_renewed(shop, job_id), within=10)

        proxy.go_silent()
        await shop.enqueue("note", n=1)
        await shop.all_ended(1, within=10)
        await eventually(lambda: worker.events("lease.recovered"), within=10)
        shop.gate().touch()
        await shop.all_ended(2, within=10)

        assert (await shop.app.jobs.get(job_id)).attempt == 1
        assert not worker.events("claim.lost")
        assert await worker.terminated() == 0


async def is_renewed(shop: Workshop, job_id: JobId) -> bool:
    job = await shop.app.jobs.get(job_id)
    return job.heartbeat_at != job.started_at


async def ids_of(shop: Workshop, *, n: int) -> list[object]:
    return [row[0] for row in await shop.rows(f"SELECT id FROM backstay.jobs WHERE args ->> 'n' = '{n}'")]
