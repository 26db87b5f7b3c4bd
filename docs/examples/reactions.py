"""A job that is stored because another one has died."""

import asyncio

from backstay import Backstay, Hopeless
from backstay.records import JobEnded

app = Backstay()
told = asyncio.Event()


@app.job(queue="alerts")
async def alert(ended: JobEnded) -> None:
    """Tell the people who look after payments."""
    error = ended.error or {}
    print(f"{ended.kind} is {ended.state}: {error.get('message')}")
    told.set()


@app.job(on_dead=alert, max_attempts=3)
async def charge(card: str, cents: int) -> None:
    """Its death and the alert are committed together."""
    raise Hopeless("the card was stolen")


async def main() -> None:
    async with app.working():
        await charge.enqueue("4000 0000 0000 9979", 1200)
        await asyncio.wait_for(told.wait(), 10)
    await app.close()


asyncio.run(main())
