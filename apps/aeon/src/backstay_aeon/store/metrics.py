"""The figures of the queue, all from PostgreSQL."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from backstay_aeon.store.database import Database

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
SELECT id, original_job_id, job_type, failure_reason, total_attempts, created_at
FROM public.dead_letter_jobs WHERE status = 'pending' AND ($1::uuid IS NULL OR team_id = $1)
ORDER BY created_at DESC LIMIT 100
"""
SLO = """
SELECT (SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY took_ms) FROM aeon.submissions
        WHERE at >= now() - $1::interval) AS submission_p95_ms,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM first.started_at
           - greatest(jobs.created_at, coalesce(jobs.first_due_at, jobs.created_at))) * 1000) AS start_p95_ms,
       100.0 * count(*) FILTER (WHERE jobs.state = 'completed')
           / nullif(count(*) FILTER (WHERE jobs.state IN ('completed', 'dead', 'resolved')), 0) AS completion_percent,
       100.0 * count(*) FILTER (WHERE jobs.state IN ('dead', 'resolved'))
           / nullif(count(*) FILTER (WHERE jobs.state IN ('completed', 'dead', 'resolved')), 0) AS dead_percent,
       (SELECT max(n) FROM (SELECT count(*) AS n FROM backstay.jobs WHERE state = 'completed'
            AND finished_at >= now() - $1::interval GROUP BY date_trunc('minute', finished_at)) AS m) AS per_minute,
       (SELECT 100.0 * sum(extract(epoch FROM last_seen_at - started_at))
            / nullif(sum(extract(epoch FROM CASE WHEN ended = 'died' THEN last_seen_at + interval '30 seconds'
                                                 ELSE last_seen_at END - started_at)), 0)
        FROM aeon.worker_spans WHERE last_seen_at >= now() - $1::interval) AS uptime_percent
FROM backstay.jobs AS jobs
LEFT JOIN LATERAL (SELECT min(started_at) AS started_at FROM backstay.job_executions WHERE job_id = jobs.id) AS first
  ON TRUE
WHERE jobs.args -> 'payload' IS NOT NULL AND jobs.created_at >= now() - $1::interval
"""


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


async def slo_figures(database: Database, window: str = "24 hours") -> dict[str, float | None]:
    """The figures of the six promises."""
    from datetime import timedelta

    hours = {"24 hours": 24, "30 days": 720}.get(window, 24)
    row = await database.row(SLO, timedelta(hours=hours)) or {}
    return {name: None if value is None else float(value) for name, value in row.items()}
