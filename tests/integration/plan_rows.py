"""What stands in the tables while plans are made: first what is over, then much that is in the way, and some work."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import asyncpg
from plans import DAY, HOUR, MINUTE, STATISTICS

from backstay.composition.connect import open_database
from backstay.stores.database.migrate import migrate
from backstay.stores.database.postgres import Driver
from backstay.testing import PrivatePostgres

RUNNING = 1000
"""How many jobs run: what looks for overrun ones must look at each of them."""

LETTERS = 500
"""How many dead letters are open."""

LETTERS_A_JOB = 41
"""How many dead letters a job has: one that is open, and forty closed ones."""

MANY = 100_000
SOME = 20_000
KEYS = 2000

FILL = """
INSERT INTO backstay.jobs (
    id, kind, queue, state, reason, priority, run_at, turn, lease_epoch, lease_expires_at, heartbeat_at, lease,
    timeout, worker, claim_id, created_at, updated_at, started_at, finished_at, args, attempt, max_attempts, run,
    expires_at, deadline, tenant, parked_for, order_key
)
SELECT
    (lpad(to_hex((EXTRACT(EPOCH FROM $2::timestamptz) * 1000)::bigint + n), 12, '0') || '7000' ||
     substr(md5(n::text || $1 || $3 || $8), 1, 16))::uuid,
    $3, $4, $1,
    CASE WHEN $1 IN ('held', 'dead', 'cancelled') THEN $8 END,
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
    $7::timestamptz, $7::timestamptz, __tenant__, __parked_for__, __order_key__
FROM generate_series(1, $5::int) AS n
"""


@dataclass(frozen=True)
class Rows:
    """Jobs that are alike. `tenant`, `parked_for` and `order_key` are SQL, and may speak of the number `n` of each."""

    state: str
    count: int
    age: timedelta = HOUR
    kind: str = "report"
    queue: str = "default"
    reason: str = "because"
    lease_left: timedelta = MINUTE
    limit_in: timedelta | None = None
    tenant: str = "''"
    parked_for: str = "NULL"
    order_key: str = "NULL"


def crowd() -> list[Rows]:
    """A table in use: 100,000 each of foreign, future and parked jobs, better placed than the work beside them."""
    return [
        Rows("cancelled", 1000, age=2 * DAY),
        # All of one tenant, and in the same line as a few of 300 others.
        Rows("available", MANY, age=2 * DAY, kind="foreign", tenant="'a'"),
        Rows("available", 300, age=DAY, kind="foreign", tenant="'small ' || n"),
        Rows("scheduled", MANY, age=-2 * DAY),
        # One key with a long line, many with one job each, and as many lines in order.
        Rows("held", MANY, age=2 * DAY, parked_for="'key customer:1'"),
        Rows(
            "held",
            KEYS,
            age=DAY,
            parked_for="'key customer:' || n + 1",
            order_key="'account:' || n",
        ),
        Rows("held", 500, age=DAY, reason="tenant paused", tenant="'asleep'"),
        *(Rows("available", 500, kind=f"kind {number}", queue="many") for number in range(20)),
        Rows("available", 5000),
        Rows("scheduled", 500, age=2 * HOUR),
        Rows("running", RUNNING // 2, age=3 * HOUR),
        Rows("running", RUNNING // 2, age=5 * HOUR, lease_left=-MINUTE),
        Rows("available", 500, age=6 * HOUR, kind="late", limit_in=-MINUTE),
        Rows("dead", LETTERS, age=7 * HOUR),
    ]


NUMBERED = "(SELECT id, row_number() OVER (ORDER BY id) AS n FROM backstay.jobs WHERE state = '{state}')"

SCHEDULES = f"""
INSERT INTO backstay.schedules (
    id, name, kind, source, definition, declared_by, is_active, next_fire_at, tzdata, created_at, updated_at
)
SELECT
    lpad(to_hex(n), 32, '0')::uuid, 's' || n, 'report', 'runtime', '{{}}', 'test', n % 2 = 0,
    now() + (n - 500) * interval '1 min', 'x', now(), now()
FROM generate_series(1, {KEYS}) AS n
"""
FIRES = """
INSERT INTO backstay.fires (
    schedule_id, fire_time, reference_time, trigger_source, status, is_open, job_id, created_at, created_by
)
SELECT
    lpad(to_hex(n % {keys} + 1), 32, '0')::uuid, now() - n * interval '1 s', now(), 'schedule', '{status}',
    {is_open}, id, now() - n * interval '1 min', 'scheduler'
FROM {jobs} AS job
WHERE n <= {count}
"""
FLOWS = f"""
INSERT INTO backstay.flows (id, name, created_at)
SELECT lpad(to_hex(n), 32, '0')::uuid, 'flow ' || n, now()
FROM generate_series(1, {KEYS}) AS n
"""
MEMBERS = f"""
INSERT INTO backstay.flow_jobs (job_id, flow_id)
SELECT id, lpad(to_hex(n % {KEYS} + 1), 32, '0')::uuid
FROM {{jobs}} AS job
WHERE n <= {SOME}
"""
MET = f"""
INSERT INTO backstay.dependencies (job_id, parent_id, type, verdict, decided_at)
SELECT child.id, parent.id, 'success', 'met', now()
FROM {NUMBERED.format(state="completed")} AS child
JOIN {NUMBERED.format(state="completed")} AS parent ON parent.n = child.n - 1
WHERE child.n <= {SOME}
"""

OVER = [
    SCHEDULES,
    FIRES.format(
        keys=KEYS, status="enqueued", is_open="FALSE", count=SOME, jobs=NUMBERED.format(state="completed")
    ),
    FLOWS,
    MEMBERS.format(jobs=NUMBERED.format(state="completed")),
    MET,
]

WORKERS = """
INSERT INTO backstay.workers (
    id, state, host, pid, version, kinds, queues, concurrency, started_at, heartbeat_at
)
SELECT 'w' || n, 'alive', 'host', 1, '1', '[]', '[]', 5, now(), now()
FROM generate_series(0, 19) AS n
"""
DEAD_LETTERS = f"""
INSERT INTO backstay.dead_letters (
    job_id, lease_epoch, kind, queue, reason, fingerprint, attempts, died_at, status, resolution, resolved_by,
    resolved_at
)
SELECT
    id, n, kind, queue, 'because', md5(id::text), 1, finished_at,
    CASE n WHEN 0 THEN 'new' ELSE 'resolved' END, 'done', 'ann', now()
FROM backstay.jobs
CROSS JOIN generate_series(0, {LETTERS_A_JOB - 1}) AS n
WHERE state = 'dead'
"""
# Some of them are over.
WAITS = f"""
INSERT INTO backstay.waits (job_id, name, number, position, is_open, waiting_since, times_out_at)
SELECT id, 'go', 1, 1, TRUE, now(), now() + (n - 500) * interval '1 min'
FROM {NUMBERED.format(state="held")} AS job
WHERE n <= {SOME}
"""
MISFITS = f"""
INSERT INTO backstay.misfits (job_id, kind, attempt, is_open, times, again_at, gives_up_at)
SELECT id, 'report', 1, n % 2 = 0, 1, now(), now() + interval '1 day'
FROM {NUMBERED.format(state="completed")} AS job
WHERE n <= {SOME}
"""
AUDIT = f"""
INSERT INTO backstay.audit (at, tenant, actor, action)
SELECT now(), '', 'ann', 'queue.pause'
FROM generate_series(1, {KEYS}) AS n
"""
CHAIN = """
INSERT INTO backstay.audit_chain (tenant, sequence, audit_id, previous_hash, hash, chained_at)
SELECT '', row_number() OVER (ORDER BY id), id, 'before', 'after', now()
FROM backstay.audit
WHERE tenant = ''
"""
OPERATIONS = f"""
INSERT INTO backstay.operations (
    id, tenant, name, verb, target, reason, pace, status, started_at, started_by, ended_at, next_at
)
SELECT
    lpad(to_hex(n), 32, '0')::uuid, '', 'o' || n, 'retry', '{{}}', 'mended', 0,
    CASE n WHEN 1 THEN 'running' ELSE 'completed' END, now(), 'ann', CASE n WHEN 1 THEN NULL ELSE now() END, now()
FROM generate_series(1, {KEYS}) AS n
"""
SIGNALS = f"""
INSERT INTO backstay.signals (job_id, name, position, key, sent_by, sent_at)
SELECT id, 'go', 1, 'once', 'ann', now()
FROM {NUMBERED.format(state="completed")} AS job
WHERE n <= {SOME}
"""
TIES = f"""
INSERT INTO backstay.dependencies (job_id, parent_id, place, type)
SELECT child.id, parent.id, '/page', 'data'
FROM {NUMBERED.format(state="held")} AS child
JOIN {NUMBERED.format(state="scheduled")} AS parent ON parent.n = child.n
WHERE child.n <= {SOME}
"""
LIMITS = f"""
INSERT INTO backstay.limits (key, most, every, yields, spent_until, next_at)
SELECT 'key customer:' || n, 1, interval '0', FALSE, now(), NULL::timestamptz
FROM generate_series(1, {KEYS}) AS n
UNION ALL
SELECT 'rate key host:' || n, 1, interval '1 s', FALSE, now(), now() - interval '1 s'
FROM generate_series(1, {KEYS}) AS n
"""
PERMITS = """
INSERT INTO backstay.permits (limit_key, job_id, lease_epoch)
SELECT 'key customer:' || row_number() OVER (ORDER BY id), id, lease_epoch
FROM backstay.jobs
WHERE state = 'running'
"""
# By each of these tables one job in ten thousand is found by what a caller says.
KEPT = [
    f"""
    INSERT INTO backstay.idempotency_keys (tenant, key, fingerprint, job_id, expires_at)
    SELECT '', 'key ' || n, 'print', id, now() + (n - 500) * interval '1 min'
    FROM {NUMBERED.format(state="scheduled")} AS job
    WHERE n <= {SOME}
    """,
    f"""
    INSERT INTO backstay.unique_windows (tenant, key, window_number, job_id, expires_at)
    SELECT '', 'key ' || n, 1, id, now() + (n - 500) * interval '1 min'
    FROM {NUMBERED.format(state="scheduled")} AS job
    WHERE n <= {SOME}
    """,
    f"""
    INSERT INTO backstay.debounces (tenant, key, job_id)
    SELECT '', 'key ' || n, id
    FROM {NUMBERED.format(state="scheduled")} AS job
    WHERE n <= {SOME}
    """,
    f"""
    INSERT INTO backstay.locks (tenant, id, holder, fence, locked_at, expires_at)
    SELECT '', 'lock ' || n, 'ann', 1, now(), now() + interval '1 hour'
    FROM generate_series(1, {SOME}) AS n
    """,
    f"""
    INSERT INTO backstay.attempts (
        job_id, lease_epoch, attempt, run, status, started_at, finished_at, duration_ms
    )
    SELECT id, 1, 1, 1, 'failed', now(), now(), 1
    FROM {NUMBERED.format(state="completed")} AS job
    WHERE n <= {SOME}
    """,
    f"""
    INSERT INTO backstay.steps (job_id, name, position, lease_epoch, attempt, run, duration_ms, finished_at)
    SELECT id, 'fetch', 1, 1, 1, 1, 1, now()
    FROM {NUMBERED.format(state="completed")} AS job
    WHERE n <= {SOME}
    """,
    f"""
    INSERT INTO backstay.progress (job_id, lease_epoch, current, updated_at)
    SELECT id, 1, 1, now()
    FROM {NUMBERED.format(state="completed")} AS job
    WHERE n <= {SOME}
    """,
]
QUOTAS = """
INSERT INTO backstay.quotas (tenant, queue, most, set_at, set_by, reason)
VALUES ('asleep', 'default', 10, now(), 'ann', 'because'), ('', '', 1000000, now(), 'ann', 'because')
"""
IN_USE = [
    WORKERS,
    DEAD_LETTERS,
    WAITS,
    MISFITS,
    AUDIT,
    CHAIN,
    OPERATIONS,
    SIGNALS,
    TIES,
    FIRES.format(
        keys=KEYS, status="queued", is_open="TRUE", count=500, jobs=NUMBERED.format(state="running")
    ),
    LIMITS,
    PERMITS,
    *KEPT,
    QUOTAS,
]

names = itertools.count()


def prepared(server: PrivatePostgres, *, finished: int) -> dict[str, str]:
    """One filled database for each state of the statistics; returns their names."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, _prepare(server, finished=finished)).result()


async def _prepare(server: PrivatePostgres, *, finished: int) -> dict[str, str]:
    base = f"plans_{next(names)}"
    server.create_database(base)
    database = open_database(server.url(base))
    await migrate(database)
    await database.close()
    driver = await asyncpg.connect(server.url(base))
    await _leave_statistics_alone(driver)
    # What refers to jobs is made from them, and the planner is about to be misled about how many there are.
    await driver.execute("SET session_replication_role = replica")
    await driver.execute("SET enable_nestloop = off")
    await fill(driver, [Rows("completed", finished, age=3 * DAY)])
    await _run(driver, OVER)
    await driver.execute("ANALYZE", timeout=110)
    await fill(driver, crowd())
    await _run(driver, IN_USE)
    await driver.close()
    databases = {name: f"{base}_{name}" if changes else base for name, changes in STATISTICS.items()}
    for name, changes in STATISTICS.items():
        if changes:
            server.create_database(databases[name], template=base)
            driver = await asyncpg.connect(server.url(databases[name]))
            await _run(driver, changes)
            await driver.close()
    return databases


async def _leave_statistics_alone(driver: Driver) -> None:
    tables = await driver.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'backstay'")
    await _run(
        driver,
        (f"ALTER TABLE backstay.{row['tablename']} SET (autovacuum_enabled = off)" for row in tables),
    )


async def fill(driver: Driver, crowds: Sequence[Rows]) -> None:
    """Store jobs, each sort of them by one statement."""
    now = datetime.now(UTC)
    for rows in crowds:
        statement = FILL
        for name in ("tenant", "parked_for", "order_key"):
            statement = statement.replace(f"__{name}__", getattr(rows, name))
        limit = None if rows.limit_in is None else now + rows.limit_in
        given = (rows.state, now - rows.age, rows.kind, rows.queue, rows.count, now + rows.lease_left, limit)
        await driver.execute(statement, *given, rows.reason, timeout=110)


async def _run(driver: Driver, statements: Iterable[str]) -> None:
    for statement in statements:
        await driver.execute(statement, timeout=110)
