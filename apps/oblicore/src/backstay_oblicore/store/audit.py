"""Who did what: rows that are never changed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from backstay_oblicore.store.database import Connection, to_json


async def write(
    connection: Connection,
    action: str,
    *,
    entity_type: str,
    entity_id: UUID | None,
    company: UUID | None,
    user: UUID | None = None,
    new: dict[str, Any] | None = None,
    previous: dict[str, Any] | None = None,
) -> None:
    """Write one line of the audit trail."""
    await connection.execute(
        "INSERT INTO oblicore.audit_logs (company_id, user_id, action_type, entity_type, entity_id, previous_values,"
        " new_values) VALUES ($1, $2, $3, $4, $5, ($6::text)::jsonb, ($7::text)::jsonb)",
        company,
        user,
        action,
        entity_type,
        entity_id,
        None if previous is None else to_json(previous),
        None if new is None else to_json(new),
    )
