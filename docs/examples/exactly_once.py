"""A handler whose writes and whose completion are one transaction."""

import asyncio
import sqlite3
from contextlib import closing

from backstay import Backstay, Context, Hopeless
from backstay.errors import JobDead

app = Backstay()


@app.job
async def remind(account: str) -> None:
    print(f"{account} gets a letter")


@app.job
async def book(ctx: Context, account: str, cents: int) -> int | None:
    """The row, the child and the completion are committed together, or none of them."""
    async with ctx.transaction() as tx:
        await tx.execute("INSERT INTO bookings (account, cents) VALUES (?, ?)", account, cents)
        [total] = await tx.execute("SELECT sum(cents) FROM bookings WHERE account = ?", account)
        await remind.enqueue(account)
        tx.result(total[0])


@app.job
def book_in_thread(ctx: Context, account: str, cents: int) -> int | None:
    """In a handler that is not async: the same, blocking."""
    with ctx.transaction() as tx:
        tx.execute("INSERT INTO bookings (account, cents) VALUES (?, ?)", account, cents)
        remind.enqueue_sync(account)
        tx.result(cents)


@app.job(max_attempts=3)
async def withdraw(ctx: Context, account: str, cents: int) -> None:
    """A refusal is written down, and the job fails, both or neither."""
    async with ctx.transaction() as tx:
        [total] = await tx.execute("SELECT coalesce(sum(cents), 0) FROM bookings WHERE account = ?", account)
        if total[0] < cents:
            await tx.execute("INSERT INTO refusals (account, cents) VALUES (?, ?)", account, cents)
            tx.fail(Hopeless(f"{account} has {total[0]} cents"))
        else:
            await tx.execute("INSERT INTO bookings (account, cents) VALUES (?, ?)", account, -cents)


async def main() -> None:
    await app.jobs.counts()
    with closing(sqlite3.connect("backstay.db")) as connection:
        connection.execute("CREATE TABLE bookings (account text, cents integer)")
        connection.execute("CREATE TABLE refusals (account text, cents integer)")
    async with app.working():
        print(await (await book.enqueue("ada", 100)).result(timeout=10))
        print(await (await book.enqueue("ada", 50)).result(timeout=10))
        print(await (await book_in_thread.enqueue("bob", 7)).result(timeout=10))
        try:
            await (await withdraw.enqueue("bob", 8)).result(timeout=10)
        except JobDead as error:
            print(error.error["message"])
    await app.close()


asyncio.run(main())
