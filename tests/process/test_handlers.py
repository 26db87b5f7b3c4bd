"""Handlers that block, ignore their limits or raise what handlers should not raise."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest
from program import UNUSUAL
from support import Workshop, eventually

from backstay import Backstay, Context
from backstay.errors import SchemaMismatch
from backstay.model.events import silent
from backstay.options import JobOptions
from backstay.testing import PrivatePostgres


async def test_a_handler_that_blocks_its_loop_keeps_its_lease(shop: Workshop) -> None:
    """ENG-039: slow is not stale, as long as the worker itself beats."""
    blocked = await shop.started_worker(lease="1s", kinds=["block"])
    await shop.started_worker(lease="1s")
    job_id = await shop.enqueue("block", seconds=3)
    await eventually(lambda: shop.journal("start"), within=10)

    await shop.all_ended(1, within=10)

    job = await shop.app.jobs.get(job_id)
    assert (job.attempt, job.run, job.lease_epoch) == (1, 1, 2)
    assert len(shop.journal("start")) == 1
    assert not blocked.events("claim.lost")


@pytest.mark.parametrize("kind", ["stubborn", "deaf"])
async def test_a_handler_that_ignores_its_time_limit_loses_the_job_but_keeps_its_slot(
    shop: Workshop, kind: str
) -> None:
    first = await shop.started_worker(concurrency=1)
    job_id = await shop.enqueue(kind, path=str(shop.gate()))
    await eventually(lambda: first.events("worker.tainted"), within=10)

    await shop.enqueue("note", n=1)
    second = await shop.started_worker(concurrency=1)
    await shop.all_ended(2, within=15)

    job = await shop.app.jobs.get(job_id)
    attempts = await shop.app.jobs.attempts(job_id)
    assert [(attempt.status, attempt.attempt) for attempt in attempts] == [("timeout", 1)]
    assert attempts[0].error is not None
    assert attempts[0].error["error_class"] == "timeout"
    assert 1400 <= (attempts[0].duration_ms or 0) < 4000, "half a second of limit, one of grace"
    assert job.attempt == 2
    assert {line.pid for line in shop.journal("start")[1:]} == {second.pid}

    shop.gate().touch()
    await eventually(lambda: len(shop.journal("end", job_id=job_id)) == 2, within=5)
    assert await second.terminated() == 0
    await shop.enqueue("note", n=2)
    await shop.all_ended(3, within=10)
    assert shop.journal("end")[-1].pid == first.pid, "the slot is free again"
    assert (await shop.app.jobs.get(job_id)).attempt == 2
    assert await first.terminated() == 0


@pytest.mark.parametrize("kind", ["raise_on_loop", "raise_in_thread"])
async def test_whatever_a_handler_raises_is_the_failure_of_its_job_alone(shop: Workshop, kind: str) -> None:
    worker = await shop.started_worker(concurrency=4)
    ids = {name: await shop.enqueue(kind, name=name) for name in UNUSUAL}

    async def all_dead() -> bool:
        return (await shop.states())["dead"] == len(ids)

    await eventually(all_dead, within=10)
    for name, job_id in ids.items():
        error = (await shop.app.jobs.get(job_id)).error
        assert error is not None
        assert error["type"].rpartition(".")[2] == name
    await shop.enqueue("note", n=1)
    await shop.all_ended(1, within=10)
    assert await worker.terminated() == 0


async def test_context_and_tenant_do_not_pass_from_job_to_job(url: str) -> None:
    app = Backstay(url, emit=silent)
    leaked: list[object] = []
    mine: contextvars.ContextVar[str] = contextvars.ContextVar("mine", default="")

    def look(ctx: Context, tenant: str) -> None:
        leaked.extend([mine.get()] if mine.get() else [])
        leaked.extend([(ctx.tenant, tenant)] if ctx.tenant != tenant else [])
        mine.set(tenant)

    @app.job
    async def on_loop(ctx: Context, tenant: str) -> None:
        look(ctx, tenant)
        await asyncio.sleep(0)

    @app.job
    def in_thread(ctx: Context, tenant: str) -> None:
        look(ctx, tenant)

    calls = [
        handler.options(tenant=tenant).args(tenant=tenant)
        for _ in range(250)
        for tenant in ("acme", "bolt")
        for handler in (on_loop, in_thread)
    ]
    await app.jobs.enqueue_many(calls)
    async with app.working(concurrency=4) as worker:
        await eventually(lambda: worker.settled == 1000, within=30)

    assert leaked == []
    assert mine.get() == ""
    await app.close()


async def test_an_embedded_worker_runs_handlers_on_the_applications_loop(url: str) -> None:
    app = Backstay(url, emit=silent)
    loops: list[asyncio.AbstractEventLoop] = []
    threads: list[threading.Thread] = []
    may_end = asyncio.Event()

    @app.job
    async def on_loop() -> None:
        loops.append(asyncio.get_running_loop())
        threads.append(threading.current_thread())
        await may_end.wait()

    @app.job
    def in_thread() -> None:
        threads.append(threading.current_thread())

    async with app.working(concurrency=2) as worker:
        handles = [await on_loop.enqueue(), await in_thread.enqueue()]
        await eventually(lambda: len(threads) == 2, within=10)
        asyncio.get_running_loop().call_later(0.2, may_end.set)

    assert [(await handle.get()).state for handle in handles] == ["completed", "completed"]
    assert loops == [asyncio.get_running_loop()]
    assert sum(thread is threading.main_thread() for thread in threads) == 1
    assert worker.running == 0
    await app.close()


async def test_a_worker_that_cannot_start_says_so_at_once(postgres_server: PrivatePostgres) -> None:
    postgres_server.create_database("without_tables")
    app = Backstay(postgres_server.url("without_tables"), emit=silent)

    @app.job
    async def nothing() -> None: ...

    async def work() -> None:
        async with app.working():
            pass

    with pytest.raises(SchemaMismatch):
        await asyncio.to_thread(asyncio.run, work())


async def test_a_paused_queue_starts_nothing_and_loses_nothing(shop: Workshop) -> None:
    await shop.started_worker(concurrency=2, poll_busy="100ms", poll_idle="100ms")
    running = await shop.enqueue_many("wait_for_file", [{"path": str(shop.gate())}] * 2)
    await eventually(lambda: len(shop.journal("start")) == 2, within=10)

    await shop.app.queues.pause("default", reason="maintenance")
    await shop.enqueue_many("note", [{"n": n} for n in range(20)])
    shop.gate().touch()
    await shop.all_ended(2, within=10)
    marker = await shop.app.jobs.enqueue_by_name("note", {"n": -1}, JobOptions(queue="other", delay="500ms"))
    await shop.all_ended(3, within=10)

    assert {line.job_id for line in shop.journal("start")} == {*map(str, running), str(marker.id)}
    assert await shop.states() == {"completed": 3, "available": 20}

    assert await shop.app.queues.resume("default")
    await shop.all_ended(23, within=10)
    assert len(shop.journal("start")) == 23


async def test_a_job_of_a_kind_that_no_worker_knows_waits_untouched(shop: Workshop) -> None:
    shop.app.declare("elsewhere")
    before = await shop.app.jobs.get(await shop.enqueue("elsewhere", anything=1))
    await shop.started_worker(poll_busy="100ms", poll_idle="100ms")

    await shop.app.jobs.enqueue_by_name("note", {"n": 1}, JobOptions(delay="500ms"))
    await shop.all_ended(1, within=10)

    assert await shop.app.jobs.get(before.id) == before
    assert (before.state, before.attempt, before.run) == ("available", 0, 0)
