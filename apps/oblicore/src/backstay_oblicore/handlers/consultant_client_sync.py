"""CONSULTANT_CLIENT_SYNC: keep consultants' portfolios up to date."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from backstay import Context
from backstay_oblicore.domain import scores
from backstay_oblicore.domain.words import AlertType, Channel, Severity
from backstay_oblicore.profile import kind_options
from backstay_oblicore.services import Closing, Services
from backstay_oblicore.store.database import Connection, to_json
from backstay_oblicore.store.notifications import Note

KIND = "CONSULTANT_CLIENT_SYNC"
SECONDS_EACH = 60
UPCOMING_DAYS = 30


def register(services: Services) -> Any:
    """Register the kind on the application."""

    @services.app.job(**kind_options(KIND))
    async def consultant_client_sync(
        ctx: Context,
        sync_type: Literal["ASSIGNMENTS", "DASHBOARD", "FULL"],
        consultant_id: UUID | None = None,
        reference_time: datetime | None = None,
    ) -> dict[str, Any]:
        async with services.closing(ctx) as closing:
            rows = await closing.connection.fetch(
                "SELECT DISTINCT consultant_id FROM oblicore.consultant_client_assignments"
                " WHERE $1::uuid IS NULL OR consultant_id = $1 ORDER BY consultant_id",
                consultant_id,
            )
            synced, late = 0, []
            for row in rows:
                try:
                    async with asyncio.timeout(SECONDS_EACH), closing.connection.transaction():
                        await _sync(closing, row["consultant_id"], sync_type)
                    synced += 1
                except TimeoutError:
                    late.append(str(row["consultant_id"]))
                    ctx.log.warning("Sync of one consultant took too long", consultant_id=late[-1])
            closing.result |= {"consultants": synced, "timed_out": late}
        return {}

    return consultant_client_sync


async def _sync(closing: Closing, consultant: UUID, sync_type: str) -> None:
    if sync_type in ("ASSIGNMENTS", "FULL"):
        await _check_assignments(closing.connection, consultant)
    if sync_type in ("DASHBOARD", "FULL"):
        clients = await closing.connection.fetch(
            "SELECT client_company_id FROM oblicore.consultant_client_assignments"
            " WHERE consultant_id = $1 AND status = 'ACTIVE'",
            consultant,
        )
        for client in clients:
            await _refresh(closing, consultant, client["client_company_id"])
        if sync_type == "FULL":
            closing.notes.append(_summary(closing, consultant, len(clients)))


async def _check_assignments(connection: Connection, consultant: UUID) -> None:
    """An assignment holds while the company exists and the consultant has the role there."""
    await connection.execute(
        """
        UPDATE oblicore.consultant_client_assignments AS held
        SET status = fits.status, updated_at = now()
        FROM (
            SELECT one.client_company_id,
                   CASE
                       WHEN company.deleted_at IS NULL AND role.user_id IS NOT NULL THEN 'ACTIVE'
                       ELSE 'INACTIVE'
                   END AS status
            FROM oblicore.consultant_client_assignments AS one
            JOIN oblicore.companies AS company ON company.id = one.client_company_id
            LEFT JOIN oblicore.user_roles AS role
                ON role.user_id = one.consultant_id
                AND role.company_id = one.client_company_id
                AND role.role = 'CONSULTANT'
            WHERE one.consultant_id = $1
        ) AS fits
        WHERE held.consultant_id = $1
          AND held.client_company_id = fits.client_company_id
          AND held.status <> fits.status
        """,
        consultant,
    )


async def _refresh(closing: Closing, consultant: UUID, client: UUID) -> None:
    connection = closing.connection
    counts = await connection.fetch(
        "SELECT status, count(*) AS n FROM oblicore.obligations WHERE company_id = $1 AND deleted_at IS NULL"
        " AND review_status <> 'REJECTED' AND superseded_at IS NULL GROUP BY status",
        client,
    )
    found = scores.compliance({row["status"]: row["n"] for row in counts})
    today = closing.now.date()
    upcoming = await connection.fetch(
        "SELECT summary, deadline_date FROM oblicore.obligations WHERE company_id = $1 AND deleted_at IS NULL"
        " AND review_status <> 'REJECTED' AND status <> 'NOT_APPLICABLE'"
        " AND deadline_date BETWEEN $2 AND $3 ORDER BY deadline_date, id LIMIT 10",
        client,
        today,
        today + timedelta(days=UPCOMING_DAYS),
    )
    activity = await connection.fetch(
        "SELECT action_type, entity_type, created_at FROM oblicore.audit_logs WHERE company_id = $1"
        " ORDER BY created_at DESC, id DESC LIMIT 10",
        client,
    )
    data = {
        "total": found.total,
        "complete": found.complete,
        "pending": found.pending,
        "overdue": found.overdue,
        "score": found.score,
        "upcoming": [{"summary": row["summary"], "due": row["deadline_date"]} for row in upcoming],
        "activity": [{"action": row["action_type"], "entity": row["entity_type"]} for row in activity],
    }
    await connection.execute(
        _CACHE,
        consultant,
        client,
        to_json(data),
        closing.now,
    )


def _summary(closing: Closing, consultant: UUID, clients: int) -> Note:
    return Note(
        user_id=str(consultant),
        company_id=None,
        alert_type=AlertType.SYSTEM,
        severity=Severity.INFO,
        channels=(Channel.IN_APP,),
        title="Client portfolio updated",
        message=f"{clients} client{'s' * (clients != 1)} brought up to date.",
        action_url="/consultant",
        dedupe_key=f"sync:{consultant}:{closing.now.date()}",
    )


_CACHE = """
INSERT INTO oblicore.consultant_dashboard_cache (consultant_id, client_company_id, data, updated_at)
VALUES ($1, $2, ($3::text)::jsonb, $4)
ON CONFLICT (consultant_id, client_company_id) DO UPDATE
SET data = excluded.data, updated_at = excluded.updated_at
"""
