"""The least that a durable queue can do: claim a batch, settle the batch, again; no handlers, no checks."""

from __future__ import annotations

import sqlite3
import time
import uuid
from pathlib import Path

import asyncpg

TABLE = """
CREATE SCHEMA IF NOT EXISTS bare;
DROP TABLE IF EXISTS bare.jobs;
CREATE TABLE bare.jobs (
    id uuid PRIMARY KEY, kind text NOT NULL, queue text NOT NULL, state text NOT NULL, turn timestamptz NOT NULL,
    args json NOT NULL, result json, attempt smallint NOT NULL DEFAULT 0, lease_epoch integer NOT NULL DEFAULT 0,
    lease_expires_at timestamptz, worker text, created_at timestamptz NOT NULL, started_at timestamptz,
    finished_at timestamptz
);
CREATE INDEX bare_claim ON bare.jobs (queue, kind, turn, id) WHERE state = 'available';
CREATE INDEX bare_running ON bare.jobs (worker) WHERE state = 'running';
"""
SQLITE_TABLE = """
CREATE TABLE jobs (
    id text PRIMARY KEY, kind text NOT NULL, queue text NOT NULL, state text NOT NULL, turn integer NOT NULL,
    args text NOT NULL, result text, attempt integer NOT NULL DEFAULT 0, lease_epoch integer NOT NULL DEFAULT 0,
    lease_expires_at integer, worker text, created_at integer NOT NULL, started_at integer, finished_at integer
);
CREATE INDEX claim ON jobs (queue, kind, turn, id) WHERE state = 'available';
CREATE INDEX running ON jobs (worker) WHERE state = 'running';
"""
INSERT_ONE = """
INSERT INTO bare.jobs (id, kind, queue, state, turn, args, created_at)
VALUES ($1, 'noop', 'default', 'available', now(), $2, now())
"""
INSERT_MANY = """
INSERT INTO bare.jobs (id, kind, queue, state, turn, args, created_at)
SELECT id, 'noop', 'default', 'available', now(), args, now()
FROM unnest($1::uuid[], $2::json[]) AS given (id, args)
"""
CLAIM = """
WITH picked AS MATERIALIZED (
    SELECT id FROM bare.jobs WHERE state = 'available' AND queue = 'default' AND kind = 'noop'
    ORDER BY turn, id LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE bare.jobs SET state = 'running', attempt = attempt + 1, lease_epoch = lease_epoch + 1, worker = 'bare',
    started_at = clock_timestamp(), lease_expires_at = clock_timestamp() + interval '60 s'
WHERE id = ANY (ARRAY(SELECT id FROM picked))
RETURNING id, lease_epoch, args
"""
COMPLETE = """
UPDATE bare.jobs AS job SET state = 'completed', lease_epoch = job.lease_epoch + 1, lease_expires_at = NULL,
    result = NULL, finished_at = clock_timestamp()
FROM unnest($1::uuid[], $2::int[]) AS given (id, epoch)
WHERE job.id = given.id AND job.lease_epoch = given.epoch
RETURNING job.id
"""


async def connect(url: str) -> asyncpg.Connection:
    """A plain connection whose plans cannot degrade, as the engine's."""
    return await asyncpg.connect(url, server_settings={"enable_seqscan": "off", "jit": "off"})


async def prepare(url: str) -> None:
    """An empty table."""
    connection = await connect(url)
    await connection.execute(TABLE)
    await connection.close()


async def enqueue_one(url: str, jobs: int) -> float:
    """Seconds for storing jobs one by one."""
    connection = await connect(url)
    started = time.perf_counter()
    for number in range(jobs):
        await connection.execute(INSERT_ONE, uuid.uuid4(), f'{{"n":{number}}}')
    taken = time.perf_counter() - started
    await connection.close()
    return taken


async def enqueue_many(url: str, jobs: int, *, batch: int = 1000) -> float:
    """Seconds for storing jobs in batches."""
    connection = await connect(url)
    started = time.perf_counter()
    for first in range(0, jobs, batch):
        numbers = range(first, min(first + batch, jobs))
        await connection.execute(
            INSERT_MANY, [uuid.uuid4() for _ in numbers], [f'{{"n":{n}}}' for n in numbers]
        )
    taken = time.perf_counter() - started
    await connection.close()
    return taken


async def drain(url: str, *, batch: int) -> tuple[int, float]:
    """How many jobs were there, and the seconds it took to claim and complete them all."""
    connection = await connect(url)
    done, started = 0, time.perf_counter()
    while claimed := await connection.fetch(CLAIM, batch):
        await connection.fetch(
            COMPLETE, [row["id"] for row in claimed], [row["lease_epoch"] for row in claimed]
        )
        done += len(claimed)
    taken = time.perf_counter() - started
    await connection.close()
    return done, taken


def drain_sqlite(path: Path, jobs: int, *, batch: int) -> float:
    """The same loop on an SQLite file, with the same durability."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;" + SQLITE_TABLE)
    connection.execute("BEGIN")
    rows = [(str(uuid.uuid4()), number, f'{{"n":{number}}}', number) for number in range(jobs)]
    connection.executemany(
        "INSERT INTO jobs (id, kind, queue, state, turn, args, created_at)"
        " VALUES (?, 'noop', 'default', 'available', ?, ?, ?)",
        rows,
    )
    connection.execute("COMMIT")
    started = time.perf_counter()
    while True:
        connection.execute("BEGIN IMMEDIATE")
        claimed = connection.execute(
            "UPDATE jobs SET state = 'running', attempt = attempt + 1, lease_epoch = lease_epoch + 1, worker = 'bare',"
            " started_at = ?1, lease_expires_at = ?1 + 60 WHERE id IN (SELECT id FROM jobs WHERE state = 'available'"
            " AND queue = 'default' AND kind = 'noop' ORDER BY turn, id LIMIT ?2) RETURNING id, lease_epoch, args",
            (time.time(), batch),
        ).fetchall()
        connection.execute("COMMIT")
        if not claimed:
            break
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "UPDATE jobs SET state = 'completed', lease_epoch = lease_epoch + 1, lease_expires_at = NULL,"
            " result = NULL, finished_at = ? WHERE id = ? AND lease_epoch = ?",
            [(time.time(), job_id, epoch) for job_id, epoch, _ in claimed],
        )
        connection.execute("COMMIT")
    taken = time.perf_counter() - started
    connection.close()
    return taken
