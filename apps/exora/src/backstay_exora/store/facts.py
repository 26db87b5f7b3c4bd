"""Clinical facts of patients, each with the place it was read from."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, assert_never
from uuid import UUID

from backstay_exora.domain.clinical import ReviewItem, SetAside, StoredFact
from backstay_exora.store.connections import Connection, as_json

TABLES = ("patient_medications", "patient_conditions", "patient_allergies")


async def replace_facts(
    connection: Connection, *, document_id: UUID, patient_id: UUID, session: UUID, facts: Iterable[StoredFact]
) -> int:
    """Put the facts of a document in place of those that were there; returns how many there are."""
    await remove_facts(connection, document_id)
    count = 0
    for fact in facts:
        await add_fact(connection, document_id=document_id, patient_id=patient_id, session=session, fact=fact)
        count += 1
    return count


async def add_fact(
    connection: Connection, *, document_id: UUID, patient_id: UUID, session: UUID, fact: StoredFact
) -> None:
    """Store one fact; the same fact of the same document is stored once."""
    head = "patient_id, shell_file_id, processing_session_id, name, page, boxes, quote, confidence"
    values = "$1, $2, $3, $4, $5, $6::text::jsonb, $7, $8"
    match fact.kind:
        case "medication":
            sql = (
                f"INSERT INTO exora.patient_medications ({head}, dose, route, frequency)"
                f" VALUES ({values}, $9, $10, $11)"
            )
            own: tuple[str, ...] = (fact.dose, fact.route, fact.frequency)
        case "condition":
            sql, own = f"INSERT INTO exora.patient_conditions ({head}) VALUES ({values})", ()
        case "allergy":
            sql = f"INSERT INTO exora.patient_allergies ({head}, reaction) VALUES ({values}, $9)"
            own = (fact.reaction,)
        case _:
            assert_never(fact.kind)
    await connection.execute(
        f"{sql} ON CONFLICT DO NOTHING",
        patient_id,
        document_id,
        session,
        fact.name,
        fact.page,
        as_json(list(fact.boxes)),
        fact.quote,
        fact.confidence,
        *own,
    )


async def remove_facts(connection: Connection, document_id: UUID) -> dict[str, int]:
    """Take away every fact of a document; returns how many of each table."""
    removed = {}
    for table in TABLES:
        status = await connection.execute(f"DELETE FROM exora.{table} WHERE shell_file_id = $1", document_id)
        removed[table] = int(status.split()[-1])
    await connection.execute("DELETE FROM exora.set_aside WHERE shell_file_id = $1", document_id)
    return removed


async def save_set_aside(connection: Connection, document_id: UUID, items: Iterable[SetAside]) -> None:
    """Note what was proposed and not stored, and why."""
    await connection.executemany(
        "INSERT INTO exora.set_aside (shell_file_id, kind, name, reason) VALUES ($1, $2, $3, $4)",
        [(document_id, item.fact.kind, item.fact.name, item.reason) for item in items],
    )


async def save_unsure(
    connection: Connection, *, practice: str, document_id: UUID, patient_id: UUID, items: Iterable[ReviewItem]
) -> None:
    """Open a review item for each unsure reading, in place of those of an earlier run."""
    await connection.execute(
        "DELETE FROM exora.manual_review_queue"
        " WHERE shell_file_id = $1 AND kind = 'unsure_reading' AND status = 'open'",
        document_id,
    )
    for item in items:
        await connection.execute(
            "INSERT INTO exora.manual_review_queue"
            " (practice_id, shell_file_id, patient_id, kind, subject, reasons, boxes, proposal)"
            " VALUES ($1, $2, $3, 'unsure_reading', $4, $5::text::jsonb, $6::text::jsonb, $7::text::jsonb)"
            " ON CONFLICT DO NOTHING",
            practice,
            document_id,
            patient_id,
            f"{item.fact.kind}: {item.fact.quote}",
            as_json([item.reason]),
            as_json(list(item.boxes)),
            as_json(asdict(item.fact)),
        )


async def facts_of(
    connection: Connection, *, patient_id: UUID | None = None, document_id: UUID | None = None
) -> list[dict[str, Any]]:
    """Facts of a patient or of a document, with their source."""
    rows = await connection.fetch(
        "SELECT f.*, s.filename FROM ("
        " SELECT id, patient_id, shell_file_id, 'medication' AS kind, name, dose, route, frequency, '' AS reaction,"
        " page, boxes, quote, confidence, created_at FROM exora.patient_medications"
        " UNION ALL SELECT id, patient_id, shell_file_id, 'condition', name, '', '', '', '', page, boxes, quote,"
        " confidence, created_at FROM exora.patient_conditions"
        " UNION ALL SELECT id, patient_id, shell_file_id, 'allergy', name, '', '', '', reaction, page, boxes, quote,"
        " confidence, created_at FROM exora.patient_allergies"
        ") AS f JOIN exora.shell_files AS s ON s.id = f.shell_file_id"
        " WHERE ($1::uuid IS NULL OR f.patient_id = $1) AND ($2::uuid IS NULL OR f.shell_file_id = $2)"
        " ORDER BY f.kind, f.name, f.created_at",
        patient_id,
        document_id,
    )
    return [dict(row) for row in rows]
