"""The figures of the queue, all from PostgreSQL."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from backstay_aeon.domain import uptime
from backstay_aeon.domain.uptime import Span
from backstay_aeon.store.database import Database

DAY = timedelta(days=1)
LONGEST = timedelta(days=31)
"""Workers that were last seen before are forgotten."""
DEPTHS = """
SELECT count(*) FILTER (WHERE state IN ('available', 'held') OR state = 'scheduled' AND attempt = 0) AS pending,
       count(*) FILTER (WHERE state = 'running') AS active,
       count(*) FILTER (WHERE state = 'scheduled' AND attempt > 0) AS failed,
       count(*) FILTER (WHERE state = 'completed' AND finished_at >= now() - interval '24 hours') AS completed,
       count(*) FILTER (WHERE state = 'dead') AS dlq
FROM backstay.jobs WHERE args -> 'payload' IS NOT NULL
"""
PERFORMANCE = """
SELECT count(*) AS total_jobs,
       round(avg(duration) FILTER (WHERE state = 'completed'))::bigint AS avg_duration_ms,
       round(percentile_cont(0.95) WITHIN GROUP (ORDER BY duration) FILTER (WHERE state = 'completed'))::bigint
           AS p95_duration_ms,
       round(percentile_cont(0.99) WITHIN GROUP (ORDER BY duration) FILTER (WHERE state = 'completed'))::bigint
           AS p99_duration_ms,
       count(*) FILTER (WHERE state = 'completed') AS successful,
       count(*) FILTER (WHERE state IN ('dead', 'resolved')) AS failed,
       count(*) FILTER (WHERE state = 'completed' AND finished_at >= now() - interval '1 minute') AS last_minute
FROM (SELECT state, finished_at, extract(epoch FROM finished_at - started_at) * 1000 AS duration FROM backstay.jobs
      WHERE args -> 'payload' IS NOT NULL AND created_at >= now() - interval '24 hours') AS jobs
"""
WORKERS = """
SELECT id AS "workerId", type, running AS "activeJobs", cpu_percent, rss_mb, host,
       (state <> 'dead' AND heartbeat_at > now() - interval '30 seconds') AS alive, state, heartbeat_at
FROM backstay.workers
WHERE state <> 'stopped' AND (state <> 'dead' OR heartbeat_at > now() - interval '15 minutes')
ORDER BY id
"""
LETTERS = """
SELECT id, original_job_id, job_type, team_id, failure_reason, total_attempts, created_at
FROM public.dead_letter_jobs WHERE status = 'pending' AND ($1::uuid IS NULL OR team_id = $1)
ORDER BY created_at DESC LIMIT 100
"""
SUBMISSION = """
SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY took_ms) FROM aeon.submissions WHERE at >= now() - $1::interval
"""
ENDS = """
SELECT 100.0 * count(*) FILTER (WHERE state = 'completed') / nullif(count(*), 0) AS completion_percent,
       100.0 * count(*) FILTER (WHERE state IN ('dead', 'resolved')) / nullif(count(*), 0) AS dead_percent
FROM backstay.jobs
WHERE args -> 'payload' IS NOT NULL AND created_at >= now() - $1::interval
  AND state IN ('completed', 'dead', 'resolved')
"""
# From the moment that a job may start (its submission, or its own later time) to the start of its first attempt.
START = """
SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM first_run.started_at
           - greatest(jobs.created_at, jobs.first_due_at)) * 1000)
FROM backstay.jobs AS jobs
CROSS JOIN LATERAL (
    SELECT min(started_at) AS started_at FROM backstay.job_executions WHERE job_id = jobs.id
) AS first_run
WHERE jobs.args -> 'payload' IS NOT NULL AND jobs.created_at >= now() - $1::interval
  AND first_run.started_at IS NOT NULL
"""
# A minute counts if some job waited all through it: in a quiet one few jobs complete because few were sent.
THROUGHPUT = """
WITH waits AS (
    SELECT greatest(jobs.created_at, jobs.first_due_at) AS since, coalesce(first_run.started_at, now()) AS until
    FROM backstay.jobs AS jobs
    CROSS JOIN LATERAL (
        SELECT min(started_at) AS started_at FROM backstay.job_executions WHERE job_id = jobs.id
    ) AS first_run
    WHERE jobs.args -> 'payload' IS NOT NULL AND jobs.created_at >= now() - $1::interval
      AND jobs.state IN ('available', 'running', 'completed', 'dead', 'resolved')
), busy AS (
    SELECT DISTINCT minute
    FROM waits, generate_series(date_trunc('minute', since) + interval '1 minute',
                                date_trunc('minute', until) - interval '1 minute', interval '1 minute') AS minute
    WHERE until - since >= interval '1 minute'
)
SELECT count(jobs.id)::float / nullif(count(DISTINCT busy.minute), 0)
FROM busy LEFT JOIN backstay.jobs AS jobs ON jobs.state = 'completed' AND jobs.args -> 'payload' IS NOT NULL
    AND jobs.finished_at >= busy.minute AND jobs.finished_at < busy.minute + interval '1 minute'
"""
SPANS = "SELECT type, started_at, last_seen_at, ended FROM aeon.worker_spans WHERE last_seen_at >= $1"


async def collect(database: Database, team_id: UUID | None = None) -> dict[str, Any]:
    """What the document's collector gives, under its names; dead letters only of this team, if one is given."""
    depths = await database.row(DEPTHS) or {}
    performance = await database.row(PERFORMANCE) or {}
    workers = await database.rows(WORKERS)
    dlq = await database.rows(LETTERS, team_id)
    return {
        "timestamp": await database.value("SELECT clock_timestamp()"),
        "queueDepths": depths,
        "workerStatus": workers,
        "performance": performance,
        "dlq": dlq,
    }


async def slo_figures(database: Database, window: timedelta = DAY) -> dict[str, float | None]:
    """The figures of the six promises."""
    now = await database.value("SELECT now()")
    spans = [Span(**row) for row in await database.rows(SPANS, now - LONGEST)]
    figures = {
        "submission_p95_ms": await database.value(SUBMISSION, window),
        "start_p95_ms": await database.value(START, window),
        **(await database.row(ENDS, window) or {}),
        "per_minute": await database.value(THROUGHPUT, window),
        "uptime_percent": uptime.percent(spans, now - window, now),
    }
    return {name: None if value is None else float(value) for name, value in figures.items()}
