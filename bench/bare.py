"""The least that a durable queue can do: claim a batch, complete the batch, again; no handlers, no failures."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

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
CHANNEL = "bare"
INSERT_AND_TELL = f"{INSERT_ONE} RETURNING pg_notify('{CHANNEL}', '')"
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
# Nobody fails here or comes late, so that all jobs of a claim have one epoch.
COMPLETE = """
UPDATE bare.jobs SET state = 'completed', lease_epoch = lease_epoch + 1, lease_expires_at = NULL,
    result = NULL, finished_at = clock_timestamp()
WHERE id = ANY ($1::uuid[]) AND lease_epoch = $2
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
    result = NULL, finished_at = ?1
WHERE id IN (SELECT value FROM json_each(?2)) AND lease_epoch = ?3
"""


class NotCompleted(Exception):
    """Not all jobs of a claim were still held when they were to be completed."""


def ordered_ids(count: int) -> list[str]:
    """Ids in order of time, as UUIDv7 has them: calls differ by the time, the ids of a call by their number.

    Random ones would cost more than the rest of the insert in Python, and spread over the whole index.
    """
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    digits, fraction = f"{milliseconds:012x}", nanoseconds * 4096 // 1_000_000
    first = f"{digits[:8]}-{digits[8:]}-7{fraction:03x}-8000-"
    return [f"{first}{number:012x}" for number in range(count)]


async def connect(url: str) -> asyncpg.Connection:
    """A plain connection whose plans cannot degrade, as the engine's."""
    return await asyncpg.connect(url, server_settings={"enable_seqscan": "off", "jit": "off"})


async def enqueue_many(connection: asyncpg.Connection, numbers: Sequence[int]) -> None:
    """Store jobs in one statement."""
    await connection.execute(INSERT_MANY, ordered_ids(len(numbers)), [f'{{"n":{n}}}' for n in numbers])


class Together:
    """The least that stores the jobs of many callers: two statements in turns, of all that have come meanwhile."""

    def __init__(self, connections: Sequence[asyncpg.Connection]) -> None:
        self._idle = list(connections)
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._sending: set[asyncio.Task[None]] = set()

    async def enqueue(self, number: int) -> None:
        """Store one job, with those of others."""
        stored = asyncio.get_running_loop().create_future()
        self._waiting.append((number, stored))
        if self._idle and (not self._sending or len(self._waiting) > 32):
            task = asyncio.create_task(self._send(self._idle.pop()))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
        await stored

    async def _send(self, connection: asyncpg.Connection) -> None:
        while self._waiting:
            taken = [self._waiting.popleft() for _ in range(max(1, len(self._waiting) // 2))]
            await enqueue_many(connection, [number for number, _ in taken])
            for _, stored in taken:
                stored.set_result(None)
            # Whoever was let go is asked for its next job before the next statement is made.
            await asyncio.sleep(0)
        self._idle.append(connection)


async def drain(
    connection: asyncpg.Connection, *, batch: int, claimed: Callable[[Sequence[Any]], None]
) -> None:
    """Claim and complete until nothing is left, telling of each claim."""
    while rows := await connection.fetch(CLAIM, batch):
        claimed(rows)
        told = await connection.execute(COMPLETE, [row["id"] for row in rows], rows[0]["lease_epoch"])
        if told != f"UPDATE {len(rows)}":
            raise NotCompleted(f"{told}, but {len(rows)} jobs were claimed")


def connect_sqlite(path: str) -> sqlite3.Connection:
    """A file with the same table, and the same durability."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    connection.executescript(SQLITE_TABLE)
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def enqueue_many_sqlite(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Store jobs in one transaction."""
    ids = ordered_ids(len(numbers))
    rows = [(job_id, n, f'{{"n":{n}}}', n) for job_id, n in zip(ids, numbers, strict=True)]
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
        ids, epoch = json.dumps([job_id for job_id, *_ in rows]), rows[0][1]
        connection.execute("BEGIN IMMEDIATE")
        told = connection.execute(SQLITE_COMPLETE, (time.time(), ids, epoch))
        connection.execute("COMMIT")
        if told.rowcount != len(rows):
            raise NotCompleted(f"{told.rowcount}, but {len(rows)} jobs were claimed")
