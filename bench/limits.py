"""What limits cost: plain jobs with and without limited kinds beside them, in turn, and limited jobs themselves.

    python -m bench.limits [JOBS [ROUNDS]]

Starts a PostgreSQL server of its own. Only figures of the same run can be compared.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from typing import Any

from backstay import Backstay, Limit
from backstay.testing import PrivatePostgres


def silent(event: str, /, **facts: Any) -> None:
    """Tell nobody."""


async def nothing(key: int) -> None:
    """Do nothing, so that only the engine is measured."""


async def drain(url: str, jobs: int, *, limited_beside: int = 0, limit: Any = None, keys: int = 1) -> float:
    """How many jobs a second one worker completes."""
    app = Backstay(url, emit=silent)
    options = {} if limit is None else {"limit": limit}
    handler = app.job(kind="measured", **options)(nothing)
    for number in range(limited_beside):
        app.job(kind=f"limited{number}", limit=Limit(1, key="k:{key}"))(nothing)
    for first in range(0, jobs, 1000):
        await app.jobs.enqueue_many(
            [handler.args(key=(first + n) % keys) for n in range(min(1000, jobs - first))]
        )
    worker = app.worker(concurrency=50)
    began = time.perf_counter()
    running = asyncio.create_task(worker.run())
    while worker.settled < jobs:  # noqa: ASYNC110  # it counts on a thread of its own
        await asyncio.sleep(0.005)
    took = time.perf_counter() - began
    worker.stop()
    await running
    await app.close()
    return jobs / took


async def main(jobs: int, rounds: int) -> None:
    """Measure in turn and print medians."""
    with PrivatePostgres.start(fsync=False) as server:
        server.create_database("bench")
        url = server.url("bench")
        app = Backstay(url, emit=silent)
        await app._connections.migrate()
        await app.close()
        ratios, alone = [], []
        for number in range(rounds):
            order = (0, 5) if number % 2 else (5, 0)
            found = {beside: await drain(url, jobs, limited_beside=beside) for beside in order}
            alone.append(found[0])
            ratios.append(found[5] / found[0])
        print(f"plain jobs alone: {statistics.median(alone):,.0f} a second")
        print(f"with five limited kinds in the same worker: {statistics.median(ratios):.3f} of that")
        print(f"a kind's limit of 50: {await drain(url, jobs // 2, limit=50):,.0f} a second")
        each = Limit(1, key="k:{key}")
        for keys in (jobs, 100, 5):
            number = min(jobs // 2, keys * 60)
            print(
                f"one for each of {keys:,} keys: {await drain(url, number, limit=each, keys=keys):,.0f} a second"
            )


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    asyncio.run(main(*given, *(6000, 7)[len(given) :]))
