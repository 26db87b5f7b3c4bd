"""A first job: store it, run it, read its result."""

import asyncio

from backstay import Backstay

app = Backstay()


@app.job
async def greet(name: str) -> str:
    return f"Hello, {name}!"


async def main() -> None:
    job = await greet.enqueue(name="Ada")
    async with app.working():
        print(await job.result(timeout=10))
    await app.close()


asyncio.run(main())
