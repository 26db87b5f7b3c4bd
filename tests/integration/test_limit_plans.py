"""The plans of the statements about limits, beside 100,000 jobs that wait for one key and thousands of other keys."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from test_plans import (
    BATCH,
    BELIEVE,
    FORGET,
    HOUR,
    MINUTE,
    ONE_PAIR,
    PLACE,
    WORKERS,
    Tables,
    claim_values,
    fill,
    ids_of,
    opened,
    rows,
)

from windlass.connect import open_database
from windlass.stores.migrate import migrate
from windlass.testing import PrivatePostgres

PARKED, KEYS = 100_000, 2000

# One key with a long line, many with one job, and as many lines in order.
PARK = f"""
UPDATE windlass.jobs AS job
SET parked_for = CASE WHEN n <= {PARKED} THEN 'key customer:1' ELSE 'key customer:' || n END,
    order_key = CASE WHEN n > {PARKED} THEN 'account:' || n END
FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM windlass.jobs WHERE state = 'held') AS numbered
WHERE job.id = numbered.id
"""
LIMITS = """
INSERT INTO windlass.limits (key, most, every, yields, spent_until, next_at)
SELECT DISTINCT parked_for, 1, interval '0', FALSE, now(), NULL::timestamptz
FROM windlass.jobs
WHERE parked_for IS NOT NULL
UNION ALL
SELECT 'rate key host:' || n, 1, interval '1 s', FALSE, now(), now() - interval '1 s'
FROM generate_series(1, 2000) AS n
"""
PERMITS = """
INSERT INTO windlass.permits (limit_key, job_id, lease_epoch)
SELECT 'key customer:' || row_number() OVER (ORDER BY id), id, lease_epoch
FROM windlass.jobs
WHERE state = 'running'
"""
STATISTICS = {"fresh": ["ANALYZE"], "never": [FORGET, BELIEVE.format(rows=-1)]}


async def _prepare(server: PrivatePostgres) -> dict[str, str]:
    server.create_database("limit_plans")
    database = open_database(server.url("limit_plans"))
    await migrate(database)
    await database.close()
    driver = await asyncpg.connect(server.url("limit_plans"))
    await driver.execute("ALTER TABLE windlass.jobs SET (autovacuum_enabled = off)")
    crowd = [
        rows("completed", 20_000, age=3 * 24 * HOUR),
        rows("held", PARKED + KEYS, age=2 * 24 * HOUR),
        rows("available", 5000),
        rows("running", 1000, age=3 * HOUR),
    ]
    await fill(driver, crowd)
    for statement in (WORKERS, PARK, LIMITS, PERMITS):
        await driver.execute(statement, timeout=110)
    await driver.close()
    copies = {name: f"limit_plans_{name}" for name in STATISTICS}
    for name, copy in copies.items():
        server.create_database(copy, template="limit_plans")
        driver = await asyncpg.connect(server.url(copy))
        for statement in STATISTICS[name]:
            await driver.execute(statement, timeout=110)
        await driver.close()
    server.drop_database("limit_plans")
    return copies


@pytest.fixture(scope="module")
def databases(postgres_server: PrivatePostgres) -> Iterator[dict[str, str]]:
    with ThreadPoolExecutor(max_workers=1) as thread:
        copies = thread.submit(lambda: asyncio.run(_prepare(postgres_server))).result()
    yield copies
    for copy in copies.values():
        postgres_server.drop_database(copy)


@pytest.fixture(params=STATISTICS)
async def tables(
    request: pytest.FixtureRequest, postgres_server: PrivatePostgres, databases: dict[str, str]
) -> AsyncIterator[Tables]:
    async with opened(postgres_server, databases[request.param]) as tables:
        yield tables


def some_keys(first: int = 1) -> list[str]:
    return [f"key customer:{number}" for number in range(first, first + BATCH)]


async def values_for(tables: Tables, name: str) -> dict[str, Any]:
    """What the product would hand to the statement."""
    now, number = datetime.now(UTC), [BATCH]
    match name:
        case "limits/candidates" | "limits/rivals":
            return claim_values(ONE_PAIR)
        case "limits/usage":
            return {"limit_key": some_keys()}
        case "limits/lock_known":
            return {"limit_keys": some_keys()}
        case "limits/heads":
            lines = [f"account:{PARKED + n}" for n in range(1, BATCH + 1)]
            return {"order_key": lines, "yielding": [False] * BATCH}
        case "limits/start":
            ids = await ids_of(tables, "available")
            return {
                "job_id": ids,
                "max_attempts": [4] * BATCH,
                "timeout": [HOUR] * BATCH,
                "lease": [MINUTE] * BATCH,
                "at": [now] * BATCH,
                "worker": "w1",
                "claim_id": uuid.uuid4(),
            }
        case "limits/park":
            ids = await ids_of(tables, "available")
            return {
                "job_id": ids,
                "limit_key": some_keys(),
                "why": ["full"] * BATCH,
                "line": [None] * BATCH,
            }
        case "limits/unpark":
            return {"limit_key": ["key customer:1"], "room": number}
        case "limits/unpark_one":
            return {"job_id": await ids_of(tables, "held"), "limit_key": ["key customer:1"] * BATCH}
        case "limits/expect":
            return {"limit_key": some_keys(), "due": [now + timedelta(seconds=1)] * BATCH}
        case "limits/parked_keys":
            return {"after": "", "limit": BATCH}
        case "permits/of_jobs":
            return {"job_id": await ids_of(tables, "running"), "epoch": [1] * BATCH}
        case "permits/drop":
            running = await ids_of(tables, "running")
            return {"limit_key": some_keys(), "job_id": running, "epoch": [1] * BATCH}
        case "jobs/look":
            return {"overrun": MINUTE}
        case _:
            return {"limit": BATCH}


# The indexes by which a statement must come in, and how many rows of jobs it may look at.
HOT: dict[str, tuple[set[str], int]] = {
    "limits/candidates": ({"jobs_claim", "jobs_claim_suspect", PLACE}, 4 * BATCH),
    "limits/rivals": ({"jobs_claim"}, 2 * BATCH),
    "limits/usage": ({"limits_pkey", "permits_pkey", "jobs_pkey"}, 2 * BATCH),
    "limits/lock_known": ({"limits_pkey"}, 0),
    "limits/heads": ({"jobs_order"}, 2 * BATCH),
    "limits/start": ({"jobs_pkey"}, 2 * BATCH),
    "limits/park": ({"jobs_pkey"}, 2 * BATCH),
    "limits/unpark": ({"jobs_parked", "jobs_pkey"}, 3 * BATCH),
    "limits/unpark_one": ({"jobs_pkey"}, 2 * BATCH),
    "limits/expect": ({"jobs_parked", "limits_pkey"}, 2 * BATCH),
    "limits/due": ({"limits_due"}, 0),
    "limits/next_due": ({"limits_due"}, 0),
    "limits/parked_keys": ({"jobs_parked"}, 2 * BATCH),
    "permits/of_jobs": ({"permits_of_job"}, 0),
    # By the job or by the limit: there are no more permits than jobs that run.
    "permits/drop": (set(), 0),
    "jobs/look": ({"jobs_parked", "limits_due"}, 6000),
}


@pytest.mark.parametrize("name", HOT)
@pytest.mark.parametrize("plan_cache_mode", ["force_generic_plan", "force_custom_plan"])
async def test_a_statement_about_limits_looks_at_no_more_than_its_batch(
    tables: Tables, plan_cache_mode: str, name: str
) -> None:
    indexes, most = HOT[name]

    plan = await tables.explain(name, await values_for(tables, name), plan_cache_mode=plan_cache_mode)

    assert plan.sequential == []
    assert indexes <= plan.indexes, plan.indexes
    assert plan.visited <= most
