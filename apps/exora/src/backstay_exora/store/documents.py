"""Documents, their pages and their words."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from backstay_exora.domain.text import DocumentText, PageWord
from backstay_exora.store.connections import Connection, as_json


@dataclass(frozen=True, slots=True)
class Document:
    """A file as it was uploaded, for the patient that the uploader named."""

    id: UUID
    practice_id: str
    patient_id: UUID
    filename: str
    storage_path: str
    mime: str
    size_bytes: int
    sha256: str
    status: str
    problem: str | None
    page_count: int | None
    estimated_tokens: int | None
    processing_session_id: UUID
    uploaded_by: str
    uploaded_at: Any
    is_urgent: bool


_COLUMNS = (
    "id, practice_id, patient_id, filename, storage_path, mime, size_bytes, sha256, status, problem, page_count, "
    "estimated_tokens, processing_session_id, uploaded_by, uploaded_at, is_urgent"
)


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page: where its upright picture is, and what was read on it."""

    page: int
    image_path: str
    width: int
    height: int
    turn: int
    confidence: float
    words: list[list[Any]]
    """text, left, top, right, bottom, confidence, line"""


async def insert_document(connection: Connection, document: Document) -> bool:
    """Store a new document; False if somebody has just stored the same bytes."""
    done = await connection.execute(
        "INSERT INTO exora.shell_files (id, practice_id, patient_id, filename, storage_path, mime, size_bytes, sha256,"
        " processing_session_id, uploaded_by, is_urgent) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
        " ON CONFLICT (practice_id, sha256) WHERE status <> 'retracted' DO NOTHING",
        document.id,
        document.practice_id,
        document.patient_id,
        document.filename,
        document.storage_path,
        document.mime,
        document.size_bytes,
        document.sha256,
        document.processing_session_id,
        document.uploaded_by,
        document.is_urgent,
    )
    return done == "INSERT 0 1"


async def get_document(
    connection: Connection, document_id: UUID, *, practice: str | None = None
) -> Document | None:
    """The document; None for an unknown one and for one of another practice."""
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM exora.shell_files WHERE id = $1 AND ($2::text IS NULL OR practice_id = $2)",
        document_id,
        practice,
    )
    return Document(**dict(row)) if row else None


async def find_duplicate(connection: Connection, practice: str, sha256: str) -> Document | None:
    """The document with the same bytes in this practice."""
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM exora.shell_files WHERE practice_id = $1 AND sha256 = $2 AND status <> 'retracted'",
        practice,
        sha256,
    )
    return Document(**dict(row)) if row else None


async def list_documents(
    connection: Connection,
    practice: str,
    *,
    patient: UUID | None = None,
    status: str | None = None,
    most: int = 50,
) -> list[Document]:
    """The newest documents."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM exora.shell_files WHERE practice_id = $1 AND ($2::uuid IS NULL OR patient_id = $2)"
        " AND ($3::text IS NULL OR status = $3) ORDER BY uploaded_at DESC, id LIMIT $4",
        practice,
        patient,
        status,
        most,
    )
    return [Document(**dict(row)) for row in rows]


async def save_pages(
    connection: Connection, document_id: UUID, pages: list[PageRow], *, estimated_tokens: int
) -> None:
    """Replace what was read of a document."""
    await connection.execute("DELETE FROM exora.document_pages WHERE shell_file_id = $1", document_id)
    await connection.execute("DELETE FROM exora.ocr_words WHERE shell_file_id = $1", document_id)
    for page in pages:
        await connection.execute(
            "INSERT INTO exora.document_pages (shell_file_id, page, image_path, width, height, turn, confidence)"
            " VALUES ($1, $2, $3, $4, $5, $6, $7)",
            document_id,
            page.page,
            page.image_path,
            page.width,
            page.height,
            page.turn,
            page.confidence,
        )
        await connection.execute(
            "INSERT INTO exora.ocr_words (shell_file_id, page, words) VALUES ($1, $2, $3::text::jsonb)",
            document_id,
            page.page,
            as_json(page.words),
        )
    await connection.execute(
        "UPDATE exora.shell_files SET status = 'read', problem = NULL, page_count = $2, estimated_tokens = $3"
        " WHERE id = $1",
        document_id,
        len(pages),
        estimated_tokens,
    )


async def set_status(
    connection: Connection, document_id: UUID, status: str, *, problem: str | None = None
) -> None:
    """Say where a document stands."""
    await connection.execute(
        "UPDATE exora.shell_files SET status = $2, problem = $3 WHERE id = $1 AND status <> 'retracted'",
        document_id,
        status,
        problem,
    )


async def pages_of(connection: Connection, document_id: UUID) -> list[dict[str, Any]]:
    """The pages with their pictures."""
    rows = await connection.fetch(
        "SELECT page, image_path, width, height, turn, confidence FROM exora.document_pages"
        " WHERE shell_file_id = $1 ORDER BY page",
        document_id,
    )
    return [dict(row) for row in rows]


async def text_of(connection: Connection, document_id: UUID) -> DocumentText:
    """All words of a document; the connection must read JSON as values."""
    rows = await connection.fetch(
        "SELECT page, words FROM exora.ocr_words WHERE shell_file_id = $1 ORDER BY page", document_id
    )
    return DocumentText(
        tuple(
            PageWord(row["page"], text, (left, top, right, bottom), confidence, line)
            for row in rows
            for text, left, top, right, bottom, confidence, line in row["words"]
        )
    )


async def lock_document(connection: Connection, document_id: UUID) -> str | None:
    """The document's status; until this transaction ends, nobody else stores, undoes or retracts anything of it.

    Whoever changes what is derived from a document does this first: otherwise what another one stores at the same
    moment is overlooked.
    """
    status: str | None = await connection.fetchval(
        "SELECT status FROM exora.shell_files WHERE id = $1 FOR UPDATE", document_id
    )
    return status


async def why_stop(connection: Connection, document_id: UUID, session: UUID) -> str | None:
    """Why a job about a document must not store anything; None if it may. Locks the document."""
    if await lock_document(connection, document_id) == "retracted":
        return "the document was retracted"
    is_closed = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM exora.closed_sessions WHERE processing_session_id = $1)", session
    )
    return "the decision that it ran for was undone" if is_closed else None


async def begin_session(connection: Connection, document_id: UUID, session: UUID) -> None:
    """Take a document up anew: what still runs for the session before stores nothing more."""
    await connection.execute(
        "INSERT INTO exora.closed_sessions (processing_session_id, shell_file_id)"
        " SELECT processing_session_id, id FROM exora.shell_files WHERE id = $1",
        document_id,
    )
    await connection.execute(
        "UPDATE exora.shell_files SET processing_session_id = $2 WHERE id = $1", document_id, session
    )


async def move_document(connection: Connection, document_id: UUID, patient_id: UUID) -> None:
    """File a document with a patient; whom the uploader named stays in the gate's audit."""
    await connection.execute(
        "UPDATE exora.shell_files SET patient_id = $2 WHERE id = $1", document_id, patient_id
    )


async def tell_failures(connection: Connection) -> int:
    """Mark documents as failed whose job is dead and could not say so itself; returns how many."""
    done = await connection.execute(
        "UPDATE exora.shell_files AS s SET status = 'failed', problem = dead.problem FROM ("
        " SELECT DISTINCT ON (q.shell_file_id) q.shell_file_id,"
        " COALESCE(q.error_details ->> 'code', 'the job failed') AS problem"
        " FROM exora.shell_files AS f JOIN exora.job_queue AS q ON q.shell_file_id = f.id"
        " WHERE f.status IN ('uploaded', 'read', 'classified', 'extracted') AND q.dead_letter_at IS NOT NULL"
        " AND q.job_type IN ('shell_file_processing', 'ai_processing')"
        " AND NOT EXISTS (SELECT FROM exora.job_queue AS other WHERE other.shell_file_id = f.id"
        " AND other.status IN ('pending', 'processing', 'retrying', 'deferred'))"
        " ORDER BY q.shell_file_id, q.dead_letter_at DESC"
        ") AS dead WHERE s.id = dead.shell_file_id"
    )
    return int(done.split()[-1])


# Jobs of a practice's documents, and those that are about no document at all.
_OF_PRACTICE = (
    "FROM exora.job_queue AS q LEFT JOIN exora.shell_files AS s ON s.id = q.shell_file_id"
    " LEFT JOIN exora.user_profiles AS p ON p.id = q.patient_id"
    " WHERE COALESCE(s.practice_id, p.practice_id, $1) = $1"
)


async def jobs_of(
    connection: Connection, practice: str, *, patient: UUID | None = None
) -> list[dict[str, Any]]:
    """The newest jobs that a practice may see, all or those about a patient, without what they say."""
    rows = await connection.fetch(
        "SELECT q.id, q.job_type, q.job_lane, q.status, q.priority, q.retry_count, q.created_at, q.worker_id,"
        f" q.error_details ->> 'code' AS code {_OF_PRACTICE}"
        # What runs every minute and went well would push everything else off the page.
        " AND (q.job_type, q.status) <> ('system_maintenance', 'completed')"
        " AND ($2::uuid IS NULL OR q.patient_id = $2)"
        " ORDER BY q.created_at DESC LIMIT 100",
        practice,
        patient,
    )
    return [dict(row) for row in rows]


async def dead_letters_of(connection: Connection, practice: str) -> list[dict[str, Any]]:
    """The dead letters that a practice may see, newest first."""
    rows = await connection.fetch(
        "SELECT q.id, q.job_type, q.dead_letter_at, q.retry_count, q.error_details ->> 'code' AS code,"
        f" q.error_details ->> 'dead_letter_reason' AS reason {_OF_PRACTICE} AND q.dead_letter_at IS NOT NULL"
        " ORDER BY q.dead_letter_at DESC LIMIT 100",
        practice,
    )
    return [dict(row) for row in rows]


async def may_see_job(connection: Connection, practice: str, job_id: UUID) -> bool:
    """False for a job about another practice's document or patient, and for one that is not there."""
    return bool(
        await connection.fetchval(f"SELECT EXISTS (SELECT {_OF_PRACTICE} AND q.id = $2)", practice, job_id)
    )
