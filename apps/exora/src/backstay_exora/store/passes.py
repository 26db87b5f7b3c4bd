"""What the passes write: metrics, the gate's audit, review items, calls, narratives."""

from decimal import Decimal
from typing import Any
from uuid import UUID

from backstay_exora.domain.identity import Gate
from backstay_exora.domain.text import boxes_of
from backstay_exora.store.connections import Connection, as_json


async def save_metrics(
    connection: Connection,
    *,
    document_id: UUID,
    patient_id: UUID,
    session: UUID,
    entities: dict[str, Any],
    prompt_tokens: int,
    completion_tokens: int,
) -> None:
    """Replace the figures of Pass 1."""
    counts = entities.get("entity_counts") or {}
    await connection.execute("DELETE FROM exora.pass1_entity_metrics WHERE shell_file_id = $1", document_id)
    await connection.execute(
        "INSERT INTO exora.pass1_entity_metrics (shell_file_id, patient_id, processing_session_id, document_kind,"
        " medication_count, condition_count, allergy_count, prompt_tokens, completion_tokens)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        document_id,
        patient_id,
        session,
        str(entities.get("document_kind", "letter")),
        int(counts.get("medications", 0)),
        int(counts.get("conditions", 0)),
        int(counts.get("allergies", 0)),
        prompt_tokens,
        completion_tokens,
    )


async def save_gate(connection: Connection, *, document_id: UUID, patient_id: UUID, gate: Gate) -> None:
    """Replace the verdict on whose document it is, with what it was reckoned from."""
    markers = [
        {
            "kind": item.kind,
            "agreement": item.agreement,
            "read": [marker.text for marker in item.markers],
            "boxes": [box for marker in item.markers for box in boxes_of(marker.words)],
        }
        for item in gate.comparisons
    ]
    await connection.execute(
        "DELETE FROM exora.profile_classification_audit WHERE shell_file_id = $1", document_id
    )
    await connection.execute(
        "INSERT INTO exora.profile_classification_audit (shell_file_id, patient_id, contamination_risk_score,"
        " manual_review_required, cross_profile_risk_detected, reasons, identity_markers, validation_method)"
        " VALUES ($1, $2, $3, $4, $5, $6::text::jsonb, $7::text::jsonb, $8)",
        document_id,
        patient_id,
        Decimal(str(round(gate.risk, 2))),
        not gate.is_open,
        gate.has_second_person or bool(gate.other_patients),
        as_json(list(gate.reasons)),
        as_json(markers),
        "automated" if gate.is_open else "manual_review",
    )


async def open_review(
    connection: Connection,
    *,
    practice: str,
    document_id: UUID,
    patient_id: UUID,
    kind: str,
    reasons: list[str],
    job_id: UUID | None = None,
) -> None:
    """Ask a person; an open question of the same kind about the document is replaced."""
    await connection.execute(
        "DELETE FROM exora.manual_review_queue WHERE shell_file_id = $1 AND kind = $2 AND status = 'open'",
        document_id,
        kind,
    )
    await connection.execute(
        "INSERT INTO exora.manual_review_queue (practice_id, shell_file_id, patient_id, kind, reasons, job_id)"
        " VALUES ($1, $2, $3, $4, $5::text::jsonb, $6)",
        practice,
        document_id,
        patient_id,
        kind,
        as_json(reasons),
        job_id,
    )


async def save_call(connection: Connection, **call: Any) -> None:
    """Note a call of the model with its tokens and cost; the same call is noted once."""
    await connection.execute(
        "INSERT INTO exora.ai_calls (job_id, call, shell_file_id, pass_number, model, budget, verdict, finish_reason,"
        " prompt_tokens, completion_tokens, reasoning_tokens, cost_dollars)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        call["job_id"],
        call["call"],
        call["shell_file_id"],
        call["pass_number"],
        call["model"],
        call["budget"],
        call["verdict"],
        call["finish_reason"],
        call["prompt_tokens"],
        call["completion_tokens"],
        call["reasoning_tokens"],
        call["cost_dollars"],
    )


async def calls_of(connection: Connection, document_id: UUID) -> list[dict[str, Any]]:
    """Every call about a document, in order."""
    rows = await connection.fetch(
        "SELECT call, pass_number, model, budget, verdict, finish_reason, prompt_tokens, completion_tokens,"
        " reasoning_tokens, cost_dollars, called_at FROM exora.ai_calls"
        " WHERE shell_file_id = $1 ORDER BY called_at, call",
        document_id,
    )
    return [dict(row) for row in rows]


async def gate_of(connection: Connection, document_id: UUID) -> dict[str, Any] | None:
    """The verdict on a document and what a person decided."""
    row = await connection.fetchrow(
        "SELECT * FROM exora.profile_classification_audit WHERE shell_file_id = $1", document_id
    )
    return dict(row) if row else None


async def start_narrative(
    connection: Connection, *, narrative_id: UUID, patient_id: UUID, document_id: UUID, session: UUID
) -> None:
    """Make room for a narrative in place of an earlier one, so that the job that writes it can refer to it."""
    await connection.execute(
        "DELETE FROM exora.clinical_narratives WHERE shell_file_id = $1 AND id <> $2",
        document_id,
        narrative_id,
    )
    await connection.execute(
        "INSERT INTO exora.clinical_narratives (id, patient_id, shell_file_id, processing_session_id)"
        " VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING",
        narrative_id,
        patient_id,
        document_id,
        session,
    )


async def write_narrative(connection: Connection, narrative_id: UUID, text: str) -> None:
    """Set the text of a narrative."""
    await connection.execute(
        "UPDATE exora.clinical_narratives SET text = $2 WHERE id = $1", narrative_id, text
    )
