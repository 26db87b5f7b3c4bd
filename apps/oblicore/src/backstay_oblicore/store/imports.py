"""Registers that are being imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any
from uuid import UUID

from backstay_oblicore.domain.register.rows import Checked, Known
from backstay_oblicore.store.database import Connection, from_json, to_json


async def load(connection: Connection, import_id: UUID) -> Any:
    """Return an import's row, locked against a second confirmation."""
    return await connection.fetchrow(
        "SELECT * FROM oblicore.excel_imports WHERE id = $1 FOR UPDATE", import_id
    )


async def known_facts(connection: Connection, row: Any) -> Known:
    """Return what the company of an import has already; never anything of another company."""
    options = from_json(row["options"])
    sites = await connection.fetch(
        "SELECT id, name FROM oblicore.sites WHERE company_id = $1 AND deleted_at IS NULL", row["company_id"]
    )
    there = await connection.fetch(
        """
        SELECT paper.permit_number, duty.obligation_title, duty.site_id
        FROM oblicore.obligations AS duty
        JOIN oblicore.documents AS paper ON paper.id = duty.document_id
        WHERE duty.company_id = $1 AND duty.deleted_at IS NULL
        """,
        row["company_id"],
    )
    helpers = await connection.fetch(
        """
        SELECT DISTINCT person.id, lower(person.email) AS email, lower(person.full_name) AS name
        FROM oblicore.user_roles AS held
        JOIN oblicore.users AS person ON person.id = held.user_id AND person.deleted_at IS NULL
        WHERE held.company_id = $1 AND held.role IN ('OWNER', 'ADMIN', 'STAFF')
        """,
        row["company_id"],
    )
    ids = {str(site["id"]): str(site["id"]) for site in sites}
    names = {site["name"].lower(): str(site["id"]) for site in sites}
    return Known(
        import_site=str(row["site_id"]),
        sites={**names, **ids},
        obligations=frozenset(
            (one["permit_number"], one["obligation_title"], str(one["site_id"])) for one in there
        ),
        # Two people of one name are told apart by their addresses only.
        helpers={
            **{one["name"]: str(one["id"]) for one in helpers if _is_single(one["name"], helpers)},
            **{one["email"]: str(one["id"]) for one in helpers},
        },
        create_missing_sites=bool(options.get("create_missing_sites", False)),
        skip_duplicates=bool(options.get("skip_duplicates", True)),
    )


def _is_single(name: str, helpers: Sequence[Any]) -> bool:
    return len([one for one in helpers if one["name"] == name]) == 1


async def save_preview(connection: Connection, import_id: UUID, checked: Checked) -> None:
    """Keep what the check found, for the person who decides."""
    await connection.execute(
        """
        UPDATE oblicore.excel_imports
        SET status = 'PENDING_REVIEW', valid_rows = ($2::text)::jsonb, error_rows = ($3::text)::jsonb,
            warning_rows = ($4::text)::jsonb, row_count = $5, valid_count = $6, error_count = $7, updated_at = now()
        WHERE id = $1
        """,
        import_id,
        to_json(checked.valid),
        to_json(checked.errors),
        to_json(checked.warnings),
        checked.row_count,
        len(checked.valid),
        len(checked.errors),
    )


async def set_status(
    connection: Connection, import_id: UUID, status: str, *, error: str | None = None
) -> None:
    """Say how far an import has come."""
    await connection.execute(
        "UPDATE oblicore.excel_imports SET status = $2, error_message = $3, updated_at = now() WHERE id = $1",
        import_id,
        status,
        error,
    )


async def find_site(connection: Connection, company: UUID, name: str, *, create: bool) -> UUID | None:
    """Return the company's site of a name, made if it may be."""
    found: UUID | None = await connection.fetchval(
        "SELECT id FROM oblicore.sites WHERE company_id = $1 AND lower(name) = lower($2) AND deleted_at IS NULL",
        company,
        name,
    )
    if found is None and create:
        found = await connection.fetchval(
            "INSERT INTO oblicore.sites (company_id, name) VALUES ($1, $2) RETURNING id", company, name
        )
    return found


async def find_permit(
    connection: Connection, row: Any, number: str, site: UUID, *, create: bool
) -> UUID | None:
    """Return the company's document of a permit number at a site, made if it may be."""
    found: UUID | None = await connection.fetchval(
        "SELECT id FROM oblicore.documents WHERE company_id = $1 AND permit_number = $2 AND site_id = $3"
        " AND deleted_at IS NULL ORDER BY status = 'SUPERSEDED', created_at LIMIT 1",
        row["company_id"],
        number,
        site,
    )
    if found is None and create:
        found = await connection.fetchval(
            """
            INSERT INTO oblicore.documents (
                module_id, company_id, site_id, title, permit_number, extraction_status, uploaded_by
            )
            SELECT id, $1, $2, $3, $4, 'COMPLETED', $5 FROM oblicore.modules WHERE module_code = 'MODULE_1'
            RETURNING id
            """,
            row["company_id"],
            site,
            f"Permit {number}",
            number,
            row["user_id"],
        )
    return found


async def add_obligation(
    connection: Connection, row: Any, entry: Mapping[str, Any], *, document: UUID, site: UUID
) -> UUID | None:
    """Add one obligation of a register with its schedule and deadline; none if a first try has added it."""
    data = entry["data"]
    due = date.fromisoformat(data["deadline_date"]) if data["deadline_date"] else None
    obligation: UUID | None = await connection.fetchval(
        """
        INSERT INTO oblicore.obligations (
            document_id, company_id, site_id, summary, obligation_title, obligation_description, original_text,
            category,
            condition_reference, frequency, base_date, deadline_date, review_status, import_source, excel_import_id,
            import_row, created_by, confidence_score, source, assigned_to
        )
        VALUES ($1, $2, $3, $4, $4, $5, coalesce($5, $4), coalesce($6, 'OPERATIONAL'), $7, $8, $9, $10, 'CONFIRMED',
                'excel_import', $11, $12, $13, 1, 'person', $14)
        ON CONFLICT ON CONSTRAINT each_row_imported_once DO NOTHING
        RETURNING id
        """,
        document,
        row["company_id"],
        site,
        data["obligation_title"],
        data.get("obligation_description"),
        (data.get("category") or "").upper() or None,
        data.get("condition_reference"),
        data["frequency"],
        due,
        due,
        row["id"],
        entry["row_number"],
        row["user_id"],
        UUID(data["assigned_id"]) if data.get("assigned_id") else None,
    )
    if obligation is not None and due is not None:
        await _add_deadline(connection, row, obligation, site, data["frequency"], due)
    return obligation


async def _add_deadline(
    connection: Connection, row: Any, obligation: UUID, site: UUID, frequency: str, due: date
) -> None:
    schedule = await connection.fetchval(
        "INSERT INTO oblicore.schedules (obligation_id, company_id, site_id, frequency, base_date, next_due_date)"
        " VALUES ($1, $2, $3, $4, $5, $5) RETURNING id",
        obligation,
        row["company_id"],
        site,
        frequency,
        due,
    )
    await connection.execute(
        "INSERT INTO oblicore.deadlines (obligation_id, schedule_id, company_id, site_id, due_date)"
        " VALUES ($1, $2, $3, $4, $5)",
        obligation,
        schedule,
        row["company_id"],
        site,
        due,
    )


async def finish(connection: Connection, import_id: UUID, created: list[UUID], errors: list[Any]) -> None:
    """Say that an import is done."""
    await connection.execute(
        """
        UPDATE oblicore.excel_imports
        SET status = 'COMPLETED', success_count = $2, obligation_ids = $3, error_rows = ($4::text)::jsonb,
            completed_at = now(), updated_at = now()
        WHERE id = $1
        """,
        import_id,
        len(created),
        created,
        to_json(errors),
    )
