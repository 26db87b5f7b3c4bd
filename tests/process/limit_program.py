"""A worker whose kinds are under limits: `python limit_program.py URL CONCURRENCY [CEILING QUEUE]`, until SIGTERM."""

from __future__ import annotations

import asyncio
import random
import signal
import sys

from backstay import Backoff, Backstay, Limit, Rate

QUEUES = 9
PACE = {"tick": "500ms", "leader_lease": "2s"}


def application(url: str, *, ceiling: int | None = None, queue_limit: int | None = None) -> Backstay:
    """The application under test; leases are short, so that lost ones are rescued while a test waits."""
    app = Backstay(url, settings=PACE, emit=tell)
    numbers = {"lease": "3s", "backoff": Backoff.fixed("20ms"), "max_attempts": 50, "max_crashes": 50}
    if ceiling is not None:
        app.ceiling(ceiling)

    @app.job(limit=Limit(1, key="k:{key}"), **numbers)
    async def exclusive(key: int, n: int) -> None:
        await asyncio.sleep(random.uniform(0.005, 0.05))
        if random.random() < 0.05:
            raise ConnectionError("now and then")

    @app.job(ordered_by="line:{key}", **numbers)
    async def ordered(key: int, n: int) -> None:
        await asyncio.sleep(random.uniform(0.001, 0.01))

    @app.job(rate=Rate("40/s", burst=10), **numbers)
    async def paced(n: int) -> None: ...

    here: set[int] = set()

    @app.job(**numbers)
    async def crowded(n: int) -> int:
        """Return how many run in this process, this one included."""
        here.add(n)
        try:
            await asyncio.sleep(0.1)
            return len(here)
        finally:
            here.discard(n)

    for number in range(QUEUES if queue_limit is not None else 0):
        app.queue(f"q{number}", limit=queue_limit)
    return app


def tell(event: str, /, **facts: object) -> None:
    """Say what went wrong where the test can read it."""
    if event in ("store.failed", "duty.failed"):
        sys.stdout.write(f"{event} {facts.get('doing')} {facts.get('error')}\n")
        sys.stdout.flush()


async def main(url: str, concurrency: int, ceiling: int | None, queue_limit: int | None) -> None:
    """Work until told to stop."""
    app = application(url, ceiling=ceiling, queue_limit=queue_limit)
    worker = app.worker(concurrency=concurrency, shutdown_grace="2s")
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    await worker.run()
    await app.close()


if __name__ == "__main__":
    _, given_url, given_concurrency, *rest = sys.argv
    asyncio.run(main(given_url, int(given_concurrency), *[int(n) for n in rest], *[None] * (2 - len(rest))))
