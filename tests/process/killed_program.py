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

from backstay import Backstay, Context
from backstay.testing import kill_at_statement

INSERTS = ("INSERT INTO bookings VALUES (1)", "INSERT INTO bookings VALUES (2)")
MOST = 50
# A worker sends statements of its own all the time, and in no order.
MATCHING = {"handler": "INTO bookings"}


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


def enqueue(url: str) -> None:
    async def main() -> None:
        app.url = url
        await app.migrate()
        await book.enqueue()
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
            with kill_at_statement(n, matching=MATCHING.get(way, r"bookings|\bcommit|\bbegin")):
                WAYS[way](url)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    way, url = sys.argv[1:]
    for n in range(1, MOST):
        if way == "handler":
            enqueue(url)
        code = fork(way, url, n)
        if way == "handler":
            fork(way, url, None)
        os.write(1, f"{json.dumps([code, left(url)])}\n".encode())
        if code >= 0:
            break
