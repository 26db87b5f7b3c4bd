"""Questions for people about documents, and what follows from their answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import Any
from uuid import UUID

from backstay_oblicore.domain.due_rules import Every, rule_for, rule_from_json, rule_to_json
from backstay_oblicore.domain.errors import InvalidRequest
from backstay_oblicore.domain.permits.conditions import build_condition
from backstay_oblicore.domain.words import Frequency, ReviewStatus, ReviewType
from backstay_oblicore.store import documents
from backstay_oblicore.store.database import Connection, from_json, to_json


@dataclass(frozen=True)
class Changes:
    """What a person corrects about an obligation; what is None stays as it is."""

    summary: str | None = None
    frequency: Frequency | None = None
    first_due: date | None = None
    anchors: tuple[tuple[str, date], ...] = ()
    rolling: bool | None = None  # counted from the last completion

    def __bool__(self) -> bool:
        return bool(self.summary) or self.moves_dates

    @property
    def moves_dates(self) -> bool:
        """Say whether dates have to be reckoned anew."""
        return any((self.frequency, self.first_due, self.anchors)) or self.rolling is not None


async def pending(connection: Connection, document: UUID | None = None) -> list[dict[str, Any]]:
    """Return what waits for a person, blocking things first."""
    rows = await connection.fetch(
        """
        SELECT item.id, item.review_type, item.is_blocking, item.original_data, item.obligation_id,
               item.document_id, paper.title AS document_title, item.created_at, duty.summary, duty.frequency,
               duty.page_number
        FROM oblicore.review_queue_items AS item
        JOIN oblicore.documents AS paper ON paper.id = item.document_id
        LEFT JOIN oblicore.obligations AS duty ON duty.id = item.obligation_id
        WHERE item.review_status = 'PENDING' AND ($1::uuid IS NULL OR item.document_id = $1)
        ORDER BY item.is_blocking DESC, item.priority, item.created_at, item.id
        LIMIT 500
        """,
        document,
    )
    return [dict(row) for row in rows]


async def decide(
    connection: Connection, item_id: UUID, *, confirmed: bool, reason: str, changes: Changes, user: UUID
) -> Any:
    """Write a person's answer and what follows from it; None if there is no such open question.

    A confirmed open sentence becomes an obligation; a corrected one is marked as edited.
    """
    status = ReviewStatus.CONFIRMED if confirmed else ReviewStatus.REJECTED
    item = await connection.fetchrow(
        "UPDATE oblicore.review_queue_items SET review_status = $2, decision = $3, decided_by = $4, decided_at = now()"
        " WHERE id = $1 AND review_status = 'PENDING'"
        " RETURNING document_id, obligation_id, company_id, site_id, review_type, original_data",
        item_id,
        status.value,
        reason,
        user,
    )
    if item is None:
        return None
    asked = from_json(item["original_data"])
    duty = item["obligation_id"]
    if item["review_type"] == ReviewType.OPEN_SENTENCE:
        added = await _file_sentence(connection, item, asked, confirmed=confirmed, reason=reason, user=user)
        duty = added or duty
    if duty is not None:
        await _answer_obligation(connection, duty, status, reason)
        if confirmed and changes:
            await change(connection, duty, changes)
    await documents.complete_if_settled(connection, item["document_id"])
    return item


async def change(connection: Connection, obligation: UUID, changes: Changes) -> bool:
    """Correct an obligation and let its dates be reckoned anew; say whether there is one to correct."""
    done = await connection.execute(
        """
        UPDATE oblicore.obligations
        SET summary = coalesce($2, summary),
            due_rule = CASE WHEN $3::text IS NOT NULL AND $3 IS DISTINCT FROM frequency THEN NULL ELSE due_rule END,
            frequency = coalesce($3, frequency),
            first_due_date = coalesce($4, first_due_date),
            base_date = CASE WHEN $3 = 'ONE_TIME' THEN coalesce($4, base_date) ELSE base_date END,
            anchors = anchors || ($5::text)::jsonb,
            review_status = 'EDITED', date_explanation = NULL, updated_at = now()
        WHERE id = $1 AND deleted_at IS NULL
        """,
        obligation,
        changes.summary,
        changes.frequency.value if changes.frequency else None,
        changes.first_due,
        to_json({name: day.isoformat() for name, day in changes.anchors}),
    )
    if changes.rolling is not None:
        await _count_from_completion(connection, obligation, rolling=changes.rolling)
    if changes.moves_dates:
        # The open deadlines followed from what was wrong; the next reckoning writes the right ones.
        await connection.execute(
            "DELETE FROM oblicore.deadlines WHERE obligation_id = $1 AND status IN ('PENDING', 'DUE_SOON', 'OVERDUE')",
            obligation,
        )
    return done.endswith(" 1")


async def _count_from_completion(connection: Connection, obligation: UUID, *, rolling: bool) -> None:
    """Let an interval be counted from the last completion, or from its base again."""
    row = await connection.fetchrow(
        "SELECT due_rule, frequency FROM oblicore.obligations WHERE id = $1", obligation
    )
    stored = from_json(row["due_rule"])
    rule = rule_from_json(stored) if stored else rule_for(row["frequency"], base=None)
    if not isinstance(rule, Every):
        raise InvalidRequest(
            "only what comes round at an interval can be counted from the last time it was done"
        )
    await connection.execute(
        "UPDATE oblicore.obligations SET due_rule = ($2::text)::jsonb WHERE id = $1",
        obligation,
        to_json(rule_to_json(replace(rule, rolling=rolling))),
    )


async def _answer_obligation(
    connection: Connection, obligation: UUID, status: ReviewStatus, reason: str
) -> None:
    await connection.execute(
        "UPDATE oblicore.obligations SET review_status = $2, rejection_reason = $3, updated_at = now() WHERE id = $1",
        obligation,
        status.value,
        reason if status is ReviewStatus.REJECTED else None,
    )


async def _file_sentence(
    connection: Connection, item: Any, asked: Any, *, confirmed: bool, reason: str, user: UUID
) -> UUID | None:
    """File an open sentence as a person says; return the obligation that it became."""
    filed = await connection.fetchrow(
        "UPDATE oblicore.document_sentences SET filed = $3, filed_by = 'person', reason = $4, decided_by = $5,"
        " decided_at = now() WHERE document_id = $1 AND text = $2 AND filed = 'open'"
        " RETURNING page_number, reference",
        item["document_id"],
        asked["text"],
        "obligation" if confirmed else "rejected",
        reason,
        user,
    )
    if filed is None or not confirmed:
        return None
    reference = filed["reference"] or f"page {filed['page_number']}"
    condition = build_condition(
        asked["text"],
        reference=reference,
        page=filed["page_number"],
        heading="",
        confidence=1.0,
        source="person",
    )
    paper = {"id": item["document_id"], "company_id": item["company_id"], "site_id": item["site_id"]}
    return await documents.add_obligation(connection, paper, condition, user)
