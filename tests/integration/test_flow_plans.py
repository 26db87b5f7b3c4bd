"""The statements about flows come in by their indexes and look at no more than they are about.

Beside them stand 100,000 open dependencies of others, and as many that are decided.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import pytest

from windlass.connect import open_database
from windlass.stores.migrate import migrate
from windlass.stores.postgres import Driver, Postgres
from windlass.stores.sqlite import DIALECT, Sqlite
from windlass.testing import PrivatePostgres

MANY = 100_000
MOST = 2000
START = UUID(int=0)

FILL = """
INSERT INTO windlass.jobs (id, kind, queue, state, reason, priority, run_at, turn, created_at, updated_at, args)
SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'report', 'default', 'held', 'waits', 5,
    now(), now(), now(), now(), '{}'
FROM generate_series(1, $1::int) AS n
"""
TIE = """
INSERT INTO windlass.dependencies (job_id, parent_id, type, verdict, decided_at)
SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n + $2::int), 12, '0'))::uuid,
    ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'success', $3::text,
    CASE WHEN $3::text IS NOT NULL THEN now() END
FROM generate_series(1, $1::int) AS n
"""


def job(number: int) -> UUID:
    return UUID(f"00000000-0000-7000-8000-{number:012x}")


IDS = [job(number) for number in range(1, 101)]
VALUES: dict[str, dict[str, Any]] = {
    "flows/concerned": {"ids": IDS, "after": START, "limit": 500},
    "flows/hold_still": {"ids": IDS},
    "flows/ended": {"ids": IDS},
    "flows/standing": {"ids": IDS},
    "flows/results": {"ids": IDS},
    "flows/void": {"ids": IDS},
    "flows/missed": {"after": START, "limit": 500},
    "flows/of_job": {"id": IDS[7]},
    "jobs/lock_finished": {"ids": IDS},
}


@pytest.fixture(scope="module")
def url(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("flow_plans")
    yield postgres_server.url("flow_plans")
    postgres_server.drop_database("flow_plans")


@pytest.fixture
async def driver(url: str) -> AsyncIterator[Driver]:
    database = open_database(url)
    assert isinstance(database, Postgres)
    await migrate(database)
    driver = await database.connect()
    if not await driver.fetchval("SELECT count(*) FROM windlass.jobs"):
        await driver.execute(FILL.replace("$1::int", str(3 * MANY)))
        for offset, verdict in ((MANY, "NULL"), (2 * MANY, "'met'")):
            filled = TIE.replace("$1::int", str(MANY)).replace("$2::int", str(offset))
            await driver.execute(filled.replace("$3::text", f"{verdict}::text"))
    yield driver
    await driver.close()
    await database.close()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("statistics", ["none", "fresh"])
async def test_on_postgres_no_statement_about_flows_looks_at_the_whole_table(
    driver: Driver, mode: str, statistics: str
) -> None:
    if statistics == "fresh":
        await driver.execute("ANALYZE windlass.jobs, windlass.dependencies")
    seen = {name: await visited(driver, name, values, mode) for name, values in VALUES.items()}

    assert {name: number for name, number in seen.items() if number > MOST} == {}


async def visited(driver: Driver, name: str, values: dict[str, Any], mode: str) -> int:
    """How many rows the statement has really looked at."""
    from windlass.stores.postgres import dialect

    statement = dialect().statement(name)
    transaction = driver.transaction()
    await transaction.start()
    try:
        await driver.execute(f"SET LOCAL plan_cache_mode = {mode}")
        given = [values[value] for value in statement.values]
        explained = await driver.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.sql}", *given)
    finally:
        await transaction.rollback()
    return sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in nodes(json.loads(explained)[0]["Plan"])
        if "Relation Name" in node
    )


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


@pytest.mark.parametrize("name", VALUES)
async def test_on_sqlite_no_statement_about_flows_scans_a_table(name: str) -> None:
    database = open_database("sqlite://:memory:")
    assert isinstance(database, Sqlite)
    await migrate(database)
    statement = DIALECT.statement(name)
    nothing = dict.fromkeys(statement.values)

    explained = database.file.write(
        lambda connection: connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", nothing).fetchall()
    )
    plan = [row["detail"] for row in await database._done(explained)]
    await database.close()

    scans = [
        step
        for step in plan
        if re.match(r"SCAN (?!json_each|next|value|CONSTANT ROW)", step) and "INDEX" not in step
    ]
    assert scans == []
