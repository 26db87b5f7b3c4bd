"""The job type shell_file_processing: a file becomes pages with words, then Pass 1 follows."""

import asyncio
from typing import Any
from uuid import UUID

from backstay import Cancel, Context
from backstay_exora.app import app, settings
from backstay_exora.domain.failures import ExoraError, FinalFailure, failure
from backstay_exora.domain.kinds import Category, FileLane, Lane, ai_lane, document_priority
from backstay_exora.files import MOST_PAGES, count_pages, fetch, image_key, keep, read_page
from backstay_exora.handlers.ai_processing import PROMOTED, enqueue_pass
from backstay_exora.handlers.outcome import PassCall
from backstay_exora.store.connections import Connection, connect
from backstay_exora.store.documents import Document, PageRow, get_document, save_pages, set_status, why_stop
from backstay_exora.store.patients import plan_of
from backstay_parts.model import estimate_tokens
from backstay_parts.ocr import OcrFailed


@app.job(
    queue=Lane.STANDARD,
    runs_in=settings.passes_run_in,
    timeout="10m",
    promote=PROMOTED,
)
async def shell_file_processing(
    ctx: Context,
    shell_file_id: UUID,
    patient_id: UUID,
    processing_session_id: UUID,
    correlation_id: str = "",
    job_lane: FileLane = "standard_queue",
    job_category: Category = Category.STANDARD,
    estimated_tokens: int = 1000,
) -> dict[str, Any] | None:
    """Read every page, each a step, so that a retry goes on at the next page."""
    try:
        document, content, pages = await _open(shell_file_id)
        rows = [
            await ctx.step(f"page-{number}", _read, document, content, number)
            for number in range(1, pages + 1)
        ]
    except ExoraError as error:
        if not isinstance(error, FinalFailure) and ctx.attempt < ctx.max_attempts:
            raise
        async with ctx.transaction() as tx:
            await set_status(tx.connection, shell_file_id, "failed", problem=f"{error.code}: {error}")
            tx.fail(error)
        return None
    text = "\n".join(str(word[0]) for row in rows for word in row.words)
    tokens = estimate_tokens(text)
    call = PassCall(
        1,
        shell_file_id,
        patient_id,
        processing_session_id,
        correlation_id or str(processing_session_id),
        ai_lane(tokens),
    )
    async with ctx.transaction() as tx:
        if reason := await why_stop(tx.connection, shell_file_id, processing_session_id):
            raise Cancel(reason)
        await save_pages(tx.connection, shell_file_id, rows, estimated_tokens=tokens)
        plan = await plan_of(tx.connection, document.practice_id)
        priority = document_priority(plan=plan or "standard", is_urgent=document.is_urgent)
        await enqueue_pass(
            None, call, priority=priority, filename=document.filename, practice=document.practice_id
        )
        tx.result({"pages": pages, "words": sum(len(row.words) for row in rows), "estimated_tokens": tokens})
    return None


async def _open(document_id: UUID) -> tuple[Document, bytes, int]:
    async with connect(settings.database_url) as connection:
        document = await get_document(connection, document_id)
        assert document is not None, "the promoted column refers to it"
        await _unstage(connection, document)
    content = await fetch(settings, document.storage_path)
    pages = await asyncio.to_thread(count_pages, content, document.mime)
    if pages > MOST_PAGES:
        raise failure("BAD_FILE", f"the document has {pages} pages; at most {MOST_PAGES} are read")
    return document, content, pages


async def _read(document: Document, content: bytes, number: int) -> PageRow:
    try:
        row, picture = await asyncio.to_thread(read_page, content, document.mime, number)
    except OcrFailed as error:
        raise failure("OCR_FAILED", f"page {number} could not be read") from error
    key = image_key(document.practice_id, document.id, number)
    await keep(settings, key, picture, content_type="image/png")
    return PageRow(row.page, key, row.width, row.height, row.turn, row.confidence, row.words)


async def _unstage(connection: Connection, document: Document) -> None:
    """Move a file that came with the job into the storage, once."""
    content = await connection.fetchval(
        "SELECT content FROM exora.staged_files WHERE shell_file_id = $1", document.id
    )
    if content is not None:
        await keep(settings, document.storage_path, content, content_type=document.mime)
        await connection.execute("DELETE FROM exora.staged_files WHERE shell_file_id = $1", document.id)
