"""Searching and the doctor beside a million jobs: by an index, and with bounds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from backstay import State
from backstay.client.doctor.doctor import NEWEST, TWO_SWEEPS, Doctor
from backstay.client.doctor.text import MOST_COUNTED
from backstay.composition.connect import open_database, stores_on
from backstay.records import JobFilter
from backstay.stores.database.interface import Database
from backstay.stores.database.migrate import migrate
from backstay.stores.database.postgres import PLAN_ANEW, Postgres
from backstay.stores.insights import AHEAD
from backstay.stores.job_filters import search_values
from backstay.testing import PrivatePostgres

pytestmark = [pytest.mark.prove, pytest.mark.timeout(600)]
PAGE = 50

FILL = """
INSERT INTO backstay.jobs (
    id, kind, queue, state, reason, priority, run_at, turn, lease_epoch, created_at, updated_at, started_at,
    finished_at, duration_ms, args, attempt, max_attempts, run, correlation_id
)
SELECT
    (lpad(to_hex((EXTRACT(EPOCH FROM now() - $4::interval) * 1000)::bigint + n), 12, '0') || '7000' ||
     substr(md5(n::text || $1), 1, 16))::uuid,
    'kind ' || n % 5, 'queue ' || n % 3, $1, CASE WHEN $1 = 'dead' THEN 'exhausted' END, 5,
    now() - $4::interval, now() - $4::interval + n * interval '1 ms', 2, now() - $4::interval, now(),
    CASE WHEN $3 THEN now() - interval '1 min' END, CASE WHEN $3 THEN now() END, CASE WHEN $3 THEN 60000 END,
    '{}', 1, 4, 1, CASE WHEN n % 100000 = 0 THEN 'trace' END
FROM generate_series(1, $2::int) AS n
"""
CROWDS = [
    ("dead", 40, True, timedelta(days=9)),
    ("completed", 600_000, True, timedelta(days=3)),
    ("available", 400_000, False, timedelta(days=1)),
]
LETTERS = """
INSERT INTO backstay.dead_letters (job_id, lease_epoch, kind, queue, reason, fingerprint, attempts, died_at, status)
SELECT id, 2, kind, queue, 'exhausted', 'f', 1, finished_at, 'new'
FROM backstay.jobs
WHERE state = 'dead'
"""


@pytest.fixture(scope="module")
def name(postgres_server: PrivatePostgres) -> Iterator[str]:
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, filled(postgres_server)).result()
    yield "million"
    postgres_server.drop_database("million")


async def filled(server: PrivatePostgres) -> None:
    server.create_database("million")
    database = open_database(server.url("million"))
    await migrate(database)
    await database.close()
    driver = await asyncpg.connect(server.url("million"))
    for crowd in CROWDS:
        await driver.execute(FILL, *crowd, timeout=300)
    await driver.execute(LETTERS)
    await driver.execute("VACUUM ANALYZE", timeout=300)
    await driver.close()


@pytest.fixture
async def database(postgres_server: PrivatePostgres, name: str) -> AsyncIterator[Database]:
    database = open_database(postgres_server.url(name))
    yield database
    await database.close()


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)


async def explained(database: Database, query: str, values: dict[str, Any]) -> tuple[list[str], int]:
    """Which tables are read from end to end, and how many rows are visited."""
    assert isinstance(database, Postgres)
    driver = await database.connect()
    statement = database.dialect.statement(query)
    async with driver.transaction():
        await driver.execute(PLAN_ANEW)
        text = await driver.fetchval(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.sql}", *[values[name] for name in statement.values]
        )
    await driver.close()
    [plan] = json.loads(text)
    found = list(nodes(plan["Plan"]))
    scans = [node["Relation Name"] for node in found if node["Node Type"] == "Seq Scan"]
    visited = sum(
        int((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
        for node in found
        if "Relation Name" in node or node["Node Type"] == "Bitmap Index Scan"
    )
    return scans, visited


@pytest.mark.parametrize(
    ("filters", "most"),
    [
        (JobFilter(), PAGE),
        (JobFilter(state=State.AVAILABLE), PAGE),
        (JobFilter(state=State.DEAD), 40),
        (JobFilter(state=State.RUNNING), 0),
        (JobFilter(kind="kind 3"), 5 * PAGE),
        (JobFilter(queue="queue 1", state=State.AVAILABLE), 3 * PAGE),
        (JobFilter(correlation_id="trace"), 10),
    ],
    ids=str,
)
async def test_a_search_beside_a_million_jobs_visits_few(
    database: Database, filters: JobFilter, most: int
) -> None:
    values = {"before": None, "limit": PAGE, **search_values(filters, None)}

    scans, visited = await explained(database, "jobs/search", values)

    assert "jobs" not in scans
    assert visited <= most + PAGE


@pytest.mark.parametrize(
    ("query", "values", "most"),
    [
        ("insights/waiting", {"most": MOST_COUNTED}, 15 * (MOST_COUNTED + 200) + 2 * MOST_COUNTED),
        ("insights/broken", {"newest": NEWEST, "ahead": AHEAD}, NEWEST + 100),
        ("insights/stuck", {"grace": TWO_SWEEPS, "most": MOST_COUNTED}, MOST_COUNTED),
        ("insights/open_dead_letters", {"most": MOST_COUNTED}, MOST_COUNTED),
        ("figures/depths", {"most": MOST_COUNTED}, 8 * MOST_COUNTED),
        ("jobs/counts", {"most": MOST_COUNTED, "tenant": None}, 12 * MOST_COUNTED),
    ],
)
async def test_the_doctor_beside_a_million_jobs_visits_no_more_than_its_bounds(
    database: Database, query: str, values: dict[str, Any], most: int
) -> None:
    scans, visited = await explained(database, query, values)

    assert "jobs" not in scans
    assert visited <= most


async def test_the_doctor_says_that_it_stopped_counting(database: Database) -> None:
    found = {finding.code: finding for finding in await Doctor(stores_on(database.lane("doctor"))).check()}

    assert found["no_workers"].detail.startswith("1,000 or more jobs could run now")
    assert "40 open dead letters" in found["dead_letters"].detail
