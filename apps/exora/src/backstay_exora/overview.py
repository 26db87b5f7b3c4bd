"""Everything about one document or patient, as pages, API and command line show it."""

from typing import Any
from uuid import UUID

from backstay_exora.app import settings
from backstay_exora.store.connections import connect
from backstay_exora.store.documents import get_document, list_documents, pages_of
from backstay_exora.store.facts import facts_of
from backstay_exora.store.passes import calls_of, gate_of
from backstay_exora.store.patients import get_patient

FINAL_STATUSES = frozenset({"done", "needs_review", "failed", "rejected", "retracted"})
"""Where nothing more happens by itself."""


async def status_of(practice: str, document_id: UUID) -> str | None:
    """How far a document is; None for one of another practice."""
    async with connect(settings.database_url) as connection:
        document = await get_document(connection, document_id, practice=practice)
    return document.status if document else None


async def document_overview(practice: str, document_id: UUID) -> dict[str, Any] | None:
    """The document with pages, passes, gate, facts, calls and cost; None for one of another practice."""
    async with connect(settings.database_url) as connection:
        document = await get_document(connection, document_id, practice=practice)
        if document is None:
            return None
        jobs = await connection.fetch(
            "SELECT id, job_type, job_name, status, job_lane, retry_count, started_at, completed_at, actual_duration,"
            " worker_id, memory_usage_mb, cpu_usage_percent, error_details ->> 'code' AS code FROM exora.job_queue"
            " WHERE shell_file_id = $1 ORDER BY created_at",
            document_id,
        )
        calls = await calls_of(connection, document_id)
        aside = await connection.fetch(
            "SELECT kind, name, reason FROM exora.set_aside WHERE shell_file_id = $1 ORDER BY kind, name",
            document_id,
        )
        decided = await connection.fetchval(
            "SELECT id FROM exora.manual_review_queue WHERE shell_file_id = $1 AND kind = 'identity'"
            " AND status = 'decided' AND decided_at > now() - interval '24 hours'",
            document_id,
        )
        narrative = await connection.fetchval(
            "SELECT text FROM exora.clinical_narratives WHERE shell_file_id = $1", document_id
        )
        return {
            "id": str(document.id),
            "filename": document.filename,
            "patient_id": str(document.patient_id),
            "patient": await get_patient(connection, practice, document.patient_id),
            "status": document.status,
            "problem": document.problem,
            "uploaded_by": document.uploaded_by,
            "uploaded_at": document.uploaded_at,
            "session": str(document.processing_session_id),
            "pages": await pages_of(connection, document_id),
            "jobs": [dict(row) for row in jobs],
            "gate": await gate_of(connection, document_id),
            "facts": await facts_of(connection, document_id=document_id),
            "set_aside": [dict(row) for row in aside],
            "calls": calls,
            "cost_dollars": float(sum(call["cost_dollars"] for call in calls)),
            "narrative": narrative,
            "can_undo": decided if document.status != "retracted" else None,
        }


async def patient_facts(practice: str, patient_id: UUID) -> list[dict[str, Any]] | None:
    """A patient's facts with their sources; None for a patient of another practice."""
    async with connect(settings.database_url) as connection:
        if await get_patient(connection, practice, patient_id) is None:
            return None
        return await facts_of(connection, patient_id=patient_id)


async def patient_overview(practice: str, patient_id: UUID) -> dict[str, Any] | None:
    """A patient with documents and facts."""
    async with connect(settings.database_url) as connection:
        patient = await get_patient(connection, practice, patient_id)
        if patient is None:
            return None
        documents = await list_documents(connection, practice, patient=patient_id)
        return {
            "patient": patient,
            "documents": documents,
            "facts": await facts_of(connection, patient_id=patient_id),
        }
