"""Do one thing with many jobs: a worker carries it out, at a pace, and tells how far it is."""

import asyncio

from backstay import Backstay, Hopeless
from backstay.records import DeadLetterFilter

app = Backstay()


@app.job(max_attempts=1)
async def charge(order: int) -> None:
    raise Hopeless("the card was refused")


async def main() -> None:
    for order in range(20):
        await charge.enqueue(order=order)
    await app.worker(until_empty=True).run()

    operation = await app.operations.start(
        "dead_letters.resolve",
        DeadLetterFilter(kind="charge"),
        reason="paid by bank transfer",
        by="ada",
        pace=200,
    )
    print(operation.name, operation.status)

    async with app.working():
        while operation.is_running:
            await asyncio.sleep(0.05)
            operation = await app.operations.get(operation.id)
    print(operation.status, operation.done, operation.skipped)
    await app.close()


asyncio.run(main())
