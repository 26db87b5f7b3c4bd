"""A program that works jobs with nothing but SQL, on PostgreSQL. Takes its database from BACKSTAY_URL."""

import asyncio
import os

import asyncpg

from backstay import Backstay

URL = os.environ["BACKSTAY_URL"]
app = Backstay(URL)


@app.job(queue="scans")
async def scan(page: int) -> int:
    """Says what its arguments are; a program in another language does the work."""
    raise NotImplementedError


@app.job
async def file_away(page: int) -> None:
    """What the worker of Backstay does beside its maintenance."""


async def work_one(connection: asyncpg.Connection) -> None:
    """What that program does, in the language of its choice."""
    await connection.execute("SELECT backstay.worker_start('scanner 1', ARRAY['scan'])")
    job = await connection.fetchrow("SELECT * FROM backstay.claim('scanner 1', ARRAY['scan'])")
    assert job is not None
    held = await connection.fetchval("SELECT held FROM backstay.renew($1, $2)", job["id"], job["epoch"])
    if held:
        await connection.execute("SELECT backstay.complete($1, $2, '3')", job["id"], job["epoch"])
    await connection.execute("SELECT backstay.worker_stop('scanner 1')")


async def main() -> None:
    async with app.working(queues=["default"]):
        job = await scan.enqueue(7)
        connection = await asyncpg.connect(URL)
        await work_one(connection)
        await connection.close()
        print("words on the page:", await job.result(timeout=30))
    await app.close()


if __name__ == "__main__":
    asyncio.run(main())
