"""A worker learns that another one takes from the same lines, and that it is by itself again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from backstay import Backstay
from backstay.worker.worker import Worker


def reckons_with_others(worker: Worker) -> bool:
    fetcher = worker._fetcher
    return fetcher is not None and fetcher.claim_cursor.has_competitors


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.02)


async def test_a_worker_knows_whether_others_take_from_its_lines(empty_app: Backstay) -> None:
    app = empty_app

    @app.job
    async def note() -> None: ...

    async with app.working() as first:
        async with app.working() as second:
            await until(lambda: reckons_with_others(first) and reckons_with_others(second))

        await until(lambda: not reckons_with_others(first))
