"""A FastAPI application with its jobs: stored in the transaction of a request, run beside the requests.

Serve it with `uvicorn fastapi_shop:web`. Run as a program it asks itself a few questions and prints the answers.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Annotated
from uuid import UUID

import httpx
from fastapi import Depends, FastAPI, HTTPException
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

from backstay import Backstay
from backstay.errors import JobNotFound

app = Backstay("sqlite:///shop.db")


@app.job
async def send_receipt(order: int) -> str:
    return f"receipt for order {order}"


@app.job
def make_report(month: str) -> str:
    return f"report of {month}"


@cache
def engine_for(url: str) -> AsyncEngine:
    return create_async_engine(url.replace("sqlite:", "sqlite+aiosqlite:"))


async def new_session() -> AsyncIterator[AsyncSession]:
    async with AsyncSession(engine_for(app.url)) as session:
        yield session


def make_web(*, works: bool) -> FastAPI:
    @asynccontextmanager
    async def lifespan(web: FastAPI) -> AsyncIterator[None]:
        await app.migrate()
        async with engine_for(app.url).begin() as connection:
            await connection.execute(text("CREATE TABLE IF NOT EXISTS orders (id integer PRIMARY KEY)"))
        if works:
            async with app.working(concurrency=10):
                yield
        else:
            yield
        await engine_for(app.url).dispose()
        await app.close()

    web = FastAPI(lifespan=lifespan)
    web.post("/orders", status_code=201)(place_order)
    web.post("/reports/{month}", status_code=202)(ask_for_report)
    web.get("/jobs/{job_id}")(look_at)
    return web


async def place_order(session: Annotated[AsyncSession, Depends(new_session)]) -> dict[str, str]:
    async with session.begin():
        order = await session.scalar(text("INSERT INTO orders DEFAULT VALUES RETURNING id"))
        job = await send_receipt.options(tx=session).enqueue(order=order)
    # Committed together: no order without its receipt, no receipt without its order.
    return {"order": str(order), "job": str(job.id)}


def ask_for_report(month: str) -> dict[str, str]:
    job = make_report.enqueue_sync(month=month)
    return {"job": str(job.id)}


async def look_at(job_id: UUID) -> dict[str, object]:
    try:
        job = await app.jobs.get(job_id)
    except JobNotFound as missing:
        raise HTTPException(404) from missing
    return {"state": job.state, "result": job.result}


web = make_web(works=True)


async def ask() -> None:
    async with (
        web.router.lifespan_context(web),
        httpx.AsyncClient(transport=httpx.ASGITransport(web), base_url="http://shop") as browser,
    ):
        placed = (await browser.post("/orders")).json()
        print(await send_receipt.handle(placed["job"]).result(timeout=10))
        print((await browser.get(f"/jobs/{placed['job']}")).json())
        asked = (await browser.post("/reports/May")).json()
        print(await make_report.handle(asked["job"]).result(timeout=10))
    app.close_sync()


if __name__ == "__main__":
    asyncio.run(ask())
