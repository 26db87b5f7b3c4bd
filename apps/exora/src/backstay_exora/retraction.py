"""Retracting a document: everything derived from it goes in one transaction, and the log says who and why."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from backstay.errors import WrongState
from backstay_exora.app import app, settings
from backstay_exora.store.connections import as_json, connect
from backstay_exora.store.documents import get_document, lock_document
from backstay_exora.store.facts import remove_facts
from backstay_exora.store.patients import note


class RetractionRefused(ValueError):
    """The document cannot be retracted; the message says why."""


async def retract(practice: str, document_id: UUID, *, by: str, reason: str) -> dict[str, Any]:
    """Withdraw facts, narrative, index and open questions of a document; returns how many of each."""
    if not reason.strip():
        raise RetractionRefused("retracting a document needs a reason")
    async with connect(settings.database_url) as connection, connection.transaction():
        await lock_document(connection, document_id)
        document = await get_document(connection, document_id, practice=practice)
        if document is None:
            raise RetractionRefused("there is no such document in this practice")
        if document.status == "retracted":
            raise RetractionRefused("the document is retracted already")
        withdrawn: dict[str, Any] = await remove_facts(connection, document_id)
        for table in ("clinical_narratives", "document_embeddings", "pass1_entity_metrics"):
            done = await connection.execute(
                f"DELETE FROM exora.{table} WHERE shell_file_id = $1", document_id
            )
            withdrawn[table] = int(done.split()[-1])
        done = await connection.execute(
            "UPDATE exora.manual_review_queue SET status = 'withdrawn' WHERE shell_file_id = $1 AND status = 'open'",
            document_id,
        )
        withdrawn["open_reviews"] = int(done.split()[-1])
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
    return withdrawn


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
