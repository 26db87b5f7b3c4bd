"""A handler whose writes and whose completion are one transaction."""

import asyncio
import sqlite3
from contextlib import closing

from windlass import Context, Windlass

app = Windlass()


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


async def main() -> None:
    await app.jobs.counts()
    with closing(sqlite3.connect("windlass.db")) as connection:
        connection.execute("CREATE TABLE bookings (account text, cents integer)")
    async with app.working():
        print(await (await book.enqueue("ada", 100)).result(timeout=10))
        print(await (await book.enqueue("ada", 50)).result(timeout=10))
        print(await (await book_in_thread.enqueue("bob", 7)).result(timeout=10))
    await app.close()


asyncio.run(main())
