"""Workers that are told what to do through the register: drain, go on, leave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from backstay import Backstay
from backstay.errors import InvalidJob, NotFound
from backstay.model.records import WorkerRecord
from backstay.model.states import State


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.02)


async def the_worker(app: Backstay) -> WorkerRecord:
    [worker] = [one for one in await app.workers.all() if one.state in ("alive", "stopping")]
    return worker


async def test_a_drained_worker_finishes_what_it_has_and_claims_again_when_it_may(
    empty_app: Backstay,
) -> None:
    app = empty_app
    gate, begun = asyncio.Event(), asyncio.Event()

    @app.job
    async def wait() -> str:
        begun.set()
        await gate.wait()
        return "done"

    @app.job
    async def quick() -> int:
        return 7

    worker = app.worker(concurrency=2)
    task = asyncio.create_task(worker.run())
    first = await wait.enqueue()
    await asyncio.wait_for(begun.wait(), 30)

    await app.workers.drain((await the_worker(app)).id, reason="a new kernel", by="ann")
    await until(lambda: worker._fetcher is not None and worker._fetcher.is_draining)
    second = await quick.enqueue()
    gate.set()
    finished = await first.result(timeout=30)
    drained, held_back = await the_worker(app), (await second.get()).state
    await app.workers.resume(drained.id, by="ann")
    result = await second.result(timeout=30)
    await app.workers.stop(drained.id, reason="a new kernel", by="ann")
    await asyncio.wait_for(task, 30)

    [gone] = await app.workers.all()
    assert (finished, drained.standing, held_back) == ("done", "draining", State.AVAILABLE)
    assert (result, gone.state, gone.told_by) == (7, "stopped", "ann")


async def test_who_is_not_there_cannot_be_told_and_a_reason_is_needed(empty_app: Backstay) -> None:
    app = empty_app
    with pytest.raises(NotFound):
        await app.workers.drain("nobody", reason="because")
    with pytest.raises(InvalidJob):
        await app.workers.stop("nobody", reason=" ")
