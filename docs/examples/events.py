"""Hearing of events in code: here they are only counted."""

import asyncio
from collections import Counter

from backstay import Backstay

heard = Counter[str]()


def tell(event: str, /, **facts: object) -> None:
    heard[event] += 1


app = Backstay(emit=tell)


@app.job
async def work(number: int) -> int:
    return number


async def main() -> None:
    async with app.working():
        job = await work.enqueue(number=1)
        await job.result(timeout=10)
    print(heard)
    assert heard["worker.started"] == heard["worker.stopped"] == 1
    await app.close()


asyncio.run(main())
