"""How soon workers hear of what others did, and that they find it without hearing."""

from __future__ import annotations

import asyncio
import time

import asyncpg
import pytest
from support import Workshop, eventually

from backstay import State
from backstay.client.waiting import LET_BE
from backstay.errors import ResultTimeout
from backstay.options import JobOptions
from chaos.proxy import Proxy, statement


@pytest.mark.parametrize("kind", ["wait_for_file", "wait_in_thread"])
async def test_a_running_job_is_stopped_long_before_its_lease_is_renewed(shop: Workshop, kind: str) -> None:
    worker = await shop.started_worker(lease="60s")
    job_id = await shop.enqueue(kind, path=str(shop.gate()))
    await eventually(lambda: shop.journal("start"), within=10)

    assert await shop.app.jobs.cancel(job_id, reason="not wanted") is State.RUNNING
    await eventually(lambda: is_cancelled(shop, job_id), within=5)

    assert (await shop.app.jobs.get(job_id)).reason == "not wanted"
    assert await worker.terminated() == 0
    assert len(shop.journal("start")) == 1


async def test_a_request_to_stop_is_heard_although_the_first_look_for_it_fails(
    postgres_shop: Workshop,
) -> None:
    shop = postgres_shop
    async with Proxy.before(shop.url) as proxy:
        await shop.started_worker(url=proxy.url, lease="60s")
        job_id = await shop.enqueue("wait_for_file", path=str(shop.gate()))
        await eventually(lambda: shop.journal("start"), within=10)
        cut = proxy.lose_reply(statement("jobs/cancel_requests"))

        await shop.app.jobs.cancel(job_id, reason="not wanted")
        await eventually(lambda: is_cancelled(shop, job_id), within=10)

        assert cut.seen


async def is_cancelled(shop: Workshop, job_id: object) -> bool:
    return (await shop.app.jobs.get(str(job_id))).state is State.CANCELLED


async def test_a_job_of_another_process_starts_long_before_a_poll(shop: Workshop) -> None:
    """ENG-045: a hint ends the wait."""
    await shop.started_worker(poll_idle="60s", poll_busy="60s")
    await shop.enqueue("note", n=0)
    await eventually(lambda: shop.journal("end"), within=5)

    for n in range(1, 6):
        await shop.enqueue("note", n=n)
        await eventually(lambda wanted=n + 1: len(shop.journal("end")) == wanted, within=5)


async def test_an_urgent_job_does_not_wait_for_a_poll_because_its_turn_is_before_that_of_the_last(
    shop: Workshop,
) -> None:
    await shop.started_worker(poll_idle="60s", poll_busy="60s")
    await shop.enqueue("note", n=0)
    await eventually(lambda: shop.journal("end"), within=5)

    await shop.app.jobs.enqueue_by_name("note", {"n": 1}, JobOptions(priority=1))

    await eventually(lambda: len(shop.journal("end")) == 2, within=5)


async def test_an_urgent_job_that_comes_with_another_does_not_wait_for_its_end(shop: Workshop) -> None:
    await shop.started_worker(poll_idle="60s", poll_busy="60s")
    await shop.enqueue("note", n=0)
    await eventually(lambda: shop.journal("end"), within=5)

    await shop.app.queues.pause("default", reason="to be given both at once")
    await shop.enqueue("wait_for_file", path=str(shop.gate()))
    await shop.app.jobs.enqueue_by_name("note", {"n": 1}, JobOptions(priority=1))
    await shop.app.queues.resume("default")

    await eventually(lambda: len(shop.journal("end")) == 2, within=5)


async def test_a_job_in_a_queue_where_nobody_looked_starts_long_before_a_tick(shop: Workshop) -> None:
    """On SQLite the hint is only that something changed."""
    await shop.started_worker(ticks=False, poll_idle="60s", poll_busy="60s")

    await shop.app.jobs.enqueue_by_name("note", {"n": 1}, JobOptions(queue="elsewhere"))

    await shop.all_ended(1, within=10)
    assert len(shop.journal("end")) == 1


async def test_a_job_passed_over_while_its_waiter_was_noted_does_not_wait_for_a_poll(
    postgres_shop: Workshop,
) -> None:
    shop = postgres_shop
    await shop.started_worker(poll_idle="60s", poll_busy="60s")
    await shop.app.queues.pause("default", reason="to be locked first")
    handle = await shop.app.jobs.enqueue_by_name("note", {"n": 1})
    other = await asyncpg.connect(shop.url)
    try:
        async with other.transaction():
            await other.execute("SELECT 1 FROM backstay.jobs WHERE id = $1 FOR UPDATE", handle.id)
            await shop.app.queues.resume("default")
            await shop.enqueue("note", n=2)
            await shop.all_ended(1, within=5)
            waiting = asyncio.create_task(handle.result(timeout=5))
            await eventually(lambda: is_noting(shop), within=5)

        assert await waiting == 1
    finally:
        await other.close()


async def test_a_job_that_can_be_claimed_is_let_be_for_a_while_by_who_waits_for_it(shop: Workshop) -> None:
    handle = await shop.app.jobs.enqueue_by_name("note", {"n": 1})

    with pytest.raises(ResultTimeout):
        await handle.result(timeout=LET_BE / 2)
    noted_early = await shop.rows("SELECT 1 FROM backstay.jobs WHERE is_awaited")
    with pytest.raises(ResultTimeout):
        await handle.result(timeout=4 * LET_BE)

    assert not noted_early
    assert await shop.rows("SELECT 1 FROM backstay.jobs WHERE is_awaited")


async def is_noting(shop: Workshop) -> bool:
    found = await shop.rows(
        "SELECT 1 FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%is_awaited = TRUE%'"
    )
    return bool(found)


async def test_a_delayed_job_starts_when_it_is_due(shop: Workshop) -> None:
    await shop.started_worker(poll_idle="60s", poll_busy="60s", tick=10)

    began = time.monotonic()
    await shop.app.jobs.enqueue_by_name("note", {"n": 1}, JobOptions(delay="1s"))
    await eventually(lambda: shop.journal("end"), within=5)

    assert time.monotonic() - began >= 1


async def test_a_listener_that_was_cut_off_listens_again(postgres_shop: Workshop) -> None:
    shop = postgres_shop
    await shop.started_worker(poll_idle="60s", poll_busy="60s")
    before = await eventually(lambda: listeners(shop), within=5)

    await shop.rows(f"SELECT pg_terminate_backend(pid) FROM ({LISTENERS}) AS listener")
    await eventually(lambda: is_listening_anew(shop, before), within=5)
    await shop.enqueue("note", n=1)

    await eventually(lambda: shop.journal("end"), within=5)


LISTENERS = (
    "SELECT pid FROM pg_stat_activity"
    " WHERE datname = current_database() AND (query LIKE 'LISTEN%' OR query LIKE '%pg_listening_channels%')"
    " AND pid <> pg_backend_pid()"
)


async def listeners(shop: Workshop) -> set[int]:
    return {row[0] for row in await shop.rows(LISTENERS)}


async def is_listening_anew(shop: Workshop, before: set[int]) -> bool:
    now = await listeners(shop)
    return bool(now) and not now & before


async def test_a_job_stored_while_nobody_listened_is_found_on_listening_again(
    postgres_shop: Workshop,
) -> None:
    shop = postgres_shop
    async with Proxy.before(shop.url) as proxy:
        await shop.started_worker(url=proxy.url, poll_idle="60s", poll_busy="60s")
        await eventually(lambda: listeners(shop), within=5)
        await proxy.close()
        await shop.enqueue("note", n=1)

        await proxy.open()
        await eventually(lambda: shop.journal("end"), within=15)


async def test_polling_finds_what_no_hint_told_of(shop: Workshop) -> None:
    """ENG-045: so does the time of a poll."""
    await shop.started_worker(poll_idle="300ms", hints=False)
    await shop.enqueue("note", n=0)
    await eventually(lambda: shop.journal("end"), within=10)

    await shop.enqueue("note", n=1)

    await eventually(lambda: len(shop.journal("end")) == 2, within=5)
