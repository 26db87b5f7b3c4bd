"""The least that a durable queue can do: claim a batch, settle the batch, again; no handlers, no checks."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Callable, Sequence

import asyncpg

TABLE = """
CREATE SCHEMA IF NOT EXISTS bare;
CREATE TABLE IF NOT EXISTS bare.jobs (
    id uuid PRIMARY KEY, kind text NOT NULL, queue text NOT NULL, state text NOT NULL, turn timestamptz NOT NULL,
    args json NOT NULL, result json, attempt smallint NOT NULL DEFAULT 0, lease_epoch integer NOT NULL DEFAULT 0,
    lease_expires_at timestamptz, worker text, created_at timestamptz NOT NULL, started_at timestamptz,
    finished_at timestamptz
);
CREATE INDEX IF NOT EXISTS bare_claim ON bare.jobs (queue, kind, turn, id) WHERE state = 'available';
CREATE INDEX IF NOT EXISTS bare_running ON bare.jobs (worker) WHERE state = 'running';
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
SQLITE_TABLE = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS jobs (
    id text PRIMARY KEY, kind text NOT NULL, queue text NOT NULL, state text NOT NULL, turn integer NOT NULL,
    args text NOT NULL, result text, attempt integer NOT NULL DEFAULT 0, lease_epoch integer NOT NULL DEFAULT 0,
    lease_expires_at integer, worker text, created_at integer NOT NULL, started_at integer, finished_at integer
);
CREATE INDEX IF NOT EXISTS claim ON jobs (queue, kind, turn, id) WHERE state = 'available';
CREATE INDEX IF NOT EXISTS running ON jobs (worker) WHERE state = 'running';
"""
SQLITE_INSERT = """
INSERT INTO jobs (id, kind, queue, state, turn, args, created_at)
VALUES (?, 'noop', 'default', 'available', ?, ?, ?)
"""
SQLITE_CLAIM = """
UPDATE jobs SET state = 'running', attempt = attempt + 1, lease_epoch = lease_epoch + 1, worker = 'bare',
    started_at = ?1, lease_expires_at = ?1 + 60
WHERE id IN (
    SELECT id FROM jobs WHERE state = 'available' AND queue = 'default' AND kind = 'noop' ORDER BY turn, id LIMIT ?2
)
RETURNING id, lease_epoch, args
"""
SQLITE_COMPLETE = """
UPDATE jobs SET state = 'completed', lease_epoch = lease_epoch + 1, lease_expires_at = NULL,
    result = NULL, finished_at = ?
WHERE id = ? AND lease_epoch = ?
"""


async def connect(url: str) -> asyncpg.Connection:
    """A plain connection whose plans cannot degrade, as the engine's."""
    return await asyncpg.connect(url, server_settings={"enable_seqscan": "off", "jit": "off"})


async def enqueue_many(connection: asyncpg.Connection, numbers: Sequence[int]) -> None:
    """Store jobs in one statement."""
    await connection.execute(INSERT_MANY, [uuid.uuid4() for _ in numbers], [f'{{"n":{n}}}' for n in numbers])


async def drain(connection: asyncpg.Connection, *, batch: int, claimed: Callable[[], None]) -> None:
    """Claim and complete until nothing is left, telling of each claim."""
    while rows := await connection.fetch(CLAIM, batch):
        claimed()
        await connection.fetch(COMPLETE, [row["id"] for row in rows], [row["lease_epoch"] for row in rows])


def connect_sqlite(path: str) -> sqlite3.Connection:
    """A file with the same table, and the same durability."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    connection.executescript(SQLITE_TABLE)
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def enqueue_many_sqlite(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Store jobs in one transaction."""
    rows = [(str(uuid.uuid4()), number, f'{{"n":{number}}}', number) for number in numbers]
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(SQLITE_INSERT, rows)
    connection.execute("COMMIT")


def drain_sqlite(connection: sqlite3.Connection, *, batch: int, claimed: Callable[[], None]) -> None:
    """The same loop on an SQLite file."""
    while True:
        connection.execute("BEGIN IMMEDIATE")
        rows = connection.execute(SQLITE_CLAIM, (time.time(), batch)).fetchall()
        connection.execute("COMMIT")
        if not rows:
            return
        claimed()
        done = [(time.time(), job_id, epoch) for job_id, epoch, _ in rows]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(SQLITE_COMPLETE, done)
        connection.execute("COMMIT")
