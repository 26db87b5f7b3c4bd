"""Asking from code whether workers are at work: for a deploy script, or a page that shows it."""

import asyncio
from datetime import timedelta

from backstay import Backstay

app = Backstay()


@app.job
async def work(number: int) -> int:
    return number


async def at_work(kind: str) -> int:
    """How many jobs of this kind can run at the same time, now."""
    workers = [
        worker
        for worker in await app.workers.all()
        if worker.state == "alive" and worker.silent_for < timedelta(seconds=30) and kind in worker.kinds
    ]
    for worker in workers:
        print(worker.id, worker.type, f"{worker.running}/{worker.concurrency}", worker.rss_mb, "MB")
    return sum(worker.concurrency - worker.tainted for worker in workers)


async def main() -> None:
    assert await at_work("work") == 0
    async with app.working(concurrency=20, worker_type="import"):
        assert await at_work("work") == 20
    await app.close()


asyncio.run(main())
