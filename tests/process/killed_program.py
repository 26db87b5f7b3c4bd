"""A program that is killed at each of its statements in turn: `killed_program.py <way> <url>`.

Each time it runs in a fork, so that everything is imported. It prints how every fork ended, and what was left then.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
import traceback
from collections.abc import Callable

import asyncpg
import sqlalchemy

from backstay import Backstay, Context, Hopeless
from backstay.testing import kill_at_statement

INSERTS = ("INSERT INTO bookings VALUES (1)", "INSERT INTO bookings VALUES (2)")
MOST = 50
ENDINGS = ("complete", "fail", "retry", "snooze")
# A worker sends statements of its own all the time, and in no order.
MATCHING = {"handler": "INTO bookings"}
# Whatever comes between the first of the handler's own statements and the end of its transaction.
INSIDE = r"bookings|UPDATE backstay_jobs|INTO backstay_(attempts|dead_letters|audit)"


def by_sqlite3(url: str) -> None:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    connection.execute("BEGIN")
    for insert in INSERTS:
        connection.execute(insert)
    connection.execute("COMMIT")
    connection.close()


def by_asyncpg(url: str) -> None:
    async def main() -> None:
        connection = await asyncpg.connect(url)
        async with connection.transaction():
            await connection.execute(INSERTS[0])
            await connection.fetch("INSERT INTO bookings VALUES ($1)", 2)
        await connection.close()

    asyncio.run(main())


def by_sqlalchemy(url: str) -> None:
    driver = "sqlite" if url.startswith("sqlite") else "postgresql+psycopg"
    engine = sqlalchemy.create_engine(f"{driver}://{url.partition('://')[2]}")
    with engine.begin() as connection:
        for insert in INSERTS:
            connection.execute(sqlalchemy.text(insert))
    engine.dispose()


app = Backstay("sqlite:///unused.db")


@app.job(lease="1s", renew_every="200ms")
async def book(ctx: Context) -> None:
    async with ctx.transaction() as tx:
        for insert in INSERTS:
            await tx.execute(insert)


@app.job(lease="1s", renew_every="200ms", max_attempts=3)
async def book_once(ctx: Context, ending: str) -> None:
    """Book, and end in another way; a run that finds the booking made has nothing left to do."""
    async with ctx.transaction() as tx:
        if await tx.execute("SELECT id FROM bookings"):
            return
        for insert in INSERTS:
            await tx.execute(insert)
        match ending:
            case "fail":
                tx.fail(Hopeless("no room"))
            case "retry":
                tx.retry(0)
            case "snooze":
                tx.snooze(0)


def enqueue(url: str, ending: str | None = None) -> None:
    async def main() -> None:
        app.url = url
        await app.migrate()
        await (book.enqueue() if ending is None else book_once.enqueue(ending))
        await app.close()

    asyncio.run(main())


def by_handler(url: str) -> None:
    app.url = url
    asyncio.run(app.worker(until_empty=True).run())


WAYS: dict[str, Callable[[str], None]] = {
    "sqlite3": by_sqlite3,
    "asyncpg": by_asyncpg,
    "sqlalchemy": by_sqlalchemy,
    "handler": by_handler,
}


def ended(url: str) -> list[str]:
    """How the only job has ended, and what was written because of it."""

    async def main() -> list[str]:
        app.url = url
        [job] = (await app.jobs.search()).jobs
        letters = await app.dead_letters.of_job(job.id)
        attempts = [attempt.status for attempt in await app.jobs.attempts(job.id)]
        await app.close()
        return [job.state.value, str(len(letters)), *(one for one in attempts if one != "crashed")]

    return asyncio.run(main())


def left(url: str) -> int:
    """How many bookings there are."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        [number] = connection.execute("SELECT count(*) FROM bookings").fetchone()
        connection.close()
        return int(number)

    async def ask() -> int:
        connection = await asyncpg.connect(url)
        number = await connection.fetchval("SELECT count(*) FROM bookings")
        await connection.close()
        return int(number)

    return asyncio.run(ask())


def fork(way: str, url: str, n: int | None) -> int:
    """Run in a process of its own, which is killed at its n-th statement, if any; returns how it ended."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            matching = INSIDE if way in ENDINGS else MATCHING.get(way, r"bookings|\bcommit|\bbegin")
            with kill_at_statement(n, matching=matching):
                WAYS.get(way, by_handler)(url)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def end_everywhere(ending: str, url: str) -> None:
    """Kill a worker at each statement of a handler that ends its job in this way, and let another one go on."""
    for n in range(1, MOST):
        own = url.replace(".db", f"-{n}.db")
        sqlite3.connect(own.removeprefix("sqlite:///")).execute(
            "CREATE TABLE bookings (id integer)"
        ).connection.close()
        enqueue(own, ending)
        code = fork(ending, own, n)
        fork(ending, own, None)
        os.write(1, f"{json.dumps([code, left(own), *ended(own)])}\n".encode())
        if code >= 0:
            break


if __name__ == "__main__":
    way, url = sys.argv[1:]
    if way in ENDINGS:
        end_everywhere(way, url)
        sys.exit()
    for n in range(1, MOST):
        if way == "handler":
            enqueue(url)
        code = fork(way, url, n)
        if way == "handler":
            fork(way, url, None)
        os.write(1, f"{json.dumps([code, left(url)])}\n".encode())
        if code >= 0:
            break
