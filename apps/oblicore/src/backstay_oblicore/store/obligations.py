"""Obligations, their schedules and deadlines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any
from uuid import UUID

from backstay_oblicore.domain.due_dates import Due
from backstay_oblicore.store.database import Connection, to_json


async def to_schedule(connection: Connection, company: UUID, site: UUID | None) -> list[Any]:
    """Return the open obligations of a company with what their dates are reckoned from."""
    return await connection.fetch(
        """
        SELECT duty.id, duty.document_id, duty.company_id, duty.site_id, duty.frequency, duty.due_rule,
               duty.base_date, duty.anchors,
               duty.last_completed_date, duty.completed_due_date, duty.deadline_date, duty.condition_reference,
               duty.first_due_date, duty.counted_from, duty.status, duty.created_at, duty.import_source, site.regulator,
               site.adjust_for_business_days,
               plan.id AS schedule_id, coalesce(plan.is_rolling, FALSE) AS is_rolling, paper.anchors AS paper_anchors,
               plan.frequency AS plan_frequency, plan.base_date AS plan_base, duty.date_explanation IS NULL AS is_new,
               coalesce(paper.effective_date, paper.issue_date) AS paper_date, paper.created_at AS paper_created_at
        FROM oblicore.obligations AS duty
        JOIN oblicore.sites AS site ON site.id = duty.site_id
        JOIN oblicore.documents AS paper ON paper.id = duty.document_id
        LEFT JOIN oblicore.schedules AS plan ON plan.obligation_id = duty.id
        WHERE duty.company_id = $1
          AND ($2::uuid IS NULL OR duty.site_id = $2)
          AND duty.status NOT IN ('COMPLETED', 'NOT_APPLICABLE')
          AND duty.review_status <> 'REJECTED'
          AND duty.deleted_at IS NULL
        ORDER BY duty.id
        """,
        company,
        site,
    )


async def known_deadlines(connection: Connection, company: UUID) -> dict[UUID, set[date]]:
    """Return which due dates each obligation of a company has already."""
    rows = await connection.fetch(
        "SELECT obligation_id, array_agg(due_date) AS dues FROM oblicore.deadlines WHERE company_id = $1"
        " GROUP BY obligation_id",
        company,
    )
    return {row["obligation_id"]: set(row["dues"]) for row in rows}


async def save_schedule(
    connection: Connection, row: Mapping[str, Any], *, base: date | None, due: Due | None
) -> UUID:
    """Write or bring up to date the one schedule of an obligation."""
    found: UUID = await connection.fetchval(
        """
        INSERT INTO oblicore.schedules (obligation_id, company_id, site_id, frequency, base_date, next_due_date)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (obligation_id) DO UPDATE
        SET frequency = excluded.frequency, base_date = excluded.base_date,
            next_due_date = excluded.next_due_date,
            updated_at = CASE
                WHEN (schedules.frequency, schedules.base_date, schedules.next_due_date)
                     IS DISTINCT FROM (excluded.frequency, excluded.base_date, excluded.next_due_date) THEN now()
                ELSE schedules.updated_at
            END
        RETURNING id
        """,
        row["id"],
        row["company_id"],
        row["site_id"],
        row["frequency"],
        base,
        due.day if due else None,
    )
    return found


async def save_due(connection: Connection, obligation: UUID, *, due: date | None, explanation: Any) -> bool:
    """Write a due date if it is another than before; say whether it was."""
    done = await connection.execute(
        """
        UPDATE oblicore.obligations
        SET deadline_date = $2, date_explanation = ($3::text)::jsonb, updated_at = now()
        WHERE id = $1
          AND (deadline_date IS DISTINCT FROM $2 OR date_explanation IS NULL)
        """,
        obligation,
        due,
        to_json(explanation),
    )
    return done.endswith(" 1")


async def add_deadlines(
    connection: Connection, row: Mapping[str, Any], schedule: UUID, dues: Sequence[Due]
) -> int:
    """Add the deadlines that are not there yet; return how many."""
    rows = await connection.fetch(
        """
        INSERT INTO oblicore.deadlines (
            obligation_id, schedule_id, company_id, site_id, due_date, compliance_period_start, compliance_period_end
        )
        SELECT $1, $2, $3, $4, due.day, due.period_start, due.period_end
        FROM unnest($5::date[], $6::date[], $7::date[]) AS due (day, period_start, period_end)
        ON CONFLICT (obligation_id, due_date) DO NOTHING
        RETURNING id
        """,
        row["id"],
        schedule,
        row["company_id"],
        row["site_id"],
        [due.day for due in dues],
        [due.period_start for due in dues],
        [due.period_end for due in dues],
    )
    return len(rows)


async def keep_only(connection: Connection, obligation: UUID, *, due: date) -> None:
    """Drop the open deadlines of a duty that is counted from its last completion, but for the one that follows."""
    await connection.execute(
        "DELETE FROM oblicore.deadlines WHERE obligation_id = $1 AND due_date <> $2"
        " AND status IN ('PENDING', 'DUE_SOON', 'OVERDUE')",
        obligation,
        due,
    )


async def move_statuses(connection: Connection, company: UUID, site: UUID | None, *, today: date) -> None:
    """Move obligations of a company on: soon within seven days, today included; overdue once the day has passed."""
    await connection.execute(
        """
        UPDATE oblicore.obligations
        SET status = CASE WHEN deadline_date < $3::date THEN 'OVERDUE' ELSE 'DUE_SOON' END, updated_at = now()
        WHERE company_id = $1
          AND ($2::uuid IS NULL OR site_id = $2)
          AND deleted_at IS NULL
          AND (
              (deadline_date < $3::date AND status IN ('PENDING', 'DUE_SOON', 'IN_PROGRESS'))
              OR (deadline_date BETWEEN $3::date AND $3::date + 7 AND status = 'PENDING')
          )
        """,
        company,
        site,
        today,
    )
    await connection.execute(
        """
        UPDATE oblicore.obligations
        SET status = CASE WHEN deadline_date <= $3::date + 7 THEN 'DUE_SOON' ELSE 'PENDING' END, updated_at = now()
        WHERE company_id = $1
          AND ($2::uuid IS NULL OR site_id = $2)
          AND deleted_at IS NULL
          AND (
              (status = 'OVERDUE' AND deadline_date >= $3::date)
              OR (status = 'DUE_SOON' AND deadline_date > $3::date + 7)
          )
        """,
        company,
        site,
        today,
    )


async def move_next_dates(connection: Connection, company: UUID, site: UUID | None) -> None:
    """Let each active schedule show its earliest open deadline; one without any keeps the computed date."""
    await connection.execute(
        """
        UPDATE oblicore.schedules AS plan
        SET next_due_date = open.first, updated_at = now()
        FROM (
            SELECT schedule_id, min(due_date) AS first
            FROM oblicore.deadlines
            WHERE status IN ('PENDING', 'DUE_SOON')
            GROUP BY schedule_id
        ) AS open
        WHERE open.schedule_id = plan.id
          AND plan.company_id = $1
          AND ($2::uuid IS NULL OR plan.site_id = $2)
          AND plan.status = 'ACTIVE'
          AND plan.next_due_date IS DISTINCT FROM open.first
        """,
        company,
        site,
    )


async def deadlines_to_tell(
    connection: Connection, company: UUID, site: UUID | None, *, today: date
) -> list[Any]:
    """Return the open deadlines that are due within a week or have passed."""
    return await connection.fetch(
        """
        SELECT due.id, due.due_date, due.obligation_id, due.company_id, due.site_id, duty.summary, duty.assigned_to,
               duty.frequency, duty.condition_reference, duty.original_text, site.name AS site_name
        FROM oblicore.deadlines AS due
        JOIN oblicore.obligations AS duty ON duty.id = due.obligation_id AND duty.deleted_at IS NULL
        JOIN oblicore.sites AS site ON site.id = duty.site_id
        WHERE due.company_id = $1
          AND ($2::uuid IS NULL OR due.site_id = $2)
          AND due.due_date <= $3::date + 7
          AND due.status IN ('PENDING', 'DUE_SOON', 'OVERDUE')
          AND duty.status NOT IN ('COMPLETED', 'NOT_APPLICABLE')
          AND duty.review_status <> 'REJECTED'
        ORDER BY due.due_date, due.id
        """,
        company,
        site,
        today,
    )


async def move_deadlines(connection: Connection, company: UUID, site: UUID | None, *, today: date) -> None:
    """Move deadlines on: soon within three days, today included; overdue once the day has passed."""
    await connection.execute(
        """
        UPDATE oblicore.deadlines
        SET status = CASE WHEN due_date < $3::date THEN 'OVERDUE' ELSE 'DUE_SOON' END, updated_at = now()
        WHERE company_id = $1
          AND ($2::uuid IS NULL OR site_id = $2)
          AND (
              (due_date < $3::date AND status IN ('PENDING', 'DUE_SOON'))
              OR (due_date BETWEEN $3::date AND $3::date + 3 AND status = 'PENDING')
          )
        """,
        company,
        site,
        today,
    )


async def without_evidence(
    connection: Connection, company: UUID, site: UUID | None, *, today: date
) -> list[Any]:
    """Return the obligations that are due within a week or late, and have no evidence linked."""
    return await connection.fetch(
        """
        SELECT duty.id, duty.company_id, duty.site_id, duty.summary, duty.deadline_date, duty.assigned_to
        FROM oblicore.obligations AS duty
        WHERE duty.company_id = $1
          AND ($2::uuid IS NULL OR duty.site_id = $2)
          AND duty.status IN ('IN_PROGRESS', 'PENDING', 'DUE_SOON', 'OVERDUE')
          AND duty.review_status <> 'REJECTED'
          AND duty.deadline_date <= $3::date + 7
          AND duty.deleted_at IS NULL
          AND NOT EXISTS (
              SELECT
              FROM oblicore.obligation_evidence_links AS link
              WHERE link.obligation_id = duty.id
                AND link.unlinked_at IS NULL
          )
        ORDER BY duty.deadline_date, duty.id
        """,
        company,
        site,
        today,
    )


async def complete(connection: Connection, obligation: UUID, *, on: date, user: UUID | None) -> bool:
    """Answer the earliest open deadline of an obligation; a duty without one is marked as done today."""
    deadline = await connection.fetchrow(
        """
        UPDATE oblicore.deadlines
        SET status = 'COMPLETED', completed_at = now(), completed_by = $2, updated_at = now()
        WHERE id = (
            SELECT id
            FROM oblicore.deadlines
            WHERE obligation_id = $1
              AND status IN ('PENDING', 'DUE_SOON', 'OVERDUE')
            ORDER BY due_date
            LIMIT 1
            FOR UPDATE
        )
        RETURNING due_date
        """,
        obligation,
        user,
    )
    done = await connection.execute(
        """
        UPDATE oblicore.obligations
        SET last_completed_date = $2,
            completed_due_date = coalesce($3, completed_due_date),
            status = CASE WHEN frequency = 'ONE_TIME' THEN 'COMPLETED' ELSE 'PENDING' END,
            updated_at = now()
        WHERE id = $1 AND deleted_at IS NULL
        """,
        obligation,
        on,
        deadline["due_date"] if deadline else None,
    )
    return done.endswith(" 1")
