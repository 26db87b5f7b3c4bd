"""Packs: what goes into one, where it is, whom it was sent to."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, datetime
from typing import Any
from uuid import UUID

from backstay_oblicore.domain import packs
from backstay_oblicore.domain.packs import PackRequest
from backstay_oblicore.store.database import Connection, to_json


async def subject(connection: Connection, request: PackRequest) -> Any:
    """Return the document that a pack is about, with the names on its cover; none if it may not be seen."""
    if request.document_id is None:
        return await connection.fetchrow(
            "SELECT NULL::uuid AS id, NULL AS title, NULL AS permit_number, 'All sites' AS site_name,"
            " name AS company_name FROM oblicore.companies WHERE id = $1",
            UUID(request.company_id or ""),
        )
    return await connection.fetchrow(
        """
        SELECT paper.id, paper.title, paper.permit_number, site.name AS site_name, company.name AS company_name
        FROM oblicore.documents AS paper
        JOIN oblicore.sites AS site ON site.id = paper.site_id
        JOIN oblicore.companies AS company ON company.id = paper.company_id
        WHERE paper.id = $1 AND paper.company_id = $2 AND paper.site_id = $3 AND paper.deleted_at IS NULL
        """,
        UUID(request.document_id),
        UUID(request.company_id or ""),
        UUID(request.site_id or ""),
    )


async def obligations(connection: Connection, request: PackRequest) -> list[dict[str, Any]]:
    """Return the obligations that belong into a pack, each once, with deadlines and evidence."""
    rows = await connection.fetch(
        """
        SELECT duty.id, duty.condition_reference, duty.summary, duty.original_text, duty.category, duty.frequency,
               duty.status, duty.site_id, site.name AS site_name
        FROM oblicore.obligations AS duty
        JOIN oblicore.sites AS site ON site.id = duty.site_id
        WHERE duty.company_id = $1
          AND ($2::uuid IS NULL OR duty.document_id = $2)
          AND duty.deleted_at IS NULL
          AND duty.review_status <> 'REJECTED'
          AND (duty.superseded_at IS NULL OR $2::uuid IS NOT NULL)
        ORDER BY duty.condition_reference NULLS LAST, duty.deadline_date NULLS LAST, duty.id
        """,
        UUID(request.company_id or ""),
        UUID(request.document_id) if request.document_id else None,
    )
    dues = await _deadlines(connection, [row["id"] for row in rows])
    files = await _evidence(connection, [row["id"] for row in rows])
    found = []
    for row in rows:
        own = dues[row["id"]]
        if not packs.is_wanted(
            request, status=row["status"], category=row["category"], dues=[one["due_date"] for one in own]
        ):
            continue
        within = [one for one in own if request.start <= one["due_date"] <= request.end]
        found.append(_shape(row, within, files[row["id"]]))
    return found


async def _deadlines(connection: Connection, ids: list[UUID]) -> dict[UUID, list[Any]]:
    rows = await connection.fetch(
        "SELECT obligation_id, due_date, status FROM oblicore.deadlines"
        " WHERE obligation_id = ANY($1) ORDER BY due_date",
        ids,
    )
    found: dict[UUID, list[Any]] = defaultdict(list)
    for row in rows:
        found[row["obligation_id"]].append(row)
    return found


async def _evidence(connection: Connection, ids: list[UUID]) -> dict[UUID, list[Any]]:
    rows = await connection.fetch(
        """
        SELECT link.obligation_id, item.id, item.file_name, item.file_type, item.mime_type, item.file_size_bytes,
               item.file_hash, item.storage_path, item.upload_date
        FROM oblicore.obligation_evidence_links AS link
        JOIN oblicore.evidence_items AS item ON item.id = link.evidence_id AND item.deleted_at IS NULL
        WHERE link.obligation_id = ANY($1) AND link.unlinked_at IS NULL
        ORDER BY item.upload_date DESC, item.id
        """,
        ids,
    )
    found: dict[UUID, list[Any]] = defaultdict(list)
    for row in rows:
        found[row["obligation_id"]].append(row)
    return found


def _shape(row: Any, dues: list[Any], files: list[Any]) -> dict[str, Any]:
    return {
        "id": str(row["id"]),
        "reference": row["condition_reference"],
        "summary": row["summary"],
        "original_text": row["original_text"],
        "category": row["category"],
        "frequency": row["frequency"],
        "status": row["status"],
        "site_name": row["site_name"],
        "deadlines": [{"due_date": one["due_date"].isoformat(), "status": one["status"]} for one in dues],
        "evidence": [
            {
                "id": str(one["id"]),
                "file_name": one["file_name"],
                "file_type": one["file_type"],
                "upload_date": one["upload_date"].isoformat(),
                "integrity_status": "UNCHECKED",
                "_filed": one,
            }
            for one in files
        ],
    }


async def save(connection: Connection, pack: UUID, request: PackRequest, **values: Any) -> None:
    """Write a pack's row."""
    count = values["summary"]
    await connection.execute(
        _SAVE,
        pack,
        UUID(request.document_id) if request.document_id else None,
        UUID(request.site_id) if request.site_id else None,
        UUID(request.company_id or ""),
        request.pack_type.value,
        request.recipient_type,
        values["recipient_name"],
        values["purpose"],
        request.start,
        request.end,
        to_json(
            {
                "obligation_statuses": list(request.statuses),
                "categories": list(request.categories),
                "include_overdue_only": request.overdue_only,
            }
        ),
        request.output_format,
        values["path"],
        to_json(values["content"]),
        to_json(values["manifest"]),
        values["sha256"],
        count["total_obligations"],
        count["complete_count"],
        count["pending_count"],
        count["overdue_count"],
        count["evidence_count"],
        count["integrity_errors_count"],
        values["milliseconds"],
        values["generated_by"],
    )


async def find(connection: Connection, pack: UUID) -> Any:
    """Return a pack's row; none if it is not there or may not be seen."""
    return await connection.fetchrow("SELECT * FROM oblicore.audit_packs WHERE id = $1", pack)


async def share(connection: Connection, pack: UUID, *, token: str, expires_at: datetime) -> None:
    """Give a pack a link that anybody who has it can open until it expires."""
    await connection.execute(
        "UPDATE oblicore.audit_packs SET shared_link_token = $2, shared_link_expires_at = $3 WHERE id = $1",
        pack,
        token,
        expires_at,
    )


async def add_distribution(
    connection: Connection,
    pack: Any,
    *,
    job: UUID,
    method: str,
    email: str | None,
    name: str | None,
    **values: Any,
) -> UUID | None:
    """Write down that a pack goes to somebody, once a job; none if a first try has done so."""
    found: UUID | None = await connection.fetchval(
        """
        INSERT INTO oblicore.pack_distributions (
            pack_id, company_id, job_id, distribution_method, recipient_email, recipient_name, message, status,
            requested_by
        )
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (job_id, coalesce(recipient_email, '')) DO NOTHING
        RETURNING id
        """,
        pack["id"],
        pack["company_id"],
        job,
        method,
        email,
        name,
        values.get("message"),
        "PENDING" if email else "SHARED",
        values.get("requested_by"),
    )
    return found


async def opened(connection: Connection, token: str, *, now: datetime) -> Any:
    """Return the pack of a shared link and count the view; the row says whether the link has expired."""
    row = await connection.fetchrow(
        "SELECT *, shared_link_expires_at <= $2 AS is_expired FROM oblicore.audit_packs WHERE shared_link_token = $1",
        token,
        now,
    )
    if row is not None and not row["is_expired"]:
        await connection.execute(
            "UPDATE oblicore.pack_distributions SET view_count = view_count + 1, viewed_at = $2"
            " WHERE pack_id = $1 AND distribution_method = 'SHARED_LINK'",
            row["id"],
            now,
        )
    return row


def span(row: Any) -> tuple[date, date]:
    """The date range of a pack."""
    return row["date_range_start"], row["date_range_end"]


_SAVE = """
INSERT INTO oblicore.audit_packs (
    id, job_id, document_id, site_id, company_id, pack_type, recipient_type, recipient_name, purpose,
    date_range_start, date_range_end, filters_applied, output_format, storage_path, content, manifest,
    file_sha256, total_obligations, complete_count, pending_count, overdue_count, evidence_count,
    integrity_errors_count, generation_time_ms, generated_by
)
VALUES ($1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, ($11::text)::jsonb, $12, $13, ($14::text)::jsonb,
        ($15::text)::jsonb, $16, $17, $18, $19, $20, $21, $22, $23, $24)
"""
