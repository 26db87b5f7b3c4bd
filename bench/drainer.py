"""A worker in a process of its own that drains a backlog and prints how many jobs it settled a second."""

from __future__ import annotations

import asyncio
import logging
import sys
import time

import uvloop

from windlass import Windlass
from windlass.cli.worker import collect_less_often
from windlass.handler import AsyncHandler


def application(url: str) -> tuple[Windlass, AsyncHandler[[int], None]]:
    """An application whose one job does nothing, so that only the engine is measured."""
    app = Windlass(url)

    @app.job
    async def noop(n: int) -> None: ...

    return app, noop


async def drain(url: str, jobs: int) -> float:
    """Jobs settled a second, from the first settlement to the last; the start-up is not what is measured."""
    app, _ = application(url)
    worker = app.worker(concurrency=100)
    # As `windlass worker` does it.
    collect_less_often()
    running = asyncio.create_task(worker.run())
    while (first := worker.settled) == 0:  # noqa: ASYNC110  # looking costs the worker less than being told
        await asyncio.sleep(0.001)
    started = time.perf_counter()
    while worker.settled < jobs:  # noqa: ASYNC110  # as above, looking costs less
        await asyncio.sleep(0.005)
    taken = time.perf_counter() - started
    worker.stop()
    await running
    await app.close()
    return (jobs - first) / taken


if __name__ == "__main__":
    logging.getLogger("windlass").setLevel(logging.ERROR)
    # The loop that `windlass worker` runs handlers on.
    print(uvloop.run(drain(sys.argv[1], int(sys.argv[2]))))
