"""Tables of your own beside Backstay's, brought up to date by the same call."""

import asyncio
from pathlib import Path

from backstay import Backstay, Context, Migrations

app = Backstay(migrations=Migrations("shop", Path(__file__).parent / "own_tables"))


@app.job
async def place(ctx: Context, order_id: int, units: int) -> None:
    async with ctx.transaction() as tx:
        await tx.execute("INSERT INTO orders (id, units) VALUES (?, ?)", order_id, units)


async def main() -> None:
    print(await app.migrate())
    async with app.working():
        job = await place.enqueue(order_id=1, units=250)
        await job.result()
    print(await app.migrate())
    await app.close()


asyncio.run(main())
