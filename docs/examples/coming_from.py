"""What people know from other task queues, said in Backstay's words."""

import asyncio
from datetime import UTC, datetime, timedelta

from backstay import Backoff, Backstay, Context, Retry, State

app = Backstay("sqlite://:memory:")


@app.job(max_attempts=5, backoff=Backoff("10s", multiplier=2), timeout="30s")
async def send_mail(to: str) -> str:
    return f"sent to {to}"


@app.job
def resize(ctx: Context, picture: int) -> int:
    if picture == 0 and ctx.attempt == 1:
        raise Retry("not uploaded yet", after="5s")
    return picture


@app.schedule("0 3 * * *", zone="Europe/Berlin")
@app.job
async def clean_up() -> None: ...


@app.job
async def gallery(pictures: list[int]) -> int:
    return len(pictures)


async def main() -> None:
    # delay(), enqueue(), send(): store it now
    now = await send_mail.enqueue(to="ada@example.org")
    # apply_async(countdown=…, eta=…), enqueue_in, enqueue_at, schedule(…)
    await send_mail.options(delay="10m").enqueue(to="ada@example.org")
    await send_mail.options(run_at=datetime.now(UTC) + timedelta(days=1)).enqueue(to="ada@example.org")
    # a chord, depends_on, a pipeline with a group
    flow = app.flow("gallery")
    pictures = [flow.add(resize, picture=number) for number in (1, 2, 3)]
    whole = flow.add(gallery, pictures=[picture.result for picture in pictures])
    stored = await flow.enqueue()
    # AsyncResult.get, Result.get, get_result
    async with app.working():
        print(await now.result(timeout=10))
        print(await stored.of(whole).result(timeout=10), "pictures")
    # revoke, cancel
    later = await send_mail.options(delay="1h").enqueue(to="bob@example.org")
    await later.cancel("changed their mind")
    assert (await later.get()).state is State.CANCELLED
    await app.close()


asyncio.run(main())
