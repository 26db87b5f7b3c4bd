"""Locks in handlers, and many recurring tasks behind one kind."""

import asyncio
from datetime import UTC, datetime

from backstay import Backstay, Context, Tasks

app = Backstay()
tasks = Tasks(app, queue="upkeep")


@app.job
async def rebuild_index(ctx: Context, shop: int) -> str:
    """One at a time for each shop; another job waits without spending an attempt."""
    async with ctx.lock(f"index:{shop}", ttl="10m") as lock:
        return f"rebuilt under fence {lock.fence}"


@tasks.task(period="15m")
async def poll_weather(now: datetime) -> int:
    """Runs once for every quarter of an hour; the number is what the history shows."""
    return now.minute


@tasks.task(period="1d")
def send_digest(now: datetime) -> dict[str, int]:
    """A task need not be async."""
    return {"items": 3, "day": now.day}


tasks.schedule("poll_weather", "*/15 * * * *")
tasks.schedule("send_digest", "0 6 * * *", zone="Europe/Berlin")


async def outside() -> None:
    """A program that is no job takes locks as well."""
    held = await app.locks.acquire("release", ttl="5m", holder="deploy script")
    assert held is not None
    assert await app.locks.acquire("release", ttl="5m", holder="somebody else") is None
    await app.locks.release(held)


async def main() -> None:
    await outside()
    quarter = datetime(2026, 3, 1, 10, 15, tzinfo=UTC)
    async with app.working():
        print(await (await rebuild_index.enqueue(shop=7)).result(timeout=30))
        first = await (await tasks.enqueue("poll_weather", reference_time=quarter)).result(timeout=30)
        again = await (await tasks.enqueue("poll_weather", reference_time=quarter)).result(timeout=30)
        forced = await (await tasks.enqueue("poll_weather", reference_time=quarter, force=True)).result(
            timeout=30
        )
    assert first["items"] == forced["items"] == 15
    print(again["skipped"])
    await app.close()


if __name__ == "__main__":
    asyncio.run(main())
