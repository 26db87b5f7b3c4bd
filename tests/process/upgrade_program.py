"""A program that runs on two releases: `python upgrade_program.py URL NAME migrate|store|work`, until SIGTERM.

It says on standard output what it has done, and ends with an error at the first thing that a user would notice.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import backstay
from backstay import Backstay
from backstay.errors import BackstayError

PACE = 0.01
FAST: dict[str, Any] = {"tick": "500ms", "leader_lease": "2s", "poll_busy": "200ms", "poll_idle": "500ms"}


def tell(**facts: Any) -> None:
    """Say something to the test."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def application(url: str, name: str) -> Backstay:
    """Jobs of which the process tells how many have run."""
    app, ran = Backstay(url, settings=FAST), count(1)

    def note() -> str:
        tell(ran=next(ran))
        return name

    @app.job(kind="told")
    async def told(number: int) -> str:
        return note()

    @app.job(kind="retried", backoff=timedelta(milliseconds=100))
    async def retried(number: int) -> str:
        if backstay.current().attempt == 1:
            raise ValueError("the first attempt always fails")
        return note()

    return app


async def migrate(app: Backstay, stop: asyncio.Event) -> None:
    """Bring the tables up to this release."""
    tell(applied=await app.migrate())


async def store(app: Backstay, stop: asyncio.Event) -> None:
    """Store jobs of both kinds until told to stop."""
    stored = 0
    tell(began=str(Path(backstay.__file__).parent))
    while not stop.is_set():
        for kind in ("told", "retried"):
            await app.jobs.enqueue_by_name(kind, {"number": stored})
            stored += 1
        await app.jobs.counts()
        await asyncio.sleep(PACE)
    tell(stored=stored)


async def work(app: Backstay, stop: asyncio.Event) -> None:
    """Work until told to stop."""
    worker = app.worker(shutdown_grace="5s", concurrency=4)
    running = asyncio.create_task(worker.run())
    await stop.wait()
    worker.stop()
    await running


async def main(url: str, name: str, does: str) -> None:
    """Do one thing."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    app = application(url, name)
    try:
        await {"migrate": migrate, "store": store, "work": work}[does](app, stop)
    except BackstayError as error:
        sys.exit(f"{does} of the {name} release: {type(error).__name__}: {error}")
    finally:
        await app.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
