"""Who leads promotes, releases and fires; who does not lead any more leaves it to others."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter

from support import eventually

from backstay import Backstay
from backstay.worker.worker import Worker

DUTIES = {"Promoter.run": 1, "Releaser.run": 1, "Scheduler.run": 1}
SOMEBODY_ELSE = "UPDATE backstay_leaders SET worker = 'somebody else'"
NOBODY = "DELETE FROM backstay_leaders"


def duties_of(worker: Worker) -> Counter[str]:
    """The leader's duties that run in this worker, each with how often it runs."""
    assert worker._engine_loop is not None
    running = (
        getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks(worker._engine_loop)
    )
    return Counter(name for name in running if name in DUTIES)


def execute(url: str, statement: str) -> None:
    file = sqlite3.connect(url.removeprefix("sqlite:///"))
    with file:
        file.execute(statement)
    file.close()


async def test_a_leader_does_each_duty_once_and_none_after_it_has_lost_the_lead(sqlite_url: str) -> None:
    app = Backstay(sqlite_url, settings={"tick": "100ms", "leader_lease": "60s"})

    @app.job
    async def note() -> None: ...

    async with app.working() as worker:
        for _ in range(3):
            await eventually(lambda: duties_of(worker) == DUTIES, within=10)
            execute(sqlite_url, SOMEBODY_ELSE)
            await eventually(lambda: not duties_of(worker), within=10)
            execute(sqlite_url, NOBODY)
        await eventually(lambda: duties_of(worker) == DUTIES, within=10)
    await app.close()
