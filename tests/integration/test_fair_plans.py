"""What a claim from a fair queue costs when one tenant has 100,000 jobs waiting: no more than for one with a few."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from test_plans import Tables, opened

from windlass.connect import open_database, stores_on
from windlass.fairness import Fair
from windlass.job import JobId, NewJob
from windlass.records import NewWorker, Wanted
from windlass.stores.contract import Stores
from windlass.stores.fair_claims import OLDEST_EVERY
from windlass.stores.migrate import migrate
from windlass.stores.sqlite import DIALECT, Sqlite
from windlass.testing import PrivatePostgres

MANY = 100_000
LEASE = timedelta(minutes=1)
PAIR = Wanted("import", "report", LEASE, LEASE, 4, fair=Fair())

FILL = """
INSERT INTO {table} (id, kind, queue, state, priority, run_at, turn, created_at, updated_at, tenant, args)
SELECT {id}, 'report', 'import', 'available', 5, {at}, {at}, {at}, {at}, {tenant}, '{{}}'
FROM {numbers}
"""
POSTGRES = FILL.format(
    table="windlass.jobs",
    id="gen_random_uuid()",
    at="now() - interval '1 hour' + n * interval '1 ms'",
    tenant="CASE WHEN n <= 100000 THEN 'a' ELSE 'small ' || n END",
    numbers="generate_series(1, 100300) AS n",
)
SQLITE = FILL.format(
    table="windlass_jobs",
    id="printf('01900000-0000-7000-8000-%012x', n)",
    at="1700000000000000 + n",
    tenant="CASE WHEN n <= 100000 THEN 'a' ELSE 'small ' || n END",
    numbers="(WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 100300) "
    "SELECT n FROM number)",
)


def values(worker: str = "w", *, limit: int) -> dict[str, Any]:
    return {
        "queue": "import",
        "queues": ["import"],
        "kinds": ["report"],
        "leases": [LEASE],
        "timeouts": [LEASE],
        "max_attempts": [4],
        "weighted": [],
        "weights": [],
        "heaviest": 1,
        "rounds": 1,
        "since": "",
        "spent": 0,
        "worker": worker,
        "claim_id": UUID(int=7),
        "limit": limit,
    }


def new_worker() -> NewWorker:
    return NewWorker(
        id="w",
        host="host",
        boot_id=None,
        pid=1,
        process_started=None,
        version="1",
        kinds=("report",),
        queues=("import",),
        concurrency=5,
    )


@pytest.fixture(scope="module")
def name(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("fair_plans")
    yield "fair_plans"
    postgres_server.drop_database("fair_plans")


@pytest.fixture
async def tables(postgres_server: PrivatePostgres, name: str) -> AsyncIterator[Tables]:
    async with opened(postgres_server, name) as found:
        await migrate(found.database)
        if not await found.driver.fetchval("SELECT count(*) FROM windlass.jobs"):
            await found.driver.execute(POSTGRES, timeout=110)
            await stores_on(found.database.lane("test")).workers.register(new_worker())
        yield found


@pytest.mark.parametrize("statistics", ["none", "fresh"])
@pytest.mark.parametrize("plan_cache_mode", ["force_generic_plan", "force_custom_plan"])
async def test_a_fair_claim_looks_at_few_rows_of_many(
    tables: Tables, plan_cache_mode: str, statistics: str
) -> None:
    if statistics == "fresh":
        await tables.driver.execute("ANALYZE windlass.jobs")
    limit = 20

    plan = await tables.explain("jobs/claim_fair", values(limit=limit), plan_cache_mode=plan_cache_mode)

    assert plan.sequential == []
    assert plan.indexes >= {"jobs_claim_fair", "jobs_pkey"}
    # A look for each tenant's name and one for its job, and the update.
    assert plan.visited <= 4 * limit


async def test_on_sqlite_a_fair_claim_comes_in_by_its_index() -> None:
    database = open_database("sqlite://:memory:")
    assert isinstance(database, Sqlite)
    await migrate(database)
    statement = DIALECT.statement("jobs/claim_fair")
    nothing = dict.fromkeys(statement.values)

    explained = database.file.write(
        lambda connection: connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", nothing).fetchall()
    )
    plan = [row["detail"] for row in await database._done(explained)]

    assert {"jobs_claim_fair"} <= set(re.findall(r"INDEX (\w+)", " ".join(plan)))
    assert [step for step in plan if re.match(r"SCAN (job|head)\b", step) and "INDEX" not in step] == []
    await database.close()


@pytest.fixture(params=["sqlite", "postgres"])
async def crowded(
    request: pytest.FixtureRequest, postgres_server: PrivatePostgres, tmp_path: Path
) -> AsyncIterator[Stores]:
    if request.param == "sqlite":
        lite = open_database(f"sqlite:///{tmp_path}/fair.db")
        assert isinstance(lite, Sqlite)
        await migrate(lite)
        await lite._done(lite.file.write(lambda connection: connection.execute(SQLITE)))
        stores = stores_on(lite.lane("test"))
        await stores.workers.register(new_worker())
        yield stores
        await lite.close()
        return
    postgres_server.create_database("fair_crowd")
    async with opened(postgres_server, "fair_crowd") as found:
        await migrate(found.database)
        await found.driver.execute(POSTGRES, timeout=110)
        stores = stores_on(found.database.lane("test"))
        await stores.workers.register(new_worker())
        yield stores
    postgres_server.drop_database("fair_crowd")


async def test_a_job_of_a_small_tenant_starts_with_the_next_free_slots(crowded: Stores) -> None:
    """Beside 100,000 waiting jobs of one tenant and 300 others, in one round: each of them has one job before it."""
    taken = await crowded.claims.claim([PAIR], worker="w", claim_id=UUID(int=1), limit=50, suspects=1)
    newcomer = NewJob(id=JobId(UUID(int=99)), kind="report", queue="import", args="{}", tenant="b")
    await crowded.enqueuing.enqueue([newcomer])

    claimed: list[str] = [claim.tenant for claim in taken]
    for number in range(330):
        claims = await crowded.claims.claim(
            [PAIR], worker="w", claim_id=UUID(int=number + 2), limit=1, suspects=0
        )
        claimed += [claim.tenant for claim in claims]

    assert "b" in claimed
    # Its turn once in a round, and the oldest job of all, which is its own, once in so many claims.
    assert claimed[: claimed.index("b")].count("a") <= 2 + len(claimed) // OLDEST_EVERY
