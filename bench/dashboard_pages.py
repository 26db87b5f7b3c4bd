"""How long the pages of the dashboard take on PostgreSQL with a million jobs, and what the slowest two spend it on.

    python -m bench.dashboard_pages [JOBS [ROUNDS]]

Starts a PostgreSQL server of its own. Pages are asked for in this process, so that no network is measured; answers
that a page shares for a few seconds are asked for anew each time.
"""

from __future__ import annotations

import asyncio
import cProfile
import json
import pstats
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from backstay import Backstay, JobOptions, State
from backstay.dashboard import dashboard
from backstay.http import Person, Role
from backstay.testing import PrivatePostgres

OUT = Path(__file__).resolve().parents[1] / "build" / "bench" / "dashboard.json"
SHARES = {"completed": 0.65, "available": 0.10, "scheduled": 0.10, "dead": 0.10}
PARKED_SHARE = 0.05
PARKED_KEYS = 100
"""What is left waits for limits, the first key with half of it."""
CAUSES = 200
FLOWS = 50
FLOW_JOBS = 500
SHOWN_OF_PROFILE = 25
CALM = 2.5
"""Seconds after which a page asks anew for what it shares between visitors."""

LISTS = (
    "/", "/jobs", "/jobs/new", "/failures", "/dead-letters", "/flows", "/schedules", "/schedules/nightly", "/queues",
    "/queues/mail", "/limits/key%20customer%3A0", "/workers", "/operations", "/tenants", "/audit", "/alerts", "/system",
)  # fmt: skip
FILTERS = (
    "state=dead", "state=available", "kind=charge", "queue=mail", "tag=first", "created=1h", "error=transient_network",
    "error=timeout", "worker=nobody", "tenant=nobody",
)  # fmt: skip
COLUMNS = """
SELECT string_agg(quote_ident(column_name), ', ')
FROM information_schema.columns
WHERE table_schema = 'backstay' AND table_name = $1 AND column_name <> ALL ($2) AND is_generated = 'NEVER'
"""
# Ids as the product makes them, in order of time, so that the indexes look as they would.
JOBS = """
INSERT INTO backstay.jobs (id, {columns})
SELECT
    (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - 10000000000 + number), 12, '0')
        || '7' || substr(md5(number::text), 1, 3) || '8' || substr(md5(number::text), 4, 15))::uuid,
    {columns}
FROM (SELECT * FROM backstay.jobs WHERE state = '{state}' LIMIT 1) AS template
CROSS JOIN generate_series({first}, {last}) AS number
"""
LETTERS = """
INSERT INTO backstay.dead_letters (job_id, fingerprint, {columns})
SELECT copy.copied_id, md5((copy.number % {causes})::text), {columns}
FROM (SELECT * FROM backstay.dead_letters LIMIT 1) AS template
CROSS JOIN (
    SELECT job.id AS copied_id, row_number() OVER () AS number
    FROM backstay.jobs AS job
    WHERE job.state = 'dead'
      AND NOT EXISTS (SELECT FROM backstay.dead_letters AS known WHERE known.job_id = job.id)
) AS copy
"""
PARKED = """
INSERT INTO backstay.jobs (id, state, reason, parked_for, {columns})
SELECT
    (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - 10000000000 + number), 12, '0')
        || '7' || substr(md5(number::text), 1, 3) || '8' || substr(md5(number::text), 4, 15))::uuid,
    'held', 'limit: full', 'key customer:' || CASE WHEN number % 2 = 0 THEN 0 ELSE number % {keys} END,
    {columns}
FROM (SELECT * FROM backstay.jobs WHERE state = 'available' LIMIT 1) AS template
CROSS JOIN generate_series({first}, {last}) AS number
"""
LIMITS = """
INSERT INTO backstay.limits (key, most, every, yields, spent_until)
SELECT 'key customer:' || number, 1, interval '0', FALSE, now()
FROM generate_series(0, {keys} - 1) AS number
"""
FLOW = """
INSERT INTO backstay.flows (id, name, created_at)
SELECT md5('flow' || number)::uuid, 'flow ' || number, now()
FROM generate_series(1, {flows}) AS number
"""
MEMBERS = """
INSERT INTO backstay.flow_jobs (flow_id, job_id)
SELECT md5('flow' || (number % {flows} + 1))::uuid, job.id
FROM (SELECT id, row_number() OVER () AS number FROM backstay.jobs WHERE state = 'completed' LIMIT {jobs}) AS job
ON CONFLICT DO NOTHING
"""
LINES = """
INSERT INTO backstay.audit ({columns})
SELECT {columns}
FROM (SELECT * FROM backstay.audit LIMIT 1) AS template
CROSS JOIN generate_series(1, {rows})
"""


@dataclass(frozen=True)
class Page:
    """One page and how long its answers took, in milliseconds."""

    path: str
    took_ms: list[float]

    @property
    def p50(self) -> float:
        return statistics.median(self.took_ms)

    @property
    def p95(self) -> float:
        return sorted(self.took_ms)[max(0, round(len(self.took_ms) * 0.95) - 1)]


def silent(event: str, /, **facts: Any) -> None:
    """Tell nobody."""


def application(url: str) -> Backstay:
    """Two kinds of jobs: one that ends well, one that dies."""
    app = Backstay(url, emit=silent)

    @app.job(queue="mail")
    async def send_mail(to: str) -> str:
        return to

    @app.job(queue="payments", max_attempts=1)
    async def charge(order: int) -> None:
        raise ConnectionError(f"the gateway refused order {order}")

    @app.schedule("0 3 * * *", name="nightly")
    @app.job(queue="reports")
    async def nightly() -> None: ...

    return app


async def fill(app: Backstay, url: str, jobs: int) -> dict[str, str]:
    """Do one of each really, and multiply it; returns the pages of one job of each state and of a flow."""
    flow = await app.flows.start("spring", [{"name": "tell", "kind": "send_mail", "args": {"to": "all"}}])
    done = await app.jobs.enqueue_by_name("send_mail", {"to": "ada"}, JobOptions(tags=["first"]))
    dead = await app.jobs.enqueue_by_name("charge", {"order": 1})
    async with app.working(concurrency=2):
        for each in (done, dead):
            while (await each.get()).state not in (State.COMPLETED, State.DEAD):  # noqa: ASYNC110  # the worker ends it
                await asyncio.sleep(0.05)
    waiting = await app.jobs.enqueue_by_name("send_mail", {"to": "grace"})
    await app.jobs.enqueue_by_name("send_mail", {"to": "heidi"}, JobOptions(delay="3h"))
    await multiply(url, jobs)
    named = {"completed": done.id, "dead": dead.id, "available": waiting.id}
    return {**{state: f"/jobs/{job}" for state, job in named.items()}, "flow": f"/flows/{flow.id}"}


async def multiply(url: str, jobs: int) -> None:
    """Copy one job of each state until there are so many, with limits, flows, letters and lines of the trail."""
    connection = await asyncpg.connect(url, timeout=60)
    first = 1
    for state, share in SHARES.items():
        last = first + int(jobs * share) - 1
        columns = await connection.fetchval(COLUMNS, "jobs", ["id", "idempotency_key"])
        await connection.execute(JOBS.format(columns=columns, state=state, first=first, last=last))
        first = last + 1
    await connection.execute(LIMITS.format(keys=PARKED_KEYS))
    columns = await connection.fetchval(
        COLUMNS, "jobs", ["id", "idempotency_key", "state", "reason", "parked_for"]
    )
    last = first + int(jobs * PARKED_SHARE) - 1
    await connection.execute(PARKED.format(columns=columns, keys=PARKED_KEYS, first=first, last=last))
    await connection.execute(FLOW.format(flows=FLOWS))
    await connection.execute(MEMBERS.format(flows=FLOWS, jobs=FLOWS * FLOW_JOBS))
    columns = await connection.fetchval(COLUMNS, "dead_letters", ["job_id", "fingerprint"])
    await connection.execute(LETTERS.format(columns=columns, causes=CAUSES))
    columns = await connection.fetchval(COLUMNS, "audit", ["id"])
    await connection.execute(LINES.format(columns=columns, rows=jobs // 10))
    await connection.execute("VACUUM ANALYZE")
    await connection.execute("CHECKPOINT")
    await connection.close()


def paths(single: dict[str, str]) -> list[str]:
    """Every page, and the list of jobs under the filters that people use."""
    return [*LISTS, *single.values(), *(f"/jobs?{one}" for one in FILTERS), "/audit?actor=nobody"]


async def ask(browser: httpx.AsyncClient, path: str) -> float:
    """Open a page; returns milliseconds."""
    began = time.perf_counter()
    answer = await browser.get(path)
    took = (time.perf_counter() - began) * 1000
    if answer.status_code != 200:
        raise RuntimeError(f"{path} answered {answer.status_code}")
    return took


async def profile(browser: httpx.AsyncClient, path: str) -> None:
    """Print where a page spends its time in Python; what is left is the database's."""
    await asyncio.sleep(CALM)
    profiler = cProfile.Profile()
    profiler.enable()
    await ask(browser, path)
    profiler.disable()
    print(f"\nprofile of {path}")
    pstats.Stats(profiler).sort_stats("cumulative").print_stats(SHOWN_OF_PROFILE)


async def measure(url: str, jobs: int, rounds: int) -> list[Page]:
    """Fill the tables, ask for every page in turns, and look into the slowest two."""
    app = application(url)
    await app.migrate()
    single = await fill(app, url, jobs)
    person = Person("bench", "*", Role.ADMIN, sees_payloads=True)

    async def authenticate(_: object) -> Person:
        return person

    transport = httpx.ASGITransport(dashboard(app, authenticate=authenticate))
    headers = {"Accept": "text/html"}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://bench", headers=headers, timeout=None
    ) as browser:
        pages = [Page(path, []) for path in paths(single)]
        for number in range(rounds + 1):
            for page in pages:
                took = await ask(browser, page.path)
                # The first round fills caches of statements and templates.
                if number:
                    page.took_ms.append(took)
            await asyncio.sleep(CALM)
        pages.sort(key=lambda page: page.p95, reverse=True)
        for page in pages[:2]:
            await profile(browser, page.path)
    await app.close()
    return pages


def main(jobs: int, rounds: int) -> None:
    """Measure, print and write the figures."""
    with PrivatePostgres.start() as server:
        server.create_database("bench")
        pages = asyncio.run(measure(server.url("bench"), jobs, rounds))
    print(f"\n{jobs:,} jobs, {rounds} rounds\n{'p50 ms':>9} {'p95 ms':>9}  page")
    for page in pages:
        print(f"{page.p50:9.1f} {page.p95:9.1f}  {page.path}")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    figures = {page.path: {"p50_ms": round(page.p50, 1), "p95_ms": round(page.p95, 1)} for page in pages}
    OUT.write_text(json.dumps({"jobs": jobs, "rounds": rounds, "pages": figures}, indent=2) + "\n")


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*given, *(1_000_000, 20)[len(given) :])
