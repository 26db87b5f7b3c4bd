"""How fast the service is: POST /jobs, live events, and what a listener and row security cost a drain."""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx
import psycopg
import uvicorn

from backstay import Backstay
from backstay.http import ApiKeyAccess, api
from backstay.options import NO_OPTIONS
from backstay.testing import PrivatePostgres

CLIENTS = 20
OWNER, ENGINE, SHOP = "bench_owner", "bench_engine", "bench_shop"
ADD = {"kind": "add", "args": {"a": 1, "b": 2}}


def application(url: str) -> Backstay:
    """An application whose jobs do next to nothing."""
    app = Backstay(url, emit=lambda event, **facts: None)

    @app.job
    async def add(a: int, b: int) -> int:
        return a + b

    return app


def percentile_95(seconds: list[float]) -> float:
    """In milliseconds."""
    return round(statistics.quantiles(seconds, n=20)[-1] * 1000, 2)


@asynccontextmanager
async def served(app: Backstay) -> AsyncIterator[tuple[str, str]]:
    """The API of an application on a free port of this machine; gives its address and a key."""
    key = (await app.api_keys.create("bench", role="operator", tenant="*")).text
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    site = api(app, authenticate=ApiKeyAccess(app).authenticate)
    server = uvicorn.Server(uvicorn.Config(site, log_level="error"))
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", key
    finally:
        server.should_exit = True
        await task


async def submissions(app: Backstay, requests: int) -> float:
    """The 95th percentile of POST /jobs, from twenty clients at once."""
    took: list[float] = []

    async def client(address: str, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=address, headers=headers, timeout=60) as caller:
            for _ in range(requests // CLIENTS):
                began = time.perf_counter()
                (await caller.post("/jobs", json=ADD)).raise_for_status()
                took.append(time.perf_counter() - began)

    async with served(app) as (address, key):
        await asyncio.gather(*(client(address, key) for _ in range(CLIENTS)))
    return percentile_95(took)


async def live_events(app: Backstay, events: int) -> float:
    """The 95th percentile from the commit of a job until somebody who follows everything hears of it."""
    stored: dict[str, float] = {}
    took: list[float] = []

    async def listen(ready: asyncio.Event) -> None:
        async for event in app.live.follow("all"):
            now = time.perf_counter()
            ready.set()
            if event.type == "change" and (job := event.data["job_id"]) in stored:
                took.append(now - stored.pop(job))
                if len(took) >= events:
                    return

    ready = asyncio.Event()
    listening = asyncio.create_task(listen(ready))
    await ready.wait()
    for _ in range(events):
        handle = await app.jobs.enqueue_by_name("add", {"a": 1, "b": 2})
        stored[str(handle.id)] = time.perf_counter()
        await asyncio.sleep(0.01)
    async with asyncio.timeout(60):
        await listening
    return percentile_95(took)


async def drained(app: Backstay, jobs: int) -> float:
    """How many jobs a second one worker completes."""
    client = app.acting_as("bench", tenant="", rights={"*"})
    for _ in range(max(1, jobs // 1000)):
        await client.jobs.enqueue_many([("add", {"a": 1, "b": 2}, NO_OPTIONS)] * min(jobs, 1000))
    began = time.perf_counter()
    await app.worker(until_empty=True, concurrency=100).run()
    return jobs / (time.perf_counter() - began)


async def with_a_listener(app: Backstay, jobs: int, rounds: int) -> float:
    """A drain with a listener to everything, as a share of one without, in turns."""
    shares, outbox = [], app._enqueuer.stores.service.outbox
    for _ in range(rounds):
        without = await drained(app, jobs)
        await outbox.listen_always("all")
        shares.append(await drained(app, jobs) / without)
        await outbox.hush("all")
    return round(statistics.median(shares), 3)


async def with_row_security(owner: Backstay, engine: Backstay, jobs: int, rounds: int) -> float:
    """A drain by the engine's role with row security on, as a share of one with it off, in turns."""
    shares = []
    for _ in range(rounds):
        await owner.tenants.relax()
        without = await drained(engine, jobs)
        await owner.tenants.enforce(engine=ENGINE, application=SHOP)
        shares.append(await drained(engine, jobs) / without)
    return round(statistics.median(shares), 3)


def of_role(url: str, role: str) -> str:
    """The same database for another role; the private server trusts this machine."""
    parts = urlsplit(url)
    return parts._replace(netloc=f"{role}@{parts.netloc.rpartition('@')[2]}").geturl()


def with_roles(url: str) -> None:
    """Make the roles that row security needs: neither superuser nor above it."""
    with psycopg.connect(url, autocommit=True) as connection:
        for role in (OWNER, ENGINE, SHOP):
            connection.execute(f"CREATE ROLE {role} LOGIN NOSUPERUSER NOBYPASSRLS".encode())
        connection.execute(f"GRANT CREATE ON DATABASE {urlsplit(url).path[1:]} TO {OWNER}".encode())


async def measure(url: str, jobs: int, rounds: int) -> dict[str, float]:
    """All figures."""
    with_roles(url)
    owner, engine = application(of_role(url, OWNER)), application(of_role(url, ENGINE))
    await owner.migrate()
    await owner.tenants.enforce(engine=ENGINE, application=SHOP)
    security = await with_row_security(owner, engine, jobs, rounds)
    await owner.tenants.relax()
    found = {
        "post_jobs_p95_ms": await submissions(owner, requests=jobs),
        "live_event_p95_ms": await live_events(owner, events=min(jobs, 200)),
        "drain_with_listener_share": await with_a_listener(owner, jobs, rounds),
        "drain_with_row_security_share": security,
    }
    await owner.close()
    await engine.close()
    return found


def main() -> None:
    """Measure on a server of our own and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with PrivatePostgres.start() as server:
        server.create_database("service")
        found = asyncio.run(measure(server.url("service"), asked.jobs, asked.rounds))
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
