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
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
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
PLACE = "the place of a row"
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
     substr(md5(n::text || $1 || $3), 1, 16))::uuid,
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


def crowd() -> list[Rows]:
    """A table in use beside its finished rows: 100,000 each of foreign, future and held ones, and some work."""
    return [
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
        transaction = self.driver.transaction()
        await transaction.start()
        try:
            await self.driver.execute(f"SET LOCAL plan_cache_mode = {plan_cache_mode}")
            prepared = await self.driver.prepare(statement.sql)
            types = ", ".join(f"{_type(parameter)}" for parameter in prepared.get_parameters())
            await self.driver.execute(f"PREPARE hot{f'({types})' if types else ''} AS {statement.sql}")
            literals = [
                await self._literal(values[value], _type(parameter))
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
        """The ways to rows: by an index, or by the place of one that is locked."""
        places = {PLACE for node in self.nodes if node["Node Type"] == "Tid Scan"}
        return {node["Index Name"] for node in self.nodes if "Index Name" in node} | places

    @property
    def sequential(self) -> list[str]:
        return [
            _table_of(node)
            for node in self.nodes
            if node["Node Type"] == "Seq Scan" and _table_of(node) == "jobs"
        ]

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


async def fill(driver: Driver, crowds: Sequence[Rows]) -> None:
    now = datetime.now(UTC)
    for state, age, kind, queue, count, lease_left, limit_in in crowds:
        limit = None if limit_in is None else now + limit_in
        await driver.execute(FILL, state, now - age, kind, queue, count, now + lease_left, limit, timeout=110)


WORKERS = """
INSERT INTO windlass.workers (
    id, state, host, pid, version, kinds, queues, concurrency, started_at, heartbeat_at
)
SELECT 'w' || n, 'alive', 'host', 1, '1', '[]', '[]', 5, now(), now()
FROM generate_series(0, 19) AS n
"""

# For every open letter forty closed ones.
LETTERS = """
INSERT INTO windlass.dead_letters (
    job_id, lease_epoch, kind, queue, reason, fingerprint, attempts, died_at, status, resolution, resolved_by,
    resolved_at
)
SELECT
    id, n, kind, queue, 'because', md5(id::text), 1, finished_at,
    CASE n WHEN 0 THEN 'new' ELSE 'resolved' END, 'done', 'ann', now()
FROM windlass.jobs
CROSS JOIN generate_series(0, 40) AS n
WHERE state = 'dead'
"""

# Waits of every held job, a few of which are over.
WAITS = """
INSERT INTO windlass.waits (job_id, name, number, position, is_open, waiting_since, times_out_at)
SELECT id, 'go', 1, 1, TRUE, now(), now() + (row_number() OVER (ORDER BY id) - 500) * interval '1 min'
FROM windlass.jobs
WHERE state = 'held'
"""

# What the planner believes, without another fill. An ANALYZE of empty tables leaves no statistics and zero rows.
FORGET = """
DELETE FROM pg_statistic
WHERE starelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'windlass'::regnamespace)
"""
BELIEVE = "UPDATE pg_class SET relpages = 0, reltuples = {rows} WHERE relnamespace = 'windlass'::regnamespace"
STATISTICS = {
    "fresh": ["ANALYZE"],
    "stale": [FORGET, BELIEVE.format(rows=0)],
    "never": [FORGET, BELIEVE.format(rows=-1)],
    # Taken while every job had finished: no row is believed to be in any other state.
    "misleading": [],
}


async def prepare(server: PrivatePostgres, *, finished: int) -> dict[str, str]:
    """One filled database for each state of the statistics; returns their names."""
    base = f"plans_{next(names)}"
    server.create_database(base)
    database = open_database(server.url(base))
    assert isinstance(database, Postgres)
    await migrate(database)
    await database.close()
    driver = await asyncpg.connect(server.url(base))
    for table in ("jobs", "dead_letters", "workers"):
        await driver.execute(f"ALTER TABLE windlass.{table} SET (autovacuum_enabled = off)")
    await fill(driver, [rows("completed", finished, age=3 * DAY)])
    await driver.execute("ANALYZE")
    await fill(driver, crowd())
    await driver.execute(WORKERS)
    await driver.execute(LETTERS)
    await driver.execute(WAITS)
    await driver.close()
    copies = {name: f"{base}_{name}" for name in STATISTICS}
    for name, copy in copies.items():
        server.create_database(copy, template=base)
        driver = await asyncpg.connect(server.url(copy))
        for statement in STATISTICS[name]:
            await driver.execute(statement, timeout=110)
        await driver.close()
    server.drop_database(base)
    return copies


def prepared(server: PrivatePostgres, *, finished: int) -> dict[str, str]:
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(lambda: asyncio.run(prepare(server, finished=finished))).result()


@pytest.fixture(scope="module")
def databases(postgres_server: PrivatePostgres) -> Iterator[dict[str, str]]:
    copies = prepared(postgres_server, finished=100_000)
    yield copies
    for copy in copies.values():
        postgres_server.drop_database(copy)


@asynccontextmanager
async def opened(server: PrivatePostgres, name: str, *, query: str = "") -> AsyncIterator[Tables]:
    """The database, on a connection as the engine opens it."""
    database = open_database(server.url(name) + query)
    assert isinstance(database, Postgres)
    driver = await database.connect()
    yield Tables(database, driver)
    await driver.close()
    await database.close()


@pytest.fixture(params=STATISTICS)
async def tables(
    request: pytest.FixtureRequest, postgres_server: PrivatePostgres, databases: dict[str, str]
) -> AsyncIterator[Tables]:
    async with opened(postgres_server, databases[request.param]) as tables:
        yield tables


@pytest.fixture(params=STATISTICS)
async def pooled_tables(
    request: pytest.FixtureRequest, postgres_server: PrivatePostgres, databases: dict[str, str]
) -> AsyncIterator[Tables]:
    """The same on a connection to a pooler, which keeps no settings of a session."""
    async with opened(postgres_server, databases[request.param], query="?pooled=true") as tables:
        yield tables


@pytest.fixture(params=["force_generic_plan", "force_custom_plan"])
def plan_cache_mode(request: pytest.FixtureRequest) -> str:
    mode: str = request.param
    return mode


async def ids_of(tables: Tables, state: str, count: int = BATCH) -> list[uuid.UUID]:
    found = await tables.driver.fetch(
        "SELECT id FROM windlass.jobs WHERE state = $1 ORDER BY id LIMIT $2", state, count
    )
    return [row["id"] for row in found]


def claim_values(pairs: Sequence[tuple[str, str]], *, limit: int = BATCH) -> dict[str, Any]:
    return {
        "queues": [queue for queue, _ in pairs],
        "kinds": [kind for _, kind in pairs],
        "leases": [MINUTE] * len(pairs),
        "timeouts": [HOUR] * len(pairs),
        "max_attempts": [4] * len(pairs),
        "worker": "w1",
        "claim_id": uuid.uuid4(),
        "limit": limit,
        "suspects": 1,
        "since": datetime(1, 1, 1, tzinfo=UTC),
    }


ONE_PAIR = [("default", "report")]
TWENTY_PAIRS = [("many", f"kind {number}") for number in range(20)]


async def settlement_values(tables: Tables) -> dict[str, Any]:
    held = await ids_of(tables, "running")
    return {
        "job_id": held,
        "epoch": [1] * len(held),
        "next_state": ["scheduled"] * len(held),
        "next_reason": [None] * len(held),
        "failure": ['{"type": "ValueError"}'] * len(held),
        "refund": [0] * len(held),
        "more_crashes": [0] * len(held),
        "suspected": [False] * len(held),
        "run_in": [MINUTE] * len(held),
        "attempts_allowed": [None] * len(held),
        "next_timeout": [None] * len(held),
        "is_end": [False] * len(held),
    }


def enqueue_values() -> dict[str, Any]:
    jobs = [
        enqueuing.values_of(NewJob(id=JobId(uuid.uuid4()), kind="report", queue="default", args="{}"))
        for _ in range(BATCH)
    ]
    return {name: [job[name] for job in jobs] for name in jobs[0]}


async def guards(tables: Tables, state: str = "running") -> dict[str, Any]:
    held = await ids_of(tables, state)
    return {"job_id": held, "epoch": [1] * len(held)}


async def values_for(tables: Tables, name: str) -> dict[str, Any]:
    """What the product would hand to the statement."""
    match name:
        case "jobs/claim":
            return claim_values(ONE_PAIR)
        case "jobs/complete":
            return {**await guards(tables), "value": ["1"] * BATCH}
        case "jobs/complete_alike":
            return {"ids": await ids_of(tables, "running"), "epoch": 1}
        case "jobs/settle":
            return await settlement_values(tables)
        case "jobs/renew" | "jobs/settled" | "jobs/look_again":
            return await guards(tables)
        case "dead_letters/record":
            asked = await guards(tables, "dead")
            return {**asked, "cause": ["a" * 64] * len(asked["job_id"])}
        case "jobs/seize":
            return {**await guards(tables), "hold_for": [MINUTE] * BATCH}
        case "jobs/honour_cancel" | "jobs/expire" | "jobs/miss_deadline":
            return {"job_id": await ids_of(tables, "available")}
        case "jobs/enqueue":
            return enqueue_values()
        case "jobs/expired":
            return {"overrun": MINUTE, "limit": BATCH, "as_of": datetime(2999, 1, 1, tzinfo=UTC)}
        case "jobs/look":
            return {"overrun": MINUTE}
        case "jobs/of_worker":
            return {"worker": "w1", "limit": BATCH}
        case "jobs/cancel_requests":
            return {"worker": "w1"}
        case "jobs/strays":
            return {"worker": "w1", "unanswered": [uuid.uuid4()]}
        case "jobs/by_age":
            return {"after": NIL, "limit": BATCH}
        case "jobs/delete_finished":
            return {"ids": await ids_of(tables, "dead"), "finished_before": datetime.now(UTC)}
        case "jobs/get" | "jobs/ending" | "signals/addressee" | "signals/mail":
            return {"id": (await ids_of(tables, "available", 1))[0]}
        case "dead_letters/open":
            return {"kind": None, "queue": None, "tenant": None, "fingerprint": None, "limit": BATCH}
        case "dead_letters/next_open":
            narrowed = dict.fromkeys(("kind", "queue", "tenant", "fingerprint"))
            now = datetime.now(UTC)
            return {
                **narrowed,
                "died_until": now,
                "after_died_at": now - DAY,
                "after_job_id": NIL,
                "limit": BATCH,
            }
        case "dead_letters/groups":
            return {"kind": None, "queue": None, "tenant": None, "limit": BATCH}
        case "keys/find_active":
            return {"tenant": "", "key": "customer-7"}
        case _:
            return {"limit": BATCH}


RUNNING = 1000
"""How many jobs run in the filled tables: what looks for overrun ones must look at each of them."""

# The indexes by which a statement must come in, and how many rows of jobs it may look at.
HOT: dict[str, tuple[set[str], int]] = {
    "jobs/claim": ({"jobs_claim", "jobs_claim_suspect", PLACE}, 4 * BATCH),
    "jobs/complete": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/complete_alike": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/settle": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/renew": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/settled": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/look_again": ({"jobs_pkey"}, 3 * BATCH),
    "jobs/seize": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/honour_cancel": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/enqueue": (set(), 0),
    "jobs/promote": ({"jobs_due", "jobs_pkey"}, 3 * BATCH),
    "jobs/expired": ({"jobs_running"}, 2 * RUNNING),
    "jobs/of_worker": ({"jobs_running"}, RUNNING // 10),
    "jobs/cancel_requests": ({"jobs_running"}, RUNNING // 10),
    "jobs/strays": ({"jobs_running"}, RUNNING // 10),
    "jobs/look": ({"jobs_due", "jobs_running", "jobs_expiring", "jobs_deadline", "waits_due"}, 2 * RUNNING),
    "jobs/unstarted": ({"jobs_expiring"}, 2 * BATCH),
    "jobs/expire": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/late": ({"jobs_deadline"}, 2 * BATCH),
    "jobs/miss_deadline": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/by_age": ({"jobs_pkey"}, BATCH),
    "jobs/delete_finished": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/get": ({"jobs_pkey"}, 1),
    "jobs/ending": ({"jobs_pkey"}, 1),
    "jobs/next_due": ({"jobs_due", "waits_due"}, 1),
    "signals/late": ({"waits_due", "jobs_pkey"}, 2 * BATCH),
    "signals/addressee": ({"jobs_pkey"}, 1),
    "signals/mail": ({"waits_pkey"}, 0),
    "keys/find_active": ({"jobs_unique_active"}, 1),
    "dead_letters/record": ({"jobs_pkey"}, 2 * BATCH),
    "dead_letters/open": ({"dead_letters_open"}, 0),
    "dead_letters/next_open": ({"dead_letters_open"}, 0),
    "dead_letters/groups": ({"dead_letters_cause"}, 0),
}


@pytest.mark.parametrize("name", HOT)
async def test_a_hot_statement_comes_in_by_its_index_and_looks_at_no_more_than_its_batch(
    tables: Tables, plan_cache_mode: str, name: str
) -> None:
    indexes, most = HOT[name]

    plan = await tables.explain(name, await values_for(tables, name), plan_cache_mode=plan_cache_mode)

    assert plan.sequential == []
    assert indexes <= plan.indexes
    assert plan.visited <= most


@pytest.mark.parametrize("name", HOT)
async def test_behind_a_pooler_a_hot_statement_looks_at_no_more_either(
    pooled_tables: Tables, name: str
) -> None:
    """Without the engine's settings; no plan is kept there, so each is made for its values."""
    indexes, most = HOT[name]
    values = await values_for(pooled_tables, name)

    plan = await pooled_tables.explain(name, values, plan_cache_mode="force_custom_plan")

    assert plan.sequential == []
    assert indexes <= plan.indexes
    assert plan.visited <= most


async def test_a_claim_over_many_kinds_looks_at_the_head_of_each(
    tables: Tables, plan_cache_mode: str
) -> None:
    """ENG-031: twenty pairs of queue and kind in one statement."""
    limit = 20

    plan = await tables.explain(
        "jobs/claim", claim_values(TWENTY_PAIRS, limit=limit), plan_cache_mode=plan_cache_mode
    )

    assert plan.sequential == []
    assert plan.visited <= limit * (len(TWENTY_PAIRS) + 3)


async def test_a_claim_never_takes_more_than_its_limit(tables: Tables, plan_cache_mode: str) -> None:
    """A plan that runs its inner part more than once would take more."""
    values = claim_values(ONE_PAIR, limit=5)
    statement = tables.database.dialect.statement("jobs/claim")

    transaction = tables.driver.transaction()
    await transaction.start()
    await tables.driver.execute(f"SET LOCAL plan_cache_mode = {plan_cache_mode}")
    claimed = await tables.driver.fetch(statement.sql, *[values[value] for value in statement.values])
    await transaction.rollback()

    assert len(claimed) == 5


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_claim_costs_the_same_beside_a_million_finished_jobs(
    postgres_server: PrivatePostgres,
) -> None:
    """ENG-144."""
    copies = prepared(postgres_server, finished=1_000_000)

    for copy in copies.values():
        async with opened(postgres_server, copy) as tables:
            for mode in ("force_generic_plan", "force_custom_plan"):
                for name in (
                    "jobs/claim",
                    "jobs/complete",
                    "jobs/complete_alike",
                    "jobs/settle",
                    "jobs/renew",
                    "jobs/promote",
                    "jobs/expired",
                ):
                    indexes, most = HOT[name]
                    values = await values_for(tables, name)
                    plan = await tables.explain(name, values, plan_cache_mode=mode)
                    assert plan.sequential == [], (copy, mode, name)
                    assert indexes <= plan.indexes, (copy, mode, name)
                    assert plan.visited <= most, (copy, mode, name)
        postgres_server.drop_database(copy)
