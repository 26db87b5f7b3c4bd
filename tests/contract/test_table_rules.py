"""What the tables themselves refuse, whoever writes to them, and what the views show."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from raw_sql import run_sql

from backstay.errors import StoreError
from backstay.model.job import JobId
from backstay.stores.database.interface import Database
from backstay.testing.contract.support import HOUR, MINUTE, SECOND, Store

# Each breaks one rule on a job in the state named first.
NONSENSE = {
    "a state that does not exist": ("available", "state = 'paused'"),
    "running without a lease": ("available", "state = 'running', lease_epoch = lease_epoch + 1"),
    "running with an even epoch": (
        "available",
        "state = 'running', lease_expires_at = created_at, heartbeat_at = created_at",
    ),
    "waiting with an odd epoch": ("available", "lease_epoch = lease_epoch + 1"),
    "an epoch before the first": ("available", "lease_epoch = -1"),
    "waiting with a lease": ("available", "lease_expires_at = created_at"),
    "a heartbeat outside a run": ("available", "heartbeat_at = created_at"),
    "running without its lease": ("running", "lease_expires_at = NULL"),
    "left without raising the epoch": (
        "running",
        "state = 'available', lease_expires_at = NULL, heartbeat_at = NULL",
    ),
    "completed without an end": ("available", "state = 'completed'"),
    "an end while waiting": ("available", "finished_at = created_at"),
    "dead without a reason": ("available", "state = 'dead', finished_at = created_at"),
    "held without a reason": ("available", "state = 'held'"),
    "cancelled without a reason": ("available", "state = 'cancelled', finished_at = created_at"),
    "a result before the end": ("available", "result = '1'"),
    "a priority beyond ten": ("available", "priority = 11"),
    "more attempts than allowed": ("running", "attempt = max_attempts + 1"),
    "fewer attempts than none": ("available", "attempt = -1"),
    "no arguments": ("available", "args = NULL"),
    "no tenant": ("available", "tenant = NULL"),
    "back from the end": ("completed", "state = 'available'"),
    "a result kept after a restart": ("completed", "state = 'available', finished_at = NULL"),
}


@pytest.mark.parametrize(("state", "change"), NONSENSE.values(), ids=NONSENSE.keys())
async def test_the_tables_refuse_nonsense(store: Store, database: Database, state: str, change: str) -> None:
    """ENG-025: the rules hold for direct SQL as well."""
    job_id = await store.enqueue()
    if state != "available":
        claim = await store.claim_one()
    if state == "completed":
        await store.complete(claim, "1")
    before = await store.job(job_id)

    with pytest.raises(StoreError, match=r"(?i)constraint"):
        await run_sql(database, f"UPDATE backstay.jobs SET {change} WHERE id = '{job_id}'")

    assert await store.job(job_id) == before


async def test_a_letter_cannot_be_closed_without_a_name_and_a_reason(
    store: Store, database: Database
) -> None:
    """ENG-065."""
    await store.dead()

    with pytest.raises(StoreError, match="resolution_has_author"):
        await run_sql(database, "UPDATE backstay.dead_letters SET status = 'resolved'")


async def test_an_attempt_cannot_end_before_it_began(store: Store, database: Database) -> None:
    """ENG-011."""
    await store.fail(await store.claimed())
    an_hour = "interval '1 hour'" if database.dialect.name == "postgres" else "3600000000"

    with pytest.raises(StoreError, match="finished_after_start"):
        await run_sql(database, f"UPDATE backstay.attempts SET finished_at = started_at - {an_hour}")


async def test_a_pause_is_of_a_queue_or_of_a_kind(database: Database) -> None:
    with pytest.raises(StoreError, match="queue_or_kind"):
        await database.lane("test").fetch(
            "queues/pause", queue="mail", kind="report", by="ann", reason="both", until=None, length=None
        )


async def test_two_active_jobs_of_one_unique_key_are_refused(store: Store, database: Database) -> None:
    """By an index, not by looking first."""
    first = await store.enqueue()
    second = await store.enqueue()
    await run_sql(database, f"UPDATE backstay.jobs SET unique_key = 'k' WHERE id = '{first}'")

    with pytest.raises(StoreError, match=r"(?i)unique"):
        await run_sql(database, f"UPDATE backstay.jobs SET unique_key = 'k' WHERE id = '{second}'")


async def test_a_job_that_ran_very_often_can_still_die(store: Store, database: Database) -> None:
    """A poller that snoozes every minute has more runs in a month than two bytes hold."""
    claim = await store.claimed()
    await run_sql(database, "UPDATE backstay.jobs SET run = 100000")

    await store.fail_for_good(claim)

    [letter] = await store.stores.dead_letters.of_job(claim.id)
    assert letter.attempts == 100_000


async def executions(database: Database) -> list[tuple[int, str, int | None, str | None]]:
    rows = await run_sql(
        database,
        "SELECT attempt_number, status, duration_ms, worker_id FROM backstay.job_executions ORDER BY attempt_number",
    )
    return [(row["attempt_number"], row["status"], row["duration_ms"], row["worker_id"]) for row in rows]


async def test_the_view_of_executions_shows_every_run_of_a_job(store: Store, database: Database) -> None:
    """ENG-020: one line a run, the current one included, numbered without gaps."""
    claim = await store.claimed(worker="a")
    while_running = await executions(database)
    store.later(2 * SECOND)
    await store.fail(claim)
    store.later(HOUR)
    await store.promote()
    again = await store.claim_one(worker="b")
    store.later(SECOND)
    await store.complete(again)

    assert while_running == [(1, "started", None, "a")]
    assert await executions(database) == [(1, "failed", 2000, "a"), (2, "completed", 1000, "b")]


async def test_the_view_of_executions_shows_a_death_once(store: Store, database: Database) -> None:
    """ENG-020."""
    await store.dead()

    assert await executions(database) == [(1, "failed", 0, "w")]


async def cancel(store: Store, job_id: JobId) -> None:
    await store.cancel(job_id)


async def hold(store: Store, job_id: JobId) -> None:
    await store.stores.jobs.hold(job_id, reason="paused", actor="ann")


async def reschedule(store: Store, job_id: JobId) -> None:
    await store.stores.jobs.reschedule(job_id, run_at=store.now() + HOUR, actor="ann")


async def expire(store: Store, job_id: JobId) -> None:
    await store.stores.upkeep.expire(limit=1)


async def miss_deadline(store: Store, job_id: JobId) -> None:
    await store.stores.upkeep.miss_deadlines(limit=1)


async def retry(store: Store, job_id: JobId) -> None:
    await store.retry(job_id)


async def resolve(store: Store, job_id: JobId) -> None:
    await store.resolve(job_id)


Act = Callable[[Store, JobId], Awaitable[None]]


@pytest.mark.parametrize("act", [cancel, hold, reschedule, expire, miss_deadline])
async def test_what_cannot_be_audited_does_not_happen_to_a_waiting_job(
    store: Store, database: Database, act: Act
) -> None:
    """ENG-027: the line is written in the transaction of what it describes."""
    job_id = await store.enqueue(expires_in=MINUTE, deadline_in=MINUTE)
    store.later(MINUTE)
    before = await store.job(job_id)

    async with no_audit_table(database):
        with pytest.raises(StoreError):
            await act(store, job_id)

    assert await store.job(job_id) == before
    assert await store.stores.dead_letters.of_job(job_id) == []


@pytest.mark.parametrize("act", [retry, resolve])
async def test_what_cannot_be_audited_does_not_happen_to_a_dead_job(
    store: Store, database: Database, act: Act
) -> None:
    """ENG-027, ENG-068."""
    job_id = await store.dead()
    before = await store.job(job_id), await store.stores.dead_letters.of_job(job_id)

    async with no_audit_table(database):
        with pytest.raises(StoreError):
            await act(store, job_id)

    assert (await store.job(job_id), await store.stores.dead_letters.of_job(job_id)) == before


async def test_a_failure_that_cannot_be_audited_is_not_recorded(store: Store, database: Database) -> None:
    """ENG-027, ENG-067: state, attempt, dead letter and audit line stand or fall together."""
    claim = await store.claimed()
    before = await store.job(claim.id)

    async with no_audit_table(database):
        with pytest.raises(StoreError):
            await store.fail_for_good(claim)

    assert await store.job(claim.id) == before
    assert await store.stores.jobs.attempts(claim.id) == []
    assert await store.stores.dead_letters.of_job(claim.id) == []


@asynccontextmanager
async def no_audit_table(database: Database) -> AsyncIterator[None]:
    """Take the audit table away for a while."""
    schema, table = ("backstay.", "audit") if database.dialect.name == "postgres" else ("", "backstay_audit")
    await run_sql(database, f"ALTER TABLE {schema}{table} RENAME TO away")
    try:
        yield
    finally:
        await run_sql(database, f"ALTER TABLE {schema}away RENAME TO {table}")
