"""A search by a promoted field at 1,000,000 jobs comes in by the field's index, on both stores."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from backstay import Backstay
from backstay.composition.connect import open_database
from backstay.records import JobFilter
from backstay.stores.database.postgres import Postgres
from backstay.stores.database.queries import with_names
from backstay.stores.database.sqlite import DIALECT
from backstay.testing import PrivatePostgres

JOBS = 1_000_000
PATIENTS = 10_000
ADA = UUID(int=7)
QUERY = with_names(
    "promoted/search", {"table": "promoted", "fields": [{"field": "patient_id", "value": "value_a"}]}
)
LAST = UUID(int=2**128 - 1)

# Ids that rise, a hundred jobs for each patient, and a side row for each job, as the trigger would write it.
POSTGRES = [
    """
    INSERT INTO backstay.jobs (id, kind, queue, state, priority, run_at, turn, created_at, updated_at, args,
        lease_epoch, finished_at)
    SELECT (lpad(to_hex(1800000000000 + n), 12, '0') || '70008000000000000000')::uuid, 'scan', 'default',
        'completed', 5, now(), now(), now(), now(), '{}', 2, now()
    FROM generate_series(1, $1::int) AS n
    """,
    """
    INSERT INTO backstay.promoted (job_id, patient_id)
    SELECT (lpad(to_hex(1800000000000 + n), 12, '0') || '70008000000000000000')::uuid,
        lpad(to_hex(n % $2::int), 32, '0')::uuid
    FROM generate_series(1, $1::int) AS n
    """,
]
SQLITE = [
    """
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1)
    INSERT INTO backstay_jobs (id, kind, queue, state, priority, run_at, turn, created_at, updated_at, args,
        lease_epoch, finished_at)
    SELECT printf('%08x-%04x-7000-8000-000000000000', (1800000000000 + n) >> 16, (1800000000000 + n) & 65535),
        'scan', 'default', 'completed', 5, 0, 0, 0, 0, '{}', 2, 0
    FROM numbers
    """,
    """
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1)
    INSERT INTO backstay_promoted (job_id, patient_id)
    SELECT printf('%08x-%04x-7000-8000-000000000000', (1800000000000 + n) >> 16, (1800000000000 + n) & 65535),
        printf('00000000-0000-0000-0000-%012x', n % ?2)
    FROM numbers
    """,
]

# What the planner believes: what is there, or nothing at all.
STATISTICS = {
    "fresh": ["ANALYZE backstay.jobs, backstay.promoted"],
    "never": [
        "DELETE FROM pg_statistic WHERE starelid IN ('backstay.jobs'::regclass, 'backstay.promoted'::regclass)",
        "UPDATE pg_class SET relpages = 0, reltuples = -1 WHERE relnamespace = 'backstay'::regnamespace",
    ],
}


def clinic(url: str) -> Backstay:
    app = Backstay(url)

    @app.job(promote=["patient_id"])
    async def scan(patient_id: UUID | None = None) -> None: ...

    return app


async def migrated(url: str) -> None:
    app = clinic(url)
    await app._connections.migrate()
    await app.promoted.migrate()
    await app.close()


async def filled(url: str) -> None:
    await migrated(url)
    driver = await asyncpg.connect(url)
    # The trigger's own work is shown elsewhere; here only the rows matter.
    await driver.execute("ALTER TABLE backstay.jobs DISABLE TRIGGER USER")
    await driver.execute(POSTGRES[0], JOBS, timeout=500)
    await driver.execute(POSTGRES[1], JOBS, PATIENTS, timeout=500)
    await driver.execute("ALTER TABLE backstay.jobs ENABLE TRIGGER USER")
    await driver.close()


def values(**given: Any) -> dict[str, Any]:
    names = ("state", "kind", "queue", "tenant", "worker", "correlation_id", "parent_id", "tag")
    return {
        **dict.fromkeys((*names, "created_from", "created_to")),
        "before": LAST,
        "limit": 51,
        "most": 2**62,
        "value_a": ADA,
        **given,
    }


@pytest.fixture(scope="module")
def million_on_postgres(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("promoted_plans")
    url = postgres_server.url("promoted_plans")
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, filled(url)).result()
    yield url
    postgres_server.drop_database("promoted_plans")


@pytest.fixture(scope="module")
def million_on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("promoted") / "jobs.db"
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, migrated(f"sqlite:///{path}")).result()
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA synchronous = OFF")
        triggers = file.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            file.execute(f"DROP TRIGGER {name}")
        file.execute(SQLITE[0], (JOBS,))
        file.execute(SQLITE[1], (JOBS, PATIENTS))
        for _, sql in triggers:
            file.execute(sql)
    return path


def literal(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'"


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


@pytest.mark.prove
@pytest.mark.timeout(600)
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
@pytest.mark.parametrize("statistics", STATISTICS)
async def test_a_search_uses_the_index_on_postgresql(
    million_on_postgres: str, mode: str, statistics: str, pooled: bool
) -> None:
    database = open_database(million_on_postgres + ("?pooled=true" if pooled else ""))
    assert isinstance(database, Postgres)
    driver = await database.connect()
    for change in STATISTICS[statistics]:
        await driver.execute(change)
    statement = database.dialect.statement(QUERY)
    await driver.execute(f"SET plan_cache_mode = {mode}")
    await driver.execute(f"PREPARE search AS {statement.sql}")
    given = ", ".join(literal(values()[name]) for name in statement.values)

    explained = await driver.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE search({given})")

    plan = json.loads(explained)[0]
    used = {node["Index Name"] for node in nodes(plan["Plan"]) if "Index Name" in node}
    visited = max(node["Actual Rows"] * node["Actual Loops"] for node in nodes(plan["Plan"]))
    assert used == {"promoted_patient_id", "jobs_pkey", "progress_pkey"}
    assert [node for node in nodes(plan["Plan"]) if node["Node Type"] in ("Seq Scan", "Sort")] == []
    assert visited <= 51
    await driver.close()
    await database.close()


@pytest.mark.prove
@pytest.mark.timeout(600)
def test_a_search_uses_the_index_on_sqlite(million_on_sqlite: Path) -> None:
    statement = DIALECT.statement(QUERY)
    given = {name: str(value) if isinstance(value, UUID) else value for name, value in values().items()}
    bound = {name: given[name] for name in statement.values}
    with closing(sqlite3.connect(million_on_sqlite)) as file:
        plan = [row[3] for row in file.execute(f"EXPLAIN QUERY PLAN {statement.sql}", bound)]

    assert plan[:2] == [
        "SEARCH side USING COVERING INDEX promoted_patient_id (patient_id=? AND job_id<?)",
        "SEARCH job USING INDEX sqlite_autoindex_backstay_jobs_1 (id=?)",
    ]
    assert [step for step in plan if "TEMP B-TREE" in step] == []


@pytest.mark.prove
@pytest.mark.timeout(600)
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_the_newest_jobs_of_a_patient_are_found_among_a_million(
    request: pytest.FixtureRequest, store: str
) -> None:
    made = request.getfixturevalue(f"million_on_{store}")
    app = clinic(f"sqlite:///{made}" if store == "sqlite" else made)
    filters = JobFilter(promoted={"patient_id": ADA})

    first = await app.jobs.search(filters, limit=60)
    rest = await app.jobs.search(filters, cursor=first.cursor, limit=60)

    found = [job.id for job in (*first.jobs, *rest.jobs)]
    assert len(found) == JOBS // PATIENTS
    assert found == sorted(found, reverse=True)
    assert rest.cursor is None
    await app.close()
