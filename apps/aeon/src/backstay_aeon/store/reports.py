"""Figures of a team by plain SQL, and the reports made of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from backstay_aeon.store.database import Database

FIGURES = {
    "job_summary": """
        SELECT job_type, status, count(*) AS jobs,
               coalesce(round(avg(extract(epoch FROM completed_at - started_at) * 1000)), 0)::bigint AS avg_ms
        FROM public.jobs WHERE team_id = $1 AND created_at >= $2 AND created_at < $3
        GROUP BY 1, 2 ORDER BY 1, 2""",
    "import_quality": """
        SELECT i.dataset, i.status, f.name AS file, sum(b.inserted)::bigint AS inserted,
               sum(b.updated)::bigint AS updated, sum(b.unchanged)::bigint AS unchanged,
               (SELECT count(*) FROM aeon.import_rejects r WHERE r.import_id = i.id AND r.corrected_in IS NULL)
                   AS refused
        FROM aeon.imports i JOIN aeon.import_batches b ON b.import_id = i.id LEFT JOIN aeon.files f ON f.id = i.file_id
        WHERE i.team_id = $1 AND i.created_at >= $2 AND i.created_at < $3
        GROUP BY i.id, i.dataset, i.status, f.name ORDER BY i.created_at""",
    "team_activity": """
        SELECT date_trunc('day', j.created_at)::date::text AS day, coalesce(u.email, '') AS person, count(*) AS jobs
        FROM public.jobs j LEFT JOIN public.users u ON u.id = j.created_by
        WHERE j.team_id = $1 AND j.created_at >= $2 AND j.created_at < $3
        GROUP BY 1, 2 ORDER BY 1, 2""",
}


async def figures(
    database: Database, report: str, team_id: UUID, first: datetime, last: datetime
) -> list[dict[str, Any]]:
    """The rows of a report."""
    return await database.rows(FIGURES[report], team_id, first, last)


async def save(
    database: Database,
    job_id: UUID,
    team_id: UUID,
    report: str,
    form: str,
    period: tuple[datetime, datetime],
    key: str,
    content: bytes,
    digest: str,
    rows: list[dict[str, Any]],
) -> None:
    """Note a report; a repetition of its job replaces it."""
    await database.execute(
        "INSERT INTO aeon.reports (id, team_id, kind, format, period_from, period_to, storage_key, size, sha256,"
        " figures, job_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $1)"
        " ON CONFLICT (id) DO UPDATE SET size = excluded.size, sha256 = excluded.sha256, figures = excluded.figures",
        job_id,
        team_id,
        report,
        form,
        *period,
        key,
        len(content),
        digest,
        rows,
    )
