"""What a claim from a fair queue costs when one tenant has 100,000 jobs waiting: no more than for one with a few."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from plans import Hot, Tables, cases, opened

from backstay.composition.connect import open_database, stores_on
from backstay.model.job import JobId, NewJob
from backstay.model.limits.fairness import Fair
from backstay.model.records import NewWorker, Wanted
from backstay.stores.claims.fair import OLDEST_EVERY
from backstay.stores.contract import Stores
from backstay.stores.database.migrate import migrate
from backstay.stores.database.sqlite import DIALECT, Sqlite
from backstay.testing import PrivatePostgres

LIMIT = 20
LEASE = timedelta(minutes=1)
PAIR = Wanted("import", "report", LEASE, LEASE, 4, fair=Fair())

FILL = """
INSERT INTO {table} (id, kind, queue, state, priority, run_at, turn, created_at, updated_at, tenant, args)
SELECT {id}, 'report', 'import', 'available', 5, {at}, {at}, {at}, {at}, {tenant}, '{{}}'
FROM {numbers}
"""
POSTGRES = FILL.format(
    table="backstay.jobs",
    id="gen_random_uuid()",
    at="now() - interval '1 hour' + n * interval '1 ms'",
    tenant="CASE WHEN n <= 100000 THEN 'a' ELSE 'small ' || n END",
    numbers="generate_series(1, 100300) AS n",
)
SQLITE = FILL.format(
    table="backstay_jobs",
    id="printf('01900000-0000-7000-8000-%012x', n)",
    at="1700000000000000 + n",
    tenant="CASE WHEN n <= 100000 THEN 'a' ELSE 'small ' || n END",
    numbers="(WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 100300) "
    "SELECT n FROM number)",
)


def values() -> dict[str, Any]:
    """A claim from the line in which one tenant has 100,000 jobs and 300 others have one each."""
    return {
        "queue": "default",
        "queues": ["default"],
        "kinds": ["foreign"],
        "leases": [LEASE],
        "timeouts": [LEASE],
        "max_attempts": [4],
        "weighted": [],
        "weights": [],
        "heaviest": 1,
        "rounds": 1,
        "since": "",
        "spent": 0,
        "worker": "w1",
        "claim_id": UUID(int=7),
        "limit": LIMIT,
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


HOT: Hot = {
    # A look for each tenant's name and one for its job, and the update.
    "jobs/claim_fair": ({"jobs_claim_fair", "jobs_pkey"}, 4 * LIMIT),
    "tenants/hold": ({"jobs_of_tenant", "jobs_pkey"}, 3 * LIMIT),
    "tenants/release": ({"jobs_of_tenant", "jobs_pkey"}, 3 * LIMIT),
}
VALUES = {
    "jobs/claim_fair": values(),
    "tenants/hold": {"tenant": "a", "limit": LIMIT},
    "tenants/release": {"tenant": "asleep", "limit": LIMIT},
}


@cases(HOT)
async def test_a_statement_about_tenants_looks_at_few_rows_of_many(
    tables: Tables, plan_cache_mode: str, name: str
) -> None:
    plan = await tables.explain(name, VALUES[name], plan_cache_mode=plan_cache_mode)

    plan.assert_bounded(*HOT[name])


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
