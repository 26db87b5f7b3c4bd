"""Uploading a document: checked, kept, stored together with its first job."""

import hashlib
from dataclasses import dataclass
from uuid import UUID, uuid4

from backstay_exora.app import settings
from backstay_exora.domain import messages
from backstay_exora.domain.failures import failure
from backstay_exora.domain.kinds import document_priority, file_lane
from backstay_exora.files import MOST_BYTES, count_pages, mime_of, storage_of
from backstay_exora.handlers.shell_file_processing import shell_file_processing
from backstay_exora.store.connections import connect
from backstay_exora.store.documents import Document, find_duplicate, insert_document
from backstay_exora.store.patients import get_patient, note, plan_of


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A document that is stored; `is_new` is False where the same bytes were there before."""

    id: UUID
    is_new: bool
    patient_id: UUID
    """Whom the document is stored for; of one that was there before, perhaps somebody else."""


async def upload(
    practice: str, patient_id: UUID, filename: str, content: bytes, *, by: str, is_urgent: bool = False
) -> Uploaded:
    """Keep the file and store the document with its job in one transaction; raises BAD_FILE or BAD_REQUEST."""
    mime = mime_of(content)
    if mime is None:
        raise failure("BAD_FILE", "send a PDF, PNG, JPEG or TIFF file")
    if len(content) > MOST_BYTES:
        raise failure("BAD_FILE", f"the file has more than {MOST_BYTES // 1024 // 1024} MiB")
    pages = count_pages(content, mime)
    digest = hashlib.sha256(content).hexdigest()
    async with connect(settings.database_url) as connection:
        if await get_patient(connection, practice, patient_id) is None:
            raise failure("BAD_REQUEST", "there is no such patient in this practice")
        if (known := await find_duplicate(connection, practice, digest)) is not None:
            return Uploaded(known.id, is_new=False, patient_id=known.patient_id)
        plan = await plan_of(connection, practice) or "standard"
    document_id, session = uuid4(), uuid4()
    path = f"{practice}/{document_id}/original"
    await storage_of(settings).put(path, content, content_type=mime)
    lane = file_lane(pages=pages, size_bytes=len(content), is_picture=mime.startswith("image/"))
    document = Document(
        document_id,
        practice,
        patient_id,
        filename[:200],
        path,
        mime,
        len(content),
        digest,
        "uploaded",
        None,
        None,
        None,
        session,
        by,
        None,
        is_urgent,
    )
    async with connect(settings.database_url) as connection, connection.transaction():
        if not await insert_document(connection, document):
            known = await find_duplicate(connection, practice, digest)
            assert known is not None, "it was there a moment ago"
            await storage_of(settings).delete(path)
            return Uploaded(known.id, is_new=False, patient_id=known.patient_id)
        await note(connection, practice, actor=by, action="document.uploaded", subject=str(document_id))
        await shell_file_processing.options(
            tx=connection,
            queue=lane,
            tenant=practice,
            priority=document_priority(plan=plan, is_urgent=is_urgent),
            name=messages.file_job_name(document.filename),
            correlation_id=str(session),
        ).enqueue(
            shell_file_id=document_id,
            patient_id=patient_id,
            processing_session_id=session,
            correlation_id=str(session),
            job_lane=lane,
        )
    return Uploaded(document_id, is_new=True, patient_id=patient_id)
