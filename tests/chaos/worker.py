"""The program of a worker: `python -m chaos.worker '{"url": …, "journal": …}'` works until SIGTERM."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys

from chaos import mutants
from chaos.workload import Settings, application, shorten


async def work(settings: Settings) -> None:
    worker = application(settings).worker(
        concurrency=settings.get("concurrency", 8),
        kinds=settings.get("kinds"),
        shutdown_grace=2,
        poll_busy="200ms",
        poll_idle="500ms",
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, worker.stop)
    await worker.run()
    if worker.running:
        os._exit(0)


if __name__ == "__main__":
    given: Settings = json.loads(sys.argv[1])
    shorten(given)
    mutants.plant_chosen()
    asyncio.run(work(given))
