"""The plans of statements about schedules on PostgreSQL: by index, however long the history is."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from windlass.connect import open_database
from windlass.stores.migrate import migrate
from windlass.stores.postgres import Postgres
from windlass.testing import PrivatePostgres

SCHEDULES, FIRES = 5_000, 20
ONE = uuid.UUID(int=7)

FILL = f"""
INSERT INTO windlass.schedules (
    id, name, kind, source, definition, declared_by, is_active, next_fire_at, tzdata, created_at, updated_at
)
SELECT
    lpad(to_hex(n), 32, '0')::uuid, 's' || n, 'report', 'runtime', '{{}}', 'test', n % 2 = 0,
    now() + n * interval '1 s', 'x', now(), now()
FROM generate_series(1, {SCHEDULES}) AS n;
INSERT INTO windlass.fires (
    schedule_id, fire_time, reference_time, trigger_source, status, is_open, job_id, created_at, created_by
)
SELECT
    lpad(to_hex(n % {SCHEDULES} + 1), 32, '0')::uuid, now() - n * interval '1 s', now(), 'schedule', 'enqueued',
    FALSE, gen_random_uuid(), now() - n * interval '1 min', 'scheduler'
FROM generate_series(1, {SCHEDULES * FIRES}) AS n;
ANALYZE;
"""

HOT: list[tuple[str, dict[str, Any], set[str]]] = [
    ("schedules/look", {}, {"schedules_due", "fires_queued"}),
    ("schedules/due", {"limit": 100}, {"schedules_due"}),
    ("schedules/get", {"tenant": "", "name": "s7"}, {"schedules_name"}),
    ("fires/open", {"schedule_id": ONE, "limit": 1}, {"fires_open"}),
    ("fires/close", {"schedule_id": ONE}, {"fires_open"}),
    ("fires/waiting", {"limit": 100}, {"fires_queued"}),
    ("fires/keep", {"ids": [ONE], "finished_before": datetime.now(UTC)}, {"fires_job"}),
    ("fires/forget", {"keep": timedelta(days=400)}, {"fires_age"}),
    (
        "fires/history",
        {"tenant": "", "name": "s7", "before": None, "limit": 20},
        {"schedules_name", "fires_pkey"},
    ),
]


@pytest.fixture
async def database(postgres_server: PrivatePostgres) -> Any:
    postgres_server.create_database("schedule_plans")
    opened = open_database(postgres_server.url("schedule_plans"))
    assert isinstance(opened, Postgres)
    await migrate(opened)
    async with opened.lane("fill").transaction() as connection:
        await connection.driver.execute(FILL)
    yield opened
    await opened.close()


async def test_statements_about_schedules_come_in_by_their_indexes(database: Postgres) -> None:
    found: dict[str, set[str]] = {}
    scans: list[str] = []
    for name, values, _ in HOT:
        statement = database.dialect.statement(name)
        async with database.lane("look").transaction() as connection:
            given = [values[value] for value in statement.values]
            explained = await connection.driver.fetchval(f"EXPLAIN (FORMAT JSON) {statement.sql}", *given)
        nodes = list(walk(json.loads(explained)[0]["Plan"]))
        found[name] = {node["Index Name"] for node in nodes if "Index Name" in node}
        scans += [f"{name} {node.get('Relation Name')}" for node in nodes if node["Node Type"] == "Seq Scan"]

    missing = {name: wanted - found[name] for name, _, wanted in HOT if wanted - found[name]}
    assert missing == {}
    assert scans == []


def walk(node: dict[str, Any]) -> Any:
    yield node
    for child in node.get("Plans", []):
        yield from walk(child)
