"""Documents, what was read out of them, and what people have to look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from backstay_oblicore.domain.due_rules import rule_to_json
from backstay_oblicore.domain.permits.conditions import Condition, Sentence
from backstay_oblicore.domain.words import ReviewType
from backstay_oblicore.store.database import Connection, to_json


@dataclass(frozen=True)
class ReviewItem:
    """Something about a document that a person has to look at; `key` keeps a retry from asking twice."""

    review_type: ReviewType
    key: str
    data: dict[str, Any]
    is_blocking: bool = False
    fingerprint: str | None = None  # of the obligation it is about


async def to_process(connection: Connection, document: UUID) -> Any:
    """Return a document that is not deleted, with its module; none if there is none."""
    return await connection.fetchrow(
        """
        SELECT paper.id, paper.company_id, paper.site_id, paper.title, paper.document_type, paper.extraction_status,
               paper.is_native_pdf, paper.ocr_confidence, paper.page_count, paper.file_size_bytes, paper.uploaded_by,
               paper.storage_path, paper.issue_date, paper.parent_document_id, module.module_code
        FROM oblicore.documents AS paper
        JOIN oblicore.modules AS module ON module.id = paper.module_id
        WHERE paper.id = $1 AND paper.deleted_at IS NULL
        """,
        document,
    )


async def set_status(
    connection: Connection, document: UUID, status: str, *, error: str | None = None
) -> None:
    """Say how far reading has come."""
    await connection.execute(
        "UPDATE oblicore.documents SET extraction_status = $2, error_message = $3, updated_at = now() WHERE id = $1",
        document,
        status,
        error,
    )


async def save_text(
    connection: Connection,
    document: UUID,
    text: str,
    *,
    pages: int,
    is_native: bool,
    confidence: float | None,
) -> None:
    """Keep the text that was read, and how sure the reading is."""
    await connection.execute(
        "UPDATE oblicore.documents SET extracted_text = $2, page_count = $3, is_native_pdf = $4, ocr_confidence = $5,"
        " updated_at = now() WHERE id = $1",
        document,
        text.replace("\x00", ""),
        pages,
        is_native,
        confidence,
    )


async def replace_obligations(
    connection: Connection,
    paper: Any,
    conditions: Sequence[Condition],
    *,
    created_by: UUID | None,
    kept: Set[str] = frozenset(),
) -> dict[str, UUID]:
    """Write the conditions of a document; those in `kept` and those that people have decided about stay as they are.

    Returns the obligation of each fingerprint. A second reading of the same document changes nothing twice.
    """
    rows = await connection.fetch(
        "SELECT id, fingerprint FROM oblicore.obligations WHERE document_id = $1 AND deleted_at IS NULL"
        " AND import_source IS NULL",
        paper["id"],
    )
    known: dict[str, UUID] = {row["fingerprint"]: row["id"] for row in rows if row["fingerprint"]}
    wanted = {condition.fingerprint for condition in conditions} | kept
    await connection.execute(
        "UPDATE oblicore.obligations SET deleted_at = now(), updated_at = now() WHERE document_id = $1"
        " AND review_status = 'PENDING' AND import_source IS NULL AND deleted_at IS NULL"
        " AND NOT (fingerprint = ANY($2))",
        paper["id"],
        list(wanted),
    )
    for condition in conditions:
        if condition.fingerprint not in known:
            known[condition.fingerprint] = await add_obligation(connection, paper, condition, created_by)
    return known


async def add_obligation(connection: Connection, paper: Any, one: Condition, created_by: UUID | None) -> UUID:
    """Write one condition as an obligation."""
    found: UUID = await connection.fetchval(
        """
        INSERT INTO oblicore.obligations (
            document_id, company_id, site_id, original_text, summary, obligation_title, category, condition_type,
            condition_reference, page_number, fingerprint, frequency, due_rule, due_words, confidence_score, source,
            subjective_phrases, review_status, created_by
        )
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, ($13::text)::jsonb, $14, $15, $16, $17, $18, $19)
        RETURNING id
        """,
        paper["id"],
        paper["company_id"],
        paper["site_id"],
        one.text,
        one.summary,
        f"{one.reference} {one.heading}".strip()[:200],
        one.category.value,
        one.condition_type.value,
        one.reference,
        one.page,
        one.fingerprint,
        one.frequency.value,
        to_json(rule_to_json(one.due_rule)),
        one.due_words,
        one.confidence,
        one.source,
        list(one.subjective_phrases),
        "CONFIRMED" if one.confidence >= 0.85 else "PENDING",
        created_by,
    )
    return found


async def replace_sentences(connection: Connection, paper: Any, sentences: Sequence[Sentence]) -> None:
    """Write how every binding sentence is accounted for; what people decided is carried over by its words."""
    decided = await connection.fetch(
        "SELECT text, filed, filed_by, reason, decided_by, decided_at FROM oblicore.document_sentences"
        " WHERE document_id = $1 AND decided_by IS NOT NULL",
        paper["id"],
    )
    by_text = {row["text"]: row for row in decided}
    await connection.execute("DELETE FROM oblicore.document_sentences WHERE document_id = $1", paper["id"])
    rows = []
    for position, one in enumerate(sentences):
        old = by_text.get(one.text)
        filed, by = (old["filed"], old["filed_by"]) if old else (one.filed, one.by)
        person = (old["reason"], old["decided_by"], old["decided_at"]) if old else (None, None, None)
        place = (
            paper["id"],
            paper["company_id"],
            paper["site_id"],
            position,
            one.page,
            one.reference,
            one.text,
        )
        rows.append((*place, filed, by, *person))
    await connection.executemany(
        "INSERT INTO oblicore.document_sentences (document_id, company_id, site_id, position, page_number, reference,"
        " text, filed, filed_by, reason, decided_by, decided_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        rows,
    )


async def open_texts(connection: Connection, document: UUID) -> set[str]:
    """Return the sentences that nobody has accounted for, people's decisions about an earlier reading included."""
    rows = await connection.fetch(
        "SELECT text FROM oblicore.document_sentences WHERE document_id = $1 AND filed = 'open'", document
    )
    return {row["text"] for row in rows}


async def withdraw_reviews(connection: Connection, paper: Any, asked: Set[str]) -> None:
    """Take back what nobody has answered and a new reading no longer asks."""
    await connection.execute(
        "DELETE FROM oblicore.review_queue_items WHERE document_id = $1 AND review_status = 'PENDING'"
        " AND NOT (dedupe_key = ANY($2))",
        paper["id"],
        [key[:300] for key in asked],
    )


async def add_reviews(
    connection: Connection, paper: Any, items: Iterable[ReviewItem], obligations: dict[str, UUID]
) -> int:
    """Ask people about what is unsure, each question once; return how many are new.

    A sentence that is open is asked about again, whatever was once said about it: nothing stays open unseen.
    """
    added = 0
    for item in items:
        done = await connection.execute(
            """
            INSERT INTO oblicore.review_queue_items (
                document_id, obligation_id, company_id, site_id, review_type, is_blocking, original_data, dedupe_key
            )
            VALUES ($1, $2, $3, $4, $5, $6, ($7::text)::jsonb, $8)
            ON CONFLICT (document_id, dedupe_key) DO UPDATE
            SET review_status = 'PENDING', decision = NULL, decided_by = NULL, decided_at = NULL
            WHERE review_queue_items.review_status <> 'PENDING' AND excluded.review_type = 'OPEN_SENTENCE'
            """,
            paper["id"],
            obligations.get(item.fingerprint or ""),
            paper["company_id"],
            paper["site_id"],
            item.review_type.value,
            item.is_blocking,
            to_json(item.data),
            item.key[:300],
        )
        added += done.endswith(" 1")
    return added


async def write_log(connection: Connection, paper: Any, **values: Any) -> None:
    """Write the line of the extraction log."""
    await connection.execute(
        """
        INSERT INTO oblicore.extraction_logs (
            document_id, company_id, site_id, model_identifier, rule_library_version, segments_processed,
            obligations_extracted, flagged_for_review, processing_time_ms, ocr_required, ocr_confidence, warnings,
            metadata
        )
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ($12::text)::jsonb, ($13::text)::jsonb)
        """,
        paper["id"],
        paper["company_id"],
        paper["site_id"],
        values["model"],
        values["library"],
        values["segments"],
        values["obligations"],
        values["flagged"],
        values["milliseconds"],
        values["ocr_required"],
        values["ocr_confidence"],
        to_json(values["warnings"]),
        to_json(values["metadata"]),
    )


async def finish(connection: Connection, document: UUID, *, found_any: bool, now: datetime) -> None:
    """Say that reading is done; complete only if nothing is open and no question that blocks is unanswered."""
    await connection.execute(
        f"""
        UPDATE oblicore.documents
        SET extraction_status = CASE
                WHEN NOT $2 THEN 'ZERO_OBLIGATIONS'
                WHEN {IS_SETTLED} THEN 'COMPLETED'
                ELSE 'REVIEW_REQUIRED'
            END,
            extraction_completed_at = $3, error_message = NULL, updated_at = now()
        WHERE id = $1
        """,
        document,
        found_any,
        now,
    )


async def complete_if_settled(connection: Connection, document: UUID) -> None:
    """Say that a document is complete once its last open sentence and its last blocking question are answered."""
    await connection.execute(
        f"""
        UPDATE oblicore.documents
        SET extraction_status = 'COMPLETED', extraction_completed_at = now(), updated_at = now()
        WHERE id = $1 AND extraction_status = 'REVIEW_REQUIRED' AND {IS_SETTLED}
        """,
        document,
    )


# People's answers count, not what the newest reading would ask by itself: they are stored before this is looked at.
IS_SETTLED = """
    NOT EXISTS (SELECT FROM oblicore.document_sentences WHERE document_id = $1 AND filed = 'open')
    AND NOT EXISTS (
        SELECT FROM oblicore.review_queue_items
        WHERE document_id = $1 AND is_blocking AND review_status = 'PENDING'
    )
"""


async def add_parameters(connection: Connection, paper: Any, limits: Iterable[Any]) -> None:
    """Let limits that were read become parameters to sample against, each once."""
    for limit in limits:
        if limit.parameter is None or limit.limit is None:
            continue
        await connection.execute(
            """
            INSERT INTO oblicore.parameters (
                document_id, company_id, site_id, parameter_type, sampling_frequency, limit_kind, limit_value,
                range_minimum, unit
            )
            SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9
            WHERE NOT EXISTS (
                SELECT FROM oblicore.parameters WHERE document_id = $1 AND parameter_type = $4
            )
            """,
            paper["id"],
            paper["company_id"],
            paper["site_id"],
            limit.parameter,
            limit.frequency,
            "RANGE" if limit.minimum is not None else "MAXIMUM",
            limit.limit,
            limit.minimum,
            limit.unit,
        )
