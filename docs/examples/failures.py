"""See what jobs die of over time, whether it is new or has come back, and say who looks after it."""

import asyncio
import logging

from backstay import Backstay, Hopeless

logging.getLogger("backstay").setLevel(logging.CRITICAL)
app = Backstay()


@app.job(max_attempts=1)
async def charge(order: int) -> None:
    raise Hopeless("the card was refused")


async def main() -> None:
    for order in range(3):
        await charge.enqueue(order=order)
    await app.worker(until_empty=True).run()

    [failure] = await app.failures.all("24h")
    print(failure.kind, failure.message, failure.deaths, failure.is_new)
    await app.failures.assign(failure.fingerprint, "ada", by="ben")
    await app.failures.close(failure.fingerprint, reason="the gateway was mended", by="ada")

    await charge.enqueue(order=4)
    await app.worker(until_empty=True).run()
    [failure] = await app.failures.all("24h")
    print(failure.owner, failure.deaths, failure.is_regressed)
    await app.close()


asyncio.run(main())
