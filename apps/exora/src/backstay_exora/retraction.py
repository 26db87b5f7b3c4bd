"""Retracting a document: everything derived from it goes in one transaction, and the log says who and why."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from backstay.errors import WrongState
from backstay_exora.app import app, settings
from backstay_exora.files import storage_of
from backstay_exora.store.connections import Connection, as_json, connect
from backstay_exora.store.documents import get_document, lock_document
from backstay_exora.store.facts import remove_facts
from backstay_exora.store.patients import note
from backstay_parts.storage import StorageError

_DERIVED = ("clinical_narratives", "document_embeddings", "pass1_entity_metrics", "ocr_words")


class RetractionRefused(ValueError):
    """The document cannot be retracted; the message says why."""


async def retract(practice: str, document_id: UUID, *, by: str, reason: str) -> dict[str, Any]:
    """Withdraw everything that was read of a document; returns how many of each. The file itself stays."""
    if not reason.strip():
        raise RetractionRefused("retracting a document needs a reason")
    async with connect(settings.database_url) as connection, connection.transaction():
        await lock_document(connection, document_id)
        document = await get_document(connection, document_id, practice=practice)
        if document is None:
            raise RetractionRefused("there is no such document in this practice")
        if document.status == "retracted":
            raise RetractionRefused("the document is retracted already")
        withdrawn = await _withdraw(connection, document_id)
        await connection.execute(
            "UPDATE exora.shell_files SET status = 'retracted' WHERE id = $1", document_id
        )
        await connection.execute(
            "INSERT INTO exora.retractions (practice_id, shell_file_id, retracted_by, reason, withdrawn)"
            " VALUES ($1, $2, $3, $4, $5::text::jsonb)",
            practice,
            document_id,
            by,
            reason,
            as_json(withdrawn),
        )
        await note(
            connection,
            practice,
            actor=by,
            action="document.retracted",
            subject=str(document_id),
            reason=reason,
            details={"withdrawn": withdrawn},
        )
    await _stop_jobs(document_id, by)
    with suppress(StorageError):  # the document is retracted; the nightly task deletes what is left
        await remove_pictures_of_retracted(only=document_id)
    return withdrawn


async def _withdraw(connection: Connection, document_id: UUID) -> dict[str, Any]:
    """Take away what was read of a document, and what people decided by: only that they decided stays."""
    withdrawn: dict[str, Any] = await remove_facts(connection, document_id)
    for table in _DERIVED:
        withdrawn[table] = _count(
            await connection.execute(f"DELETE FROM exora.{table} WHERE shell_file_id = $1", document_id)
        )
    withdrawn["open_reviews"] = _count(
        await connection.execute(
            "UPDATE exora.manual_review_queue SET status = 'withdrawn' WHERE shell_file_id = $1 AND status = 'open'",
            document_id,
        )
    )
    await connection.execute(
        "UPDATE exora.manual_review_queue SET subject = '', reasons = '[]', boxes = '[]', proposal = NULL"
        " WHERE shell_file_id = $1",
        document_id,
    )
    await connection.execute(
        "UPDATE exora.profile_classification_audit SET identity_markers = '[]' WHERE shell_file_id = $1",
        document_id,
    )
    return withdrawn


def _count(done: str) -> int:
    return int(done.split()[-1])


async def remove_pictures_of_retracted(*, only: UUID | None = None) -> int:
    """Delete the pictures of retracted documents' pages, and the rows that know where they are; repeat at will.

    The rows go last: who died in between is made up for by the next who comes.
    """
    removed = 0
    async with connect(settings.database_url) as connection:
        rows = await connection.fetch(
            "SELECT p.shell_file_id, p.page, p.image_path FROM exora.document_pages AS p"
            " JOIN exora.shell_files AS s ON s.id = p.shell_file_id"
            " WHERE s.status = 'retracted' AND ($1::uuid IS NULL OR s.id = $1)",
            only,
        )
        for row in rows:
            await storage_of(settings).delete(row["image_path"])
            await connection.execute(
                "DELETE FROM exora.document_pages WHERE shell_file_id = $1 AND page = $2",
                row["shell_file_id"],
                row["page"],
            )
            removed += 1
    return removed


async def _stop_jobs(document_id: UUID, by: str) -> None:
    """Cancel what still waits for the document; a pass that runs now finds it retracted and writes nothing."""
    async with connect(settings.database_url) as connection:
        rows = await connection.fetch(
            "SELECT id FROM exora.job_queue WHERE shell_file_id = $1"
            " AND status IN ('pending', 'processing', 'retrying', 'deferred')",
            document_id,
        )
    for row in rows:
        with suppress(WrongState):  # it has ended meanwhile
            await app.jobs.cancel(row["id"], reason="the document was retracted", by=by)
