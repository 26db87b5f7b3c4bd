"""Jobs that ended thirty days ago go into the storage, a file for each day, before the engine removes them."""

from __future__ import annotations

import gzip
import hashlib
import json
from datetime import date
from typing import Any

from backstay_aeon.domain.errors import Conflict
from backstay_aeon.services import Services

AFTER_DAYS = 30
DAYS = """
SELECT DISTINCT (finished_at AT TIME ZONE 'UTC')::date AS day FROM backstay.jobs
WHERE finished_at < date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - make_interval(days => $1)
  AND args -> 'payload' IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM aeon.archives WHERE day = (finished_at AT TIME ZONE 'UTC')::date)
ORDER BY day
"""
JOBS_OF = """
SELECT to_jsonb(jobs) || jsonb_build_object('executions', (
    SELECT coalesce(jsonb_agg(to_jsonb(run) ORDER BY run.attempt_number), '[]')
    FROM public.job_executions AS run WHERE run.job_id = jobs.id)) AS job
FROM public.jobs
WHERE (coalesce(completed_at, failed_at) AT TIME ZONE 'UTC')::date = $1
ORDER BY id
"""

TIDY = (
    "DELETE FROM aeon.announced AS told WHERE NOT EXISTS (SELECT 1 FROM backstay.jobs WHERE id = told.job_id)",
    "DELETE FROM aeon.submissions WHERE at < now() - interval '30 days'",
    "DELETE FROM aeon.worker_spans WHERE last_seen_at < now() - interval '31 days'",
)


async def archive(services: Services) -> list[str]:
    """Archive every day that is old enough and not archived yet; returns the days."""
    rows = await services.database.rows(DAYS, AFTER_DAYS)
    for row in rows:
        await archive_day(services, row["day"])
    return [str(row["day"]) for row in rows]


async def archive_day(services: Services, day: date) -> str:
    """Write the jobs of a day, read them back, and only then note them; returns the hash of the file."""
    jobs = [row["job"] for row in await services.database.rows(JOBS_OF, day)]
    lines = "".join(json.dumps(job, sort_keys=True, default=str) + "\n" for job in jobs)
    # Without a time inside, so that the same jobs are the same bytes.
    content = gzip.compress(lines.encode(), mtime=0)
    key = f"archive/jobs/{day}.jsonl.gz"
    digest = await services.files.put(key, content, "application/gzip")
    if hashlib.sha256(await services.files.get(key)).hexdigest() != digest:
        raise Conflict(
            f"the archive of {day} is not what was written: nothing is noted, and it is tried again"
        )
    await services.database.execute(
        "INSERT INTO aeon.archives (day, storage_key, jobs, sha256) VALUES ($1, $2, $3, $4)"
        " ON CONFLICT (day) DO UPDATE SET jobs = excluded.jobs, sha256 = excluded.sha256",
        day,
        key,
        len(jobs),
        digest,
    )
    return digest


async def read_back(services: Services, day: date) -> list[dict[str, Any]]:
    """The archived jobs of a day; raises Conflict if the file is not the one that was written."""
    row = await services.database.row("SELECT storage_key, sha256 FROM aeon.archives WHERE day = $1", day)
    if row is None:
        raise Conflict(f"no jobs of {day} are archived")
    content = await services.files.get(row["storage_key"])
    if hashlib.sha256(content).hexdigest() != row["sha256"]:
        raise Conflict(f"the archive of {day} was altered: its hash is not the one that was noted")
    return [json.loads(line) for line in gzip.decompress(content).decode().splitlines()]


async def tidy(services: Services) -> None:
    """Remove what was noted about jobs, submissions and workers that are long gone."""
    for statement in TIDY:
        await services.database.execute(statement)
