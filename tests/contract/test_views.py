"""The views that applications may rely on: their columns, on both databases, and what they show."""

from __future__ import annotations

import json
from typing import Any

from raw_sql import run_sql

from backstay.stores.database.interface import Database
from backstay.testing.contract.support import BOOM, HOUR, MINUTE, Store

JOB_VIEW = [
    "id",
    "kind",
    "queue",
    "tenant",
    "state",
    "reason",
    "priority",
    "name",
    "description",
    "tags",
    "metadata",
    "created_by",
    "parent_id",
    "correlation_id",
    "idempotency_key",
    "attempt",
    "max_attempts",
    "run",
    "created_at",
    "first_due_at",
    "run_at",
    "queued_at",
    "started_at",
    "finished_at",
    "updated_at",
    "duration_ms",
    "heartbeat_at",
    "lease_expires_at",
    "expires_at",
    "deadline",
    "cancel_requested_at",
    "worker",
    "host",
    "error_type",
    "error_message",
    "error_class",
    "progress_current",
    "progress_total",
    "progress_message",
    "progress_at",
    "depends_on",
    "blocks_jobs",
]
EXECUTIONS = [
    "job_id",
    "attempt_number",
    "attempt",
    "status",
    "started_at",
    "completed_at",
    "duration_ms",
    "worker_id",
    "error",
    "cpu_ms",
    "peak_rss_mb",
    "id",
    "error_type",
    "error_message",
    "error_class",
    "host",
    "kind",
    "queue",
    "tenant",
    "metadata",
    "error_code",
    "error_stack",
]


def ids(found: Any) -> list[str]:
    """The ids of a list, as each database has them."""
    return [str(one) for one in (json.loads(found) if isinstance(found, str) else found)]


async def test_the_columns_of_the_views_stay_as_they_are(store: Store, database: Database) -> None:
    await store.fail(await store.claimed())

    [job] = await run_sql(database, "SELECT * FROM backstay.job_view")
    [run] = await run_sql(database, "SELECT * FROM backstay.job_executions")

    assert list(job) == JOB_VIEW
    assert list(run) == EXECUTIONS


async def test_a_job_shows_its_first_due_time_its_host_and_its_error(
    store: Store, database: Database
) -> None:
    """ENG-010, ENG-015, ENG-020: what a retry overwrites is kept, and who ran it where is told."""
    job_id = await store.enqueue(delay=HOUR)
    [before] = await run_sql(database, "SELECT first_due_at, queued_at FROM backstay.job_view")
    store.later(HOUR)
    await store.promote()
    await store.fail(await store.claim_one())

    [after] = await run_sql(database, "SELECT * FROM backstay.job_view")
    [run] = await run_sql(database, "SELECT * FROM backstay.job_executions")

    assert after["first_due_at"] == before["first_due_at"] == before["queued_at"]
    assert after["queued_at"] == after["run_at"] > after["first_due_at"]
    assert (after["host"], after["worker"], after["error_type"]) == ("host", "w", "ValueError")
    assert (run["host"], run["error_type"], run["kind"]) == ("host", "ValueError", "report")
    assert run["error_message"] == after["error_message"]
    assert run["error_stack"] == BOOM.traceback
    assert str(run["id"]).startswith(str(job_id))


async def test_a_job_shows_what_it_waits_for_and_what_waits_for_it(store: Store, database: Database) -> None:
    """ENG-017, ENG-083."""
    parent, child = await store.enqueue(), await store.enqueue(delay=MINUTE)
    tie = "INSERT INTO backstay.dependencies (job_id, parent_id, type) VALUES ('{}', '{}', 'success') RETURNING 1"
    await run_sql(database, tie.format(child, parent))

    rows = await run_sql(database, "SELECT id, depends_on, blocks_jobs FROM backstay.job_view")

    shown = {str(row["id"]): (ids(row["depends_on"]), ids(row["blocks_jobs"])) for row in rows}
    assert shown == {str(parent): ([], [str(child)]), str(child): ([str(parent)], [])}
