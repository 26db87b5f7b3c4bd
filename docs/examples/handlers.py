"""Handlers: what they may be, what they are told, and how they say what came of an attempt."""

import asyncio
import time
from dataclasses import dataclass

from backstay import Backstay, Cancel, Context, Hopeless, Retry, Snooze, current
from backstay.errors import JobCancelled, JobDead

app = Backstay()


@app.job
async def fetch(url: str) -> int:
    """`async def` runs on the event loop where the worker was started."""
    await asyncio.sleep(0.01)
    return len(url)


@app.job
def resize(path: str, width: int = 200) -> str:
    """`def` runs in a thread, so it may block."""
    time.sleep(0.01)
    return f"{path} at {width}"


@dataclass
class Invoice:
    number: int
    cents: int


@app.job
async def book(invoice: Invoice) -> Invoice:
    """Arguments and results are checked against their types, on the way in and on the way out."""
    return Invoice(invoice.number, invoice.cents + 1)


@app.job
async def charge(ctx: Context, cents: int) -> str:
    """A first parameter annotated Context is handed in; callers do not see it."""
    return f"attempt {ctx.attempt} of {ctx.max_attempts}, {cents} under {ctx.idempotency_key}"


@app.job(timeout="10s")
def import_rows(ctx: Context, rows: int) -> int:
    """A thread cannot be interrupted, so long work asks from time to time."""
    for _ in range(rows):
        ctx.check()  # raises Cancel when somebody wants this job stopped, or its time is over
        time.sleep(0.01)
    return rows


looks = 0


@app.job
async def wait_for_file(name: str) -> str:
    """Not there yet: look again later. No attempt is spent."""
    global looks
    looks += 1
    if looks < 3:
        raise Snooze(0.1)
    return name


@app.job
async def call_api() -> str:
    """The service says when to come back."""
    if current().attempt == 1:
        raise Retry("the service is busy", after=0.1)
    return "done"


@app.job
async def check_street(street: str) -> None:
    """No attempt will ever succeed: dead at once."""
    raise Hopeless(f"there is no {street}")


@app.job
async def remind(order: int) -> None:
    """Nothing failed, but there is nothing left to do."""
    raise Cancel(f"order {order} was paid meanwhile")


async def main() -> None:
    async with app.working():
        print(await (await fetch.enqueue(url="https://example.org")).result(timeout=10))
        print(await (await resize.enqueue("cat.png")).result(timeout=10))
        print(await (await book.enqueue(Invoice(number=7, cents=100))).result(timeout=10))
        print(await (await charge.enqueue(cents=100)).result(timeout=10))
        print(await (await wait_for_file.enqueue(name="report.csv")).result(timeout=10))
        print(await (await call_api.enqueue()).result(timeout=10))

        long = await import_rows.enqueue(rows=500)
        await asyncio.sleep(0.3)
        await long.cancel("no longer needed")
        for job in (long, await remind.enqueue(order=7)):
            try:
                await job.result(timeout=10)
            except JobCancelled as error:
                print(error.reason)

        try:
            await (await check_street.enqueue(street="Nowhere Lane")).result(timeout=10)
        except JobDead as error:
            print(error.error["message"])
    await app.close()


asyncio.run(main())
