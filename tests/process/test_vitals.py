"""What can be seen of a worker: what it uses, what it does, and which handler does it harm."""

from __future__ import annotations

from support import Workshop, eventually

from backstay.model.records import WorkerRecord


async def entry(shop: Workshop) -> WorkerRecord:
    [worker] = await shop.app.workers.all()
    return worker


async def test_a_worker_tells_what_it_uses_and_what_it_has_done(shop: Workshop) -> None:
    await shop.started_worker(concurrency=3)
    await shop.enqueue_many("note", [{"n": n} for n in range(20)])
    await shop.enqueue("wait_for_file", path=str(shop.gate()))

    async def is_told() -> bool:
        seen = await entry(shop)
        return (seen.running, seen.settled) == (1, 20)

    await eventually(is_told, within=15)
    seen = await entry(shop)
    shop.gate().touch()

    assert seen.rss_mb is not None
    assert 10 < seen.rss_mb < 500
    assert seen.cpu_percent is not None
    assert seen.cpu_percent >= 0
    assert seen.loop_lag_ms is not None
    assert (seen.type, seen.tainted) == ("general", 0)


async def test_the_job_and_the_line_that_block_the_event_loop_are_named(sqlite_shop: Workshop) -> None:
    worker = await sqlite_shop.started_worker()
    job_id = await sqlite_shop.enqueue("block", seconds=4)

    [told] = await eventually(lambda: worker.events("loop.blocked"), within=10)

    async def lag_is_seen() -> bool:
        return ((await entry(sqlite_shop)).loop_lag_ms or 0) > 1000

    await eventually(lag_is_seen, within=5)
    assert (told["job_id"], told["kind"]) == (str(job_id), "block")
    assert told["blocked_ms"] >= 1000
    assert "program.py:" in told["line"]
    assert told["line"].endswith("in application.<locals>.block")


async def test_a_handler_that_ignores_its_time_limit_taints_its_worker(sqlite_shop: Workshop) -> None:
    shop = sqlite_shop
    worker = await shop.started_worker(concurrency=2)
    job_id = await shop.enqueue("stubborn", path=str(shop.gate()))
    await shop.all_ended(1, within=15)

    async def is_tainted() -> bool:
        return (await entry(shop)).tainted == 1

    await eventually(is_tainted, within=10)
    [finding] = [one for one in await shop.app.doctor.check() if one.code == "tainted_worker"]
    shop.gate().touch()

    async def is_clean() -> bool:
        return (await entry(shop)).tainted == 0

    await eventually(is_clean, within=10)
    assert "1 of 2 slots are lost" in finding.detail
    assert [told["job_id"] for told in worker.events("worker.tainted")] == [str(job_id)]
