"""What pages and API read; always on a connection that acts for somebody."""

from collections.abc import Sequence
from datetime import date
from typing import Any
from uuid import UUID

from backstay_oblicore.store.database import Connection


def plain(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Turn rows into plain dictionaries."""
    return [dict(row) for row in rows]


async def register(
    connection: Connection,
    *,
    status: str | None = None,
    site: UUID | None = None,
    document: UUID | None = None,
    category: str | None = None,
    words: str | None = None,
) -> list[dict[str, Any]]:
    """Return the obligations that the reader may see, soonest first."""
    return plain(
        await connection.fetch(
            REGISTER,
            status,
            site,
            document,
            category,
            words,
        )
    )


REGISTER = """
    SELECT duty.id, duty.condition_reference, duty.summary, duty.original_text, duty.category,
           duty.condition_type, duty.frequency, duty.status, duty.review_status, duty.deadline_date,
           duty.confidence_score::float8 AS confidence_score, duty.source, duty.page_number, duty.due_words,
           duty.subjective_phrases, site.name AS site_name, paper.title AS document_title,
           paper.permit_number, duty.document_id, duty.site_id,
           (SELECT count(*) FROM oblicore.obligation_evidence_links AS link
            WHERE link.obligation_id = duty.id AND link.unlinked_at IS NULL) AS evidence_count
    FROM oblicore.obligations AS duty
    JOIN oblicore.sites AS site ON site.id = duty.site_id
    JOIN oblicore.documents AS paper ON paper.id = duty.document_id
    WHERE duty.deleted_at IS NULL
      AND duty.review_status <> 'REJECTED'
      AND (duty.superseded_at IS NULL OR $3::uuid IS NOT NULL)
      AND ($1::text IS NULL OR duty.status = $1)
      AND ($2::uuid IS NULL OR duty.site_id = $2)
      AND ($3::uuid IS NULL OR duty.document_id = $3)
      AND ($4::text IS NULL OR duty.category = $4)
      AND ($5::text IS NULL OR strpos(
          lower(concat_ws(' ', duty.condition_reference, duty.summary, duty.original_text)), lower($5)
      ) > 0)
    ORDER BY duty.deadline_date NULLS LAST, duty.page_number, duty.condition_reference, duty.id
    LIMIT 5000
"""


async def sites(connection: Connection) -> list[tuple[str, str]]:
    """Return the sites that the reader may see, as pairs of id and name."""
    rows = await connection.fetch(
        "SELECT id, name FROM oblicore.sites WHERE deleted_at IS NULL ORDER BY name, id"
    )
    return [(str(row["id"]), row["name"]) for row in rows]


async def obligation(connection: Connection, obligation_id: UUID) -> dict[str, Any] | None:
    """Return one obligation with its deadlines, evidence and the reasons for its date."""
    row = await connection.fetchrow(
        """
        SELECT duty.*, site.name AS site_name, paper.title AS document_title
        FROM oblicore.obligations AS duty
        JOIN oblicore.sites AS site ON site.id = duty.site_id
        JOIN oblicore.documents AS paper ON paper.id = duty.document_id
        WHERE duty.id = $1 AND duty.deleted_at IS NULL
        """,
        obligation_id,
    )
    if row is None:
        return None
    found = dict(row)
    for key in ("confidence_score",):
        found[key] = float(found[key]) if found[key] is not None else None
    found["deadlines"] = plain(
        await connection.fetch(
            "SELECT id, due_date, status FROM oblicore.deadlines WHERE obligation_id = $1 ORDER BY due_date LIMIT 60",
            obligation_id,
        )
    )
    found["evidence"] = plain(
        await connection.fetch(
            "SELECT item.id, item.file_name, item.upload_date, item.file_size_bytes"
            " FROM oblicore.evidence_items AS item"
            " JOIN oblicore.obligation_evidence_links AS link ON link.evidence_id = item.id"
            " WHERE link.obligation_id = $1 AND link.unlinked_at IS NULL AND item.deleted_at IS NULL",
            obligation_id,
        )
    )
    for item in found["evidence"]:
        item["href"] = f"/evidence/{item['id']}/download"
    return found


async def document(connection: Connection, document_id: UUID) -> dict[str, Any] | None:
    """Return one document, without its text."""
    row = await connection.fetchrow(
        """
        SELECT paper.id, paper.title, paper.document_type, paper.permit_number, paper.status, paper.issue_date,
               paper.expiry_date, paper.extraction_status, paper.error_message, paper.page_count, paper.is_native_pdf,
               paper.ocr_confidence::float8 AS ocr_confidence, paper.company_id, paper.site_id, paper.storage_path,
               paper.parent_document_id, paper.anchors, site.name AS site_name
        FROM oblicore.documents AS paper
        JOIN oblicore.sites AS site ON site.id = paper.site_id
        WHERE paper.id = $1 AND paper.deleted_at IS NULL
        """,
        document_id,
    )
    return dict(row) if row else None


async def documents(connection: Connection) -> list[dict[str, Any]]:
    """Return the documents that the reader may see."""
    return plain(
        await connection.fetch(
            """
            SELECT paper.id, paper.title, paper.permit_number, paper.document_type, paper.extraction_status,
                   paper.expiry_date, paper.created_at, site.name AS site_name,
                   (SELECT count(*) FROM oblicore.obligations AS duty
                    WHERE duty.document_id = paper.id AND duty.deleted_at IS NULL
                      AND duty.review_status <> 'REJECTED') AS obligations
            FROM oblicore.documents AS paper
            JOIN oblicore.sites AS site ON site.id = paper.site_id
            WHERE paper.deleted_at IS NULL
            ORDER BY paper.created_at DESC, paper.id
            LIMIT 500
            """
        )
    )


async def changeable_documents(connection: Connection) -> list[tuple[str, str]]:
    """Return the documents that the reader may add to, as pairs of id and name."""
    rows = await connection.fetch(
        """
        SELECT paper.id, paper.title, paper.permit_number, site.name AS site_name
        FROM oblicore.documents AS paper
        JOIN oblicore.sites AS site ON site.id = paper.site_id
        WHERE paper.deleted_at IS NULL AND paper.status <> 'SUPERSEDED'
          AND oblicore.may_change(paper.company_id, paper.site_id)
        ORDER BY paper.title, site.name, paper.id
        """
    )
    return [
        (str(row["id"]), ", ".join(filter(None, (row["title"], row["permit_number"], row["site_name"]))))
        for row in rows
    ]


async def coverage(connection: Connection, document_id: UUID) -> dict[str, Any]:
    """Return how every binding sentence of a document is accounted for."""
    rows = plain(
        await connection.fetch(
            "SELECT position, page_number, reference, text, filed, filed_by, reason, decided_by"
            " FROM oblicore.document_sentences WHERE document_id = $1 ORDER BY position",
            document_id,
        )
    )
    counts = {
        filed: sum(row["filed"] == filed for row in rows)
        for filed in ("obligation", "definition", "open", "rejected")
    }
    accounted = len(rows) - counts["open"]
    return {
        "sentences": rows,
        "total": len(rows),
        "accounted": accounted,
        **counts,
        "is_complete": not counts["open"],
    }


async def import_row(connection: Connection, import_id: UUID) -> dict[str, Any] | None:
    """Return one import with its rows."""
    row = await connection.fetchrow("SELECT * FROM oblicore.excel_imports WHERE id = $1", import_id)
    return dict(row) if row else None


async def inbox(connection: Connection, user: UUID) -> list[dict[str, Any]]:
    """Return what somebody was told, newest first."""
    return plain(
        await connection.fetch(
            "SELECT id, title, message, severity, action_url, created_at, read_at FROM oblicore.notifications"
            " WHERE user_id = $1 AND channel = 'IN_APP' ORDER BY created_at DESC, id LIMIT 200",
            user,
        )
    )


async def home(connection: Connection, user: UUID, today: date) -> dict[str, Any]:
    """Return what is due, late and to be reviewed."""
    row = await connection.fetchrow(
        """
        SELECT count(*) FILTER (WHERE status = 'OVERDUE') AS overdue,
               count(*) FILTER (WHERE status = 'DUE_SOON') AS due_soon,
               count(*) FILTER (WHERE assigned_to = $1 AND status IN ('OVERDUE', 'DUE_SOON')) AS mine,
               count(*) AS total
        FROM oblicore.obligations
        WHERE deleted_at IS NULL AND review_status <> 'REJECTED' AND superseded_at IS NULL
        """,
        user,
    )
    reviews = await connection.fetchval(
        "SELECT count(*) FROM oblicore.review_queue_items WHERE review_status = 'PENDING'"
    )
    soon = await connection.fetch(
        """
        SELECT duty.id, duty.summary, duty.deadline_date, duty.status, site.name AS site_name
        FROM oblicore.obligations AS duty
        JOIN oblicore.sites AS site ON site.id = duty.site_id
        WHERE duty.deleted_at IS NULL AND duty.review_status <> 'REJECTED'
          AND duty.status IN ('OVERDUE', 'DUE_SOON', 'PENDING', 'IN_PROGRESS')
          AND duty.deadline_date <= $1::date + 30
        ORDER BY duty.deadline_date, duty.id
        LIMIT 25
        """,
        today,
    )
    sites = await connection.fetch(SITES)
    return {**dict(row), "reviews": reviews, "soon": plain(soon), "sites": plain(sites)}


SITES = """
    SELECT site.id, site.name, count(duty.id) AS duties,
           count(*) FILTER (WHERE duty.status = 'OVERDUE') AS overdue,
           count(*) FILTER (WHERE duty.status = 'DUE_SOON') AS due_soon
    FROM oblicore.sites AS site
    LEFT JOIN oblicore.obligations AS duty
        ON duty.site_id = site.id AND duty.deleted_at IS NULL AND duty.review_status <> 'REJECTED'
       AND duty.superseded_at IS NULL
    WHERE site.deleted_at IS NULL
    GROUP BY site.id, site.name
    ORDER BY overdue DESC, due_soon DESC, site.name
"""


async def table(connection: Connection, name: str) -> list[dict[str, Any]]:
    """Return the rows of one of the simple lists."""
    return plain(await connection.fetch(TABLES[name]))


TABLES = {
    "evidence": """
        SELECT item.id, item.file_name, item.mime_type, item.file_size_bytes, item.upload_date, site.name AS site_name,
               (SELECT count(*) FROM oblicore.obligation_evidence_links AS link
                WHERE link.evidence_id = item.id AND link.unlinked_at IS NULL) AS links
        FROM oblicore.evidence_items AS item
        JOIN oblicore.sites AS site ON site.id = item.site_id
        WHERE item.deleted_at IS NULL
        ORDER BY item.upload_date DESC, item.id LIMIT 500
    """,
    "sampling": """
        SELECT one.id, one.parameter_type, one.sampling_frequency, one.limit_value::text AS limit_value, one.unit,
               site.name AS site_name, newest.sample_date, newest.recorded_value::text AS recorded_value,
               newest.standing
        FROM oblicore.parameters AS one
        JOIN oblicore.sites AS site ON site.id = one.site_id
        LEFT JOIN LATERAL (
            SELECT sample_date, recorded_value, standing FROM oblicore.lab_results
            WHERE parameter_id = one.id ORDER BY sample_date DESC, id LIMIT 1
        ) AS newest ON TRUE
        WHERE one.is_active
        ORDER BY site.name, one.parameter_type LIMIT 500
    """,
    "generators": """
        SELECT one.id, one.generator_identifier, one.annual_run_hour_limit::text AS annual_run_hour_limit,
               one.current_year_hours::text AS current_year_hours, one.current_month_hours::text AS current_month_hours,
               one.anniversary_date, site.name AS site_name
        FROM oblicore.generators AS one
        JOIN oblicore.sites AS site ON site.id = one.site_id
        WHERE one.deleted_at IS NULL
        ORDER BY one.generator_identifier LIMIT 500
    """,
    "aer": """
        SELECT one.id, one.reporting_period_start, one.reporting_period_end, one.status,
               one.total_run_hours::text AS total_run_hours, one.is_validated, one.submission_deadline, paper.title
        FROM oblicore.aer_documents AS one
        JOIN oblicore.documents AS paper ON paper.id = one.document_id
        ORDER BY one.reporting_period_end DESC, one.id LIMIT 200
    """,
    "packs": """
        SELECT id, pack_type, date_range_start, date_range_end, total_obligations, overdue_count,
               integrity_errors_count, created_at
        FROM oblicore.audit_packs ORDER BY created_at DESC, id LIMIT 200
    """,
    "imports": """
        SELECT one.id, one.file_name, one.status, one.row_count, one.valid_count, one.error_count, one.success_count,
               one.created_at
        FROM oblicore.excel_imports AS one ORDER BY one.created_at DESC, one.id LIMIT 200
    """,
    "consultant": """
        SELECT company.name, cache.data ->> 'score' AS score, cache.data ->> 'overdue' AS overdue,
               cache.data ->> 'total' AS total, cache.updated_at, cache.client_company_id AS id
        FROM oblicore.consultant_dashboard_cache AS cache
        JOIN oblicore.companies AS company ON company.id = cache.client_company_id
        ORDER BY (cache.data ->> 'score')::numeric, company.name
    """,
}
LEDGER = """
    SELECT note.id, note.created_at, person.email, note.channel, note.severity, note.title, note.status, note.reply,
           note.sent_at
    FROM oblicore.notifications AS note
    JOIN oblicore.users AS person ON person.id = note.user_id
    WHERE note.channel <> 'IN_APP' AND note.company_id = ANY($1)
      AND ($2::date IS NULL OR note.created_at::date = $2)
    ORDER BY note.created_at DESC, note.id LIMIT 500
"""
LEDGER_COUNTS = """
    SELECT note.status, count(*) AS messages
    FROM oblicore.notifications AS note
    WHERE note.channel <> 'IN_APP' AND note.company_id = ANY($1)
      AND ($2::date IS NULL OR note.created_at::date = $2)
    GROUP BY note.status
"""
JOBS = """
    SELECT job.id, job.job_type, job.status, company.name AS company_name, job.created_at, job.completed_at,
           job.retry_count, job.error_message
    FROM oblicore.background_jobs AS job
    LEFT JOIN oblicore.companies AS company ON company.id = job.company_id
    ORDER BY job.created_at DESC, job.id LIMIT 50
"""
OPERATIONS = """
    SELECT letter.job_id AS id, letter.job_type, company.name AS company_name, letter.error_message,
           letter.retry_count, letter.created_at, letter.error_context
    FROM oblicore.dead_letter_queue AS letter
    LEFT JOIN oblicore.companies AS company ON company.id = letter.company_id
    WHERE letter.resolved_at IS NULL
    ORDER BY letter.created_at DESC, letter.job_id LIMIT 200
"""


async def job_health(connection: Connection) -> dict[str, Any]:
    """Count what the health of the job system is graded by; failures are those that ended within the last hour."""
    row = await connection.fetchrow(
        """
        SELECT (SELECT count(*) FROM oblicore.background_jobs WHERE health_status = 'STALE' AND status = 'RUNNING')
                   AS stale_jobs,
               (SELECT count(*) FROM oblicore.dead_letter_queue WHERE resolved_at IS NULL) AS unresolved_dlq,
               (SELECT count(*) FROM oblicore.background_jobs
                WHERE status = 'FAILED' AND completed_at >= now() - INTERVAL '1 hour') AS recent_failures,
               to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS timestamp
        """
    )
    return dict(row)
