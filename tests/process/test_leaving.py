"""What a worker leaves behind when it is told to stop."""

from __future__ import annotations

import asyncio
import signal

import pytest
from support import Workshop, eventually

from chaos.proxy import Proxy, statement

SLOW_CLAIMS = (
    "CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN PERFORM pg_sleep(5); RETURN NEW; END $$",
    "CREATE TRIGGER take_long BEFORE UPDATE ON backstay.jobs FOR EACH ROW "
    "WHEN (NEW.state = 'running' AND OLD.state = 'available') EXECUTE FUNCTION take_long()",
)


@pytest.mark.parametrize("kind", ["wait_for_file", "wait_in_thread"])
async def test_a_job_longer_than_the_grace_is_given_back_with_its_attempt(shop: Workshop, kind: str) -> None:
    worker = await shop.started_worker(shutdown_grace="300ms")
    job_id = await shop.enqueue(kind, path=str(shop.gate()))
    await eventually(lambda: shop.journal("start"), within=10)

    assert await worker.terminated(within=5) == 0

    job = await shop.app.jobs.get(job_id)
    assert (job.state, job.attempt, job.run, job.worker) == ("available", 0, 1, None)
    assert [attempt.status for attempt in await shop.app.jobs.attempts(job_id)] == ["released"]
    assert not shop.journal("end")


async def test_a_handler_that_will_not_stop_does_not_keep_the_worker(shop: Workshop) -> None:
    worker = await shop.started_worker(shutdown_grace="300ms")
    job_id = await shop.enqueue("sleep_in_thread", seconds=60)
    await eventually(lambda: shop.journal("start"), within=10)

    assert await worker.terminated(within=6) == 0

    job = await shop.app.jobs.get(job_id)
    assert (job.state, job.attempt, job.run) == ("available", 0, 1)


async def test_jobs_that_end_within_the_grace_are_completed(shop: Workshop) -> None:
    worker = await shop.started_worker(concurrency=3, shutdown_grace="10s")
    ids = await shop.enqueue_many("wait_for_file", [{"path": str(shop.gate())}] * 5)
    await eventually(lambda: len(shop.journal("start")) == 3, within=10)

    worker.signal(signal.SIGTERM)
    await eventually(lambda: worker.events("worker.stopping"), within=5)
    shop.gate().touch()

    assert await worker.exit_code(within=5) == 0
    assert await shop.states() == {"completed": 3, "available": 2}
    assert sorted([(await shop.app.jobs.get(job_id)).attempt for job_id in ids]) == [0, 0, 1, 1, 1]


async def test_the_register_tells_that_a_worker_is_about_to_leave(shop: Workshop) -> None:
    """ENG-043: such a worker takes no job, so nobody may count on it; its jobs are still its own."""
    worker = await shop.started_worker(shutdown_grace="20s")
    job_id = await shop.enqueue("wait_for_file", path=str(shop.gate()))
    await eventually(lambda: shop.journal("start"), within=10)

    async def is_in_state(wanted: str) -> bool:
        return [one.state for one in await shop.app.workers.all()] == [wanted]

    worker.signal(signal.SIGTERM)
    await eventually(lambda: is_in_state("stopping"), within=10)
    shop.gate().touch()

    assert await worker.exit_code(within=10) == 0
    assert await is_in_state("stopped")
    assert (await shop.app.jobs.get(job_id)).state == "completed"


async def test_a_second_signal_leaves_at_once(shop: Workshop) -> None:
    worker = await shop.started_worker(shutdown_grace="30s")
    await shop.enqueue("wait_for_file", path=str(shop.gate()))
    await eventually(lambda: shop.journal("start"), within=10)
    worker.signal(signal.SIGTERM)
    await eventually(lambda: worker.events("worker.stopping"), within=5)

    worker.signal(signal.SIGTERM)

    assert await worker.exit_code(within=10) == 1
    assert await shop.states() == {"running": 1}


async def are_claimed(shop: Workshop, jobs: int) -> bool:
    return await shop.states() == {"running": jobs}


async def test_a_claim_under_way_is_given_back(postgres_shop: Workshop) -> None:
    shop = postgres_shop
    await shop.enqueue_many("note", [{"n": n} for n in range(5)])
    async with Proxy.before(shop.url) as proxy:
        proxy.hold_reply(statement("jobs/claim"), until=(may_answer := asyncio.Event()))
        worker = shop.start_worker(url=proxy.url, lease="60s")
        await eventually(lambda: are_claimed(shop, 5), within=20)

        worker.signal(signal.SIGTERM)
        await eventually(lambda: worker.events("worker.stopping"), within=10)
        may_answer.set()

        assert await worker.exit_code(within=10) == 0

    assert await shop.states() == {"available": 5}
    assert await shop.rows("SELECT sum(attempt), sum(run), count(worker) FROM backstay.jobs") == [(0, 5, 0)]
    assert not shop.journal()


async def test_a_claim_whose_reply_was_lost_is_given_back_on_leaving(postgres_shop: Workshop) -> None:
    shop = postgres_shop
    await shop.enqueue_many("note", [{"n": n} for n in range(5)])
    async with Proxy.before(shop.url) as proxy:
        proxy.lose_reply(statement("jobs/claim"), until=(may_answer := asyncio.Event()))
        worker = shop.start_worker(url=proxy.url, lease="60s")
        await eventually(lambda: are_claimed(shop, 5), within=20)

        worker.signal(signal.SIGTERM)
        await eventually(lambda: worker.events("worker.stopping"), within=10)
        may_answer.set()

        assert await worker.exit_code(within=10) == 0

    assert await shop.states() == {"available": 5}
    assert await shop.rows("SELECT sum(attempt), count(worker) FROM backstay.jobs") == [(0, 0)]


async def test_a_worker_whose_claim_may_still_come_true_does_not_say_that_it_left_in_order(
    postgres_shop: Workshop,
) -> None:
    """What it is given after it is gone must be taken from it as from one that has died."""
    shop = postgres_shop
    async with Proxy.before(shop.url) as proxy:
        worker = await shop.started_worker(url=proxy.url, lease="60s")
        for change in SLOW_CLAIMS:
            await shop.rows(change)
        await shop.enqueue("note", n=1)
        await eventually(
            lambda: shop.rows("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"), within=20
        )

        worker.signal(signal.SIGTERM)
        await eventually(lambda: worker.events("worker.stopping"), within=5)
        proxy.reset_all()
        assert await worker.exit_code(within=20) == 0

    await eventually(lambda: has_states(shop, {"running": 1}), within=20)
    assert await shop.rows("SELECT count(*) FROM backstay.workers WHERE state = 'stopped'") == [(0,)]


async def has_states(shop: Workshop, wanted: dict[str, int]) -> bool:
    return await shop.states() == wanted


async def test_a_worker_leaves_although_its_database_is_gone(postgres_shop: Workshop) -> None:
    shop = postgres_shop
    async with Proxy.before(shop.url) as proxy:
        worker = await shop.started_worker(url=proxy.url, shutdown_grace="1s")
        await proxy.close()
        await eventually(lambda: worker.events("store.failed"), within=10)

        assert await worker.terminated(within=30) == 0


async def test_a_worker_told_to_stop_before_it_could_connect_leaves(postgres_shop: Workshop) -> None:
    async with Proxy.before(postgres_shop.url) as proxy:
        await proxy.close()
        worker = postgres_shop.start_worker(url=proxy.url)
        await eventually(lambda: worker.events("store.failed"), within=20)

        assert await worker.terminated(within=10) == 0
