"""Batches: a handler that takes many jobs at once, and gives each its own ending."""

import asyncio

from backstay import Backstay, BatchItem
from backstay.errors import JobDead

app = Backstay()

NAMES = {"LHR": "London Heathrow", "JFK": "New York", "NRT": "Tokyo Narita"}


@app.batch_job(size=100, wait="50ms")
async def look_up(items: list[BatchItem[str]]) -> None:
    """One question to the service for up to a hundred jobs."""
    print(f"{len(items)} at once")
    for item in items:
        if item.value in NAMES:
            item.complete(NAMES[item.value])
        else:
            item.fail(LookupError(f"no airport {item.value}"))


async def main() -> None:
    jobs = await app.jobs.enqueue_many([look_up.args(code) for code in ("LHR", "JFK", "NRT")])
    unknown = await look_up.options(max_attempts=1).enqueue("ZZZ")
    async with app.working():
        print([await job.result(timeout=10) for job in jobs])
        try:
            await unknown.result(timeout=10)
        except JobDead as error:
            print(error.error["message"])
    await app.close()


asyncio.run(main())
