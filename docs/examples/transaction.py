"""Enqueueing inside the application's own transaction, on PostgreSQL. Takes its database from BACKSTAY_URL."""

import asyncio
import os

import asyncpg
import psycopg
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from backstay import Backstay

URL = os.environ["BACKSTAY_URL"]
app = Backstay(URL)


@app.job
async def ship(order: int) -> None: ...


async def with_asyncpg() -> None:
    connection = await asyncpg.connect(URL)
    async with connection.transaction():
        order = await connection.fetchval("INSERT INTO orders DEFAULT VALUES RETURNING id")
        await ship.options(tx=connection).enqueue(order=order)
    # Committed together: no order without its job, no job without its order.
    await connection.close()


async def with_sqlalchemy() -> None:
    engine = create_async_engine(URL.replace("postgresql://", "postgresql+asyncpg://"))
    async with AsyncSession(engine) as session, session.begin():
        order = await session.scalar(text("INSERT INTO orders DEFAULT VALUES RETURNING id"))
        await ship.options(tx=session).enqueue(order=order)
    await engine.dispose()


def with_psycopg() -> None:
    with psycopg.connect(URL) as connection:
        order = connection.execute("INSERT INTO orders DEFAULT VALUES RETURNING id").fetchone()[0]
        ship.options(tx=connection).enqueue_sync(order=order)


async def with_async_psycopg() -> None:
    async with await psycopg.AsyncConnection.connect(URL) as connection:
        inserted = await connection.execute("INSERT INTO orders DEFAULT VALUES RETURNING id")
        order = (await inserted.fetchone())[0]
        await ship.options(tx=connection).enqueue(order=order)


def with_a_session() -> None:
    engine = create_engine(URL.replace("postgresql://", "postgresql+psycopg://"))
    with Session(engine) as session, session.begin():
        order = session.scalar(text("INSERT INTO orders DEFAULT VALUES RETURNING id"))
        ship.options(tx=session).enqueue_sync(order=order)
    engine.dispose()


async def rolled_back() -> None:
    connection = await asyncpg.connect(URL)
    transaction = connection.transaction()
    await transaction.start()
    await ship.options(tx=connection).enqueue(order=0)
    await transaction.rollback()
    await connection.close()


async def with_plain_sql() -> None:
    connection = await asyncpg.connect(URL)
    await connection.execute("""SELECT backstay.enqueue('ship', '{"order": 99}', '{"delay_seconds": 60}')""")
    await connection.close()


async def main() -> None:
    connection = await asyncpg.connect(URL)
    await connection.execute("CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY)")
    await connection.close()

    async with app.working():  # a worker declares its kinds, which plain SQL needs to know
        for step in (with_asyncpg, with_sqlalchemy, with_async_psycopg, rolled_back, with_plain_sql):
            await step()
        for step in (with_psycopg, with_a_session):
            await asyncio.to_thread(step)
    jobs = (await app.jobs.search()).jobs
    print(sorted(job.args["order"] for job in jobs))
    assert sorted(job.args["order"] for job in jobs) == [1, 2, 3, 4, 5, 99]
    await app.close()
    await asyncio.to_thread(app.close_sync)


asyncio.run(main())
