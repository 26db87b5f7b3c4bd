"""Running handlers in processes of their own: one that takes too long is killed."""

import asyncio

from heavy import app, count_primes

from backstay.errors import JobDead


async def main() -> None:
    async with app.working(concurrency=2):
        print(await (await count_primes.enqueue(below=1_000)).result(timeout=30))
        try:
            await (await count_primes.enqueue(below=1_000_000_000)).result(timeout=30)
        except JobDead as error:
            print(error.error["message"])
    await app.close()


asyncio.run(main())
