"""What happens to the duties of a document that a variation replaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from backstay_oblicore.domain.permits.diff import pairs, says_the_same
from backstay_oblicore.store.database import Connection


@dataclass(frozen=True)
class _Duty:
    """A stored duty as the comparison sees it."""

    id: UUID
    reference: str
    text: str


async def supersede(connection: Connection, paper: Any) -> int:
    """Let a document that has been read replace its parent; return how many duties were carried over.

    A duty with the same words goes on: dates, completions, deadlines, evidence and whoever does it. One whose words
    changed keeps evidence and person, and its dates are reckoned anew. What is gone comes due no more.
    """
    parent = paper["parent_document_id"]
    if parent is None:
        return 0
    old = await _duties(connection, parent)
    paired = pairs(old, await _duties(connection, paper["id"]))
    for before, after in paired:
        if says_the_same(before, after):
            await connection.execute(_GO_ON, before.id, after.id)
            await connection.execute(_MOVE_SCHEDULE, before.id, after.id)
            await connection.execute(_MOVE_DEADLINES, before.id, after.id)
        else:
            await connection.execute(_HAND_OVER, before.id, after.id)
        await connection.execute(_CARRY_EVIDENCE, before.id, after.id)
    await connection.execute(_RETIRE, [one.id for one in old])
    await connection.execute(_CLOSE_DEADLINES, [one.id for one in old])
    await connection.execute(
        "UPDATE oblicore.documents SET status = 'SUPERSEDED', updated_at = now() WHERE id = $1", parent
    )
    return len(paired)


async def _duties(connection: Connection, document: UUID) -> list[_Duty]:
    rows = await connection.fetch(
        "SELECT id, condition_reference, original_text, summary FROM oblicore.obligations WHERE document_id = $1"
        " AND deleted_at IS NULL AND superseded_at IS NULL AND carried_from IS NULL AND review_status <> 'REJECTED'"
        " ORDER BY page_number, condition_reference, id",
        document,
    )
    return [
        _Duty(row["id"], row["condition_reference"] or "", row["original_text"] or row["summary"])
        for row in rows
    ]


_HAND_OVER = """
UPDATE oblicore.obligations AS duty
SET carried_from = old.id, assigned_to = coalesce(duty.assigned_to, old.assigned_to), updated_at = now()
FROM oblicore.obligations AS old
WHERE old.id = $1 AND duty.id = $2
"""
_GO_ON = """
UPDATE oblicore.obligations AS duty
SET carried_from = old.id, assigned_to = coalesce(duty.assigned_to, old.assigned_to), summary = old.summary,
    category = old.category, frequency = old.frequency, due_rule = old.due_rule,
    base_date = old.base_date, counted_from = coalesce(old.counted_from, plan.base_date),
    first_due_date = old.first_due_date,
    anchors = jsonb_strip_nulls(jsonb_build_object(
        'issue of the permit', coalesce(paper.effective_date, paper.issue_date)
    )) || duty.anchors || old.anchors,
    last_completed_date = old.last_completed_date,
    completed_due_date = old.completed_due_date, deadline_date = old.deadline_date, status = old.status,
    review_status = old.review_status, created_at = old.created_at, updated_at = now()
FROM oblicore.obligations AS old
JOIN oblicore.documents AS paper ON paper.id = old.document_id
LEFT JOIN oblicore.schedules AS plan ON plan.obligation_id = old.id
WHERE old.id = $1 AND duty.id = $2
"""
_MOVE_SCHEDULE = """
UPDATE oblicore.schedules SET obligation_id = $2, updated_at = now()
WHERE obligation_id = $1 AND NOT EXISTS (SELECT FROM oblicore.schedules WHERE obligation_id = $2)
"""
_MOVE_DEADLINES = """
UPDATE oblicore.deadlines AS due SET obligation_id = $2, updated_at = now()
FROM oblicore.schedules AS plan
WHERE due.obligation_id = $1 AND plan.id = due.schedule_id AND plan.obligation_id = $2
"""
_CARRY_EVIDENCE = """
INSERT INTO oblicore.obligation_evidence_links (obligation_id, evidence_id, company_id, linked_at, linked_by)
SELECT $2, evidence_id, company_id, linked_at, linked_by
FROM oblicore.obligation_evidence_links
WHERE obligation_id = $1 AND unlinked_at IS NULL
ON CONFLICT DO NOTHING
"""
_RETIRE = """
UPDATE oblicore.obligations SET status = 'NOT_APPLICABLE', superseded_at = now(), updated_at = now()
WHERE id = ANY($1)
"""
_CLOSE_DEADLINES = """
UPDATE oblicore.deadlines SET status = 'NOT_APPLICABLE', updated_at = now()
WHERE obligation_id = ANY($1) AND status IN ('PENDING', 'DUE_SOON', 'OVERDUE')
"""
