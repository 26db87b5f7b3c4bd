"""A patient's record as a FHIR bundle; every export is noted in the audit log."""

from datetime import datetime
from typing import Any
from uuid import UUID

from backstay_exora.app import settings
from backstay_exora.domain.fhir import bundle
from backstay_exora.store.connections import connect
from backstay_exora.store.facts import facts_of
from backstay_exora.store.patients import get_patient, note


async def export_patient(practice: str, patient_id: UUID, *, by: str, now: datetime) -> dict[str, Any] | None:
    """The bundle; None for a patient of another practice."""
    async with connect(settings.database_url) as connection, connection.transaction():
        patient = await get_patient(connection, practice, patient_id)
        if patient is None:
            return None
        facts = await facts_of(connection, patient_id=patient_id)
        sources = sorted({fact["shell_file_id"] for fact in facts})
        documents = await connection.fetch(
            "SELECT id, filename, mime, uploaded_at FROM exora.shell_files WHERE id = ANY($1::uuid[]) ORDER BY id",
            sources,
        )
        await note(connection, practice, actor=by, action="patient.exported", subject=str(patient_id))
    return bundle(patient, [dict(row) for row in documents], facts, now=now)
