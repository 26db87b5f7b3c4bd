"""See how much waits, how much is done in what time, and how long it takes."""

import asyncio

from backstay import Backstay

app = Backstay()


@app.job(max_attempts=1)
async def send(to: str) -> None:
    if "@" not in to:
        raise ValueError("there is no @ in the address")


async def main() -> None:
    for name in ("ada@example.org", "ben@example.org", "nobody"):
        await send.enqueue(to=name)
    for depth in await app.metrics.depths():
        print(f"{depth.kind} in {depth.queue}: {depth.jobs} {depth.state}")

    await app.worker(until_empty=True).run()

    for minute in await app.metrics.over_time("1h"):
        print(f"{minute.figures.completed} completed, {minute.figures.failed} failed")
    for each in await app.metrics.by_kind("1h"):
        print(f"{each.kind}: {each.figures.success_rate:.0%} succeeded")
    await app.close()


asyncio.run(main())
