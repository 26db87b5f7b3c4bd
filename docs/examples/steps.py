"""Steps that a retry does not repeat, and progress that others can see."""

import asyncio
from dataclasses import dataclass

from backstay import Backoff, Backstay, Context

app = Backstay()
done: list[str] = []


@dataclass
class Page:
    number: int
    words: int


async def fetch(number: int) -> Page:
    done.append(f"fetch {number}")
    return Page(number, words=100 * number)


async def publish(words: int) -> str:
    done.append("publish")
    if done.count("publish") == 1:
        raise ConnectionError("the server hung up")
    return f"https://example.org/{words}"


@app.job(backoff=Backoff.fixed("100ms"))
async def make_book(ctx: Context, pages: int) -> str:
    """Each step is done once, however often the job runs."""
    words = 0
    for number in range(1, pages + 1):
        page = await ctx.step(f"fetch-{number}", fetch, number)
        words += page.words
        ctx.progress(number, pages, f"page {number}")
    return await ctx.step("publish", publish, words)


@app.job
def count_words(ctx: Context, texts: list[str]) -> int:
    """In a thread: the same, blocking."""
    return sum(ctx.step_sync(f"text-{index}", len, text.split()) for index, text in enumerate(texts))


@app.job
async def close_the_day(ctx: Context) -> str:
    """`ctx.now` and `ctx.log` belong to the job."""
    ctx.log.info("day.closing", day=str(ctx.now.date()))
    ctx.ensure_lease()
    return ctx.idempotency_key


async def main() -> None:
    async with app.working():
        job = await make_book.enqueue(pages=3)
        print(await job.result(timeout=10))
        print(done)
        for step in await app.jobs.steps(job.id):
            print(f"{step.name}: {step.result} in run {step.run}")
        print((await job.get()).progress)

        print(await (await count_words.enqueue(texts=["one two", "three"])).result(timeout=10))
        print(await (await close_the_day.enqueue()).result(timeout=10))
    await app.close()


asyncio.run(main())
