"""Follow a job while it runs: its state first, then every change as it commits."""

import asyncio

from backstay import Backstay, Context

app = Backstay()


@app.job
async def convert(ctx: Context, pages: int) -> int:
    for page in range(1, pages + 1):
        ctx.progress(page, pages)
    return pages


async def main() -> None:
    job = await convert.enqueue(pages=3)
    async with app.working():
        async for event in app.live.follow(f"job:{job.id}"):
            if event.data.get("state") == "completed":
                break
    print("completed")

    async for event in app.live.follow("kind:convert"):
        print(event.type, event.data["jobs"])
        break
    # The connection is lost here, and a job is stored before it is back.
    await convert.enqueue(pages=1)
    async for change in app.live.follow("kind:convert", after=event.position):
        print(change.type, change.data["state"])
        break
    await app.close()


asyncio.run(main())
