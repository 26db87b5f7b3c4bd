"""The plans of the hot statements: by which index they come in, and how many rows they look at.

Every statement is explained as the product runs it: its own SQL, its own connection settings, values of the real
types. It must hold with fresh statistics, with stale ones (taken while the tables were empty) and with none, and
both with a plan made for the values and with a generic one that a long-lived connection would keep.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import uuid
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from windlass.connect import open_database
from windlass.job import JobId, NewJob
from windlass.stores import enqueuing
from windlass.stores.migrate import migrate
from windlass.stores.postgres import Driver, Postgres
from windlass.testing import PrivatePostgres

BATCH = 100
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NIL = uuid.UUID(int=0)

# Rows that stand in the way: better placed than those that a statement is after, in states that it must not visit.
FILL = """
INSERT INTO windlass.jobs (
    id, kind, queue, state, reason, priority, run_at, turn, lease_epoch, lease_expires_at, heartbeat_at, lease,
    timeout, worker, claim_id, created_at, updated_at, started_at, finished_at, args, attempt, max_attempts, run,
    expires_at, deadline
)
SELECT
    (lpad(to_hex((EXTRACT(EPOCH FROM $2::timestamptz) * 1000)::bigint + n), 12, '0') || '7000' ||
     substr(md5(n::text || $1), 1, 16))::uuid,
    $3, $4, $1,
    CASE WHEN $1 IN ('held', 'dead', 'cancelled') THEN 'because' END,
    5,
    $2::timestamptz + n * interval '1 ms', $2::timestamptz + n * interval '1 ms',
    CASE $1 WHEN 'running' THEN 1 WHEN 'completed' THEN 2 ELSE 0 END,
    CASE $1 WHEN 'running' THEN $6::timestamptz END,
    CASE $1 WHEN 'running' THEN now() END,
    interval '60 s', interval '300 s',
    CASE $1 WHEN 'running' THEN 'w' || n % 20 END,
    CASE $1 WHEN 'running' THEN gen_random_uuid() END,
    $2::timestamptz, $2::timestamptz,
    CASE WHEN $1 IN ('running', 'completed', 'dead') THEN now() - interval '1 min' END,
    CASE WHEN $1 IN ('completed', 'dead', 'cancelled') THEN $2::timestamptz END,
    '{"page": 3}', 0, 4, 0,
    $7::timestamptz, $7::timestamptz
FROM generate_series(1, $5::int) AS n
"""

Rows = tuple[str, timedelta, str, str, int, timedelta, timedelta | None]


def rows(
    state: str,
    count: int,
    *,
    age: timedelta = HOUR,
    kind: str = "report",
    queue: str = "default",
    lease_left: timedelta = MINUTE,
    limit_in: timedelta | None = None,
) -> Rows:
    return state, age, kind, queue, count, lease_left, limit_in


def crowd(finished: int) -> list[Rows]:
    """A table in use: 100,000 each of foreign, future and held rows, and this many finished ones."""
    return [
        rows("completed", finished, age=3 * DAY),
        rows("cancelled", 1000, age=2 * DAY),
        rows("available", 100_000, age=2 * DAY, kind="foreign"),
        rows("scheduled", 100_000, age=-2 * DAY),
        rows("held", 100_000, age=2 * DAY),
        *(rows("available", 500, kind=f"kind {number}", queue="many") for number in range(20)),
        rows("available", 5000),
        rows("scheduled", 500, age=2 * HOUR),
        rows("running", 500, age=3 * HOUR),
        rows("running", 500, age=5 * HOUR, lease_left=-MINUTE),
        rows("available", 500, age=6 * HOUR, kind="late", limit_in=-MINUTE),
        rows("dead", 500, age=7 * HOUR),
    ]


names = itertools.count()


class Tables:
    """A database filled for plans, and a connection as the engine opens it."""

    def __init__(self, database: Postgres, driver: Driver) -> None:
        self.database, self.driver = database, driver

    async def explain(self, name: str, values: dict[str, Any], *, plan_cache_mode: str) -> Plan:
        """The plan of a statement and what it really visited, undone afterwards."""
        statement = self.database.dialect.statement(name)
        given = {**values, **EACH_NAMES.get(name, {})}
        transaction = self.driver.transaction()
        await transaction.start()
        try:
            await self.driver.execute(f"SET LOCAL plan_cache_mode = {plan_cache_mode}")
            prepared = await self.driver.prepare(statement.sql)
            types = ", ".join(f"{_type(parameter)}" for parameter in prepared.get_parameters())
            await self.driver.execute(f"PREPARE hot{f'({types})' if types else ''} AS {statement.sql}")
            literals = [
                await self._literal(given[value], _type(parameter))
                for value, parameter in zip(statement.values, prepared.get_parameters(), strict=True)
            ]
            call = f"hot({', '.join(literals)})" if literals else "hot"
            explained = await self.driver.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {call}")
            await self.driver.execute("DEALLOCATE hot")
        finally:
            await transaction.rollback()
        return Plan(json.loads(explained)[0])

    async def _literal(self, value: Any, kind: str) -> str:
        text = await self.driver.fetchval(f"SELECT quote_nullable(($1::{kind})::text)", value)
        return f"{text}::{kind}"


EACH_NAMES: dict[str, dict[str, Any]] = {}


def _type(parameter: asyncpg.types.Type) -> str:
    if parameter.kind != "array":
        return parameter.name
    return parameter.name.removeprefix("_").removesuffix("[]") + "[]"


class Plan:
    """An explained statement, in the words of the assertions."""

    def __init__(self, explained: dict[str, Any]) -> None:
        self.cost: float = explained["Plan"]["Total Cost"]
        self.milliseconds: float = explained["Execution Time"]
        self.nodes = list(_walk(explained["Plan"]))

    @property
    def on_jobs(self) -> list[dict[str, Any]]:
        return [node for node in self.nodes if _table_of(node) == "jobs" and "Scan" in node["Node Type"]]

    @property
    def indexes(self) -> set[str]:
        return {node["Index Name"] for node in self.nodes if "Index Name" in node}

    @property
    def sequential(self) -> list[str]:
        return [_table_of(node) for node in self.nodes if node["Node Type"] == "Seq Scan" and _table_of(node) == "jobs"]

    @property
    def visited(self) -> int:
        """How many rows of jobs were looked at, filtered ones included."""
        return sum(_rows_of(node) for node in self.on_jobs)


def _walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _walk(child)


def _table_of(node: dict[str, Any]) -> str:
    index: str = node.get("Index Name", "")
    return node.get("Relation Name") or ("jobs" if index.startswith("jobs_") else "")


def _rows_of(node: dict[str, Any]) -> int:
    # The rows of a bitmap are counted where they are fetched.
    if node["Node Type"] == "Bitmap Index Scan":
        return 0
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return round((node["Actual Rows"] + removed) * node["Actual Loops"])


async def fill(driver: Driver, crowds: list[Rows]) -> None:
    now = datetime.now(UTC)
    for state, age, kind, queue, count, lease_left, limit_in in crowds:
        limit = None if limit_in is None else now + limit_in
        await driver.execute(FILL, state, now - age, kind, queue, count, now + lease_left, limit, timeout=110)
    await driver.execute(
        "INSERT INTO windlass.workers (id, state, host, pid, version, kinds, queues, concurrency, started_at, "
        "heartbeat_at) SELECT 'w' || n, 'alive', 'host', 1, '1', '[]', '[]', 5, now(), now() "
        "FROM generate_series(0, 19) AS n"
    )
    await driver.execute(
        "INSERT INTO windlass.dead_letters (job_id, lease_epoch, kind, queue, reason, attempts, died_at) "
        "SELECT id, lease_epoch, kind, queue, 'because', 1, finished_at FROM windlass.jobs WHERE state = 'dead'"
    )
    await driver.execute(
        "INSERT INTO windlass.dead_letters (job_id, lease_epoch, kind, queue, reason, attempts, died_at, status, "
        "resolution, resolved_by, resolved_at) SELECT id, 100 + n, kind, queue, 'because', 1, finished_at, "
        "'resolved', 'done', 'ann', now() FROM windlass.jobs, generate_series(1, 40) AS n WHERE state = 'dead'"
    )
