"""A person decides about a held document: approve, move to another patient, reject; undo within the day."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from backstay.errors import WrongState
from backstay_exora.app import app, settings
from backstay_exora.domain.clinical import StoredFact
from backstay_exora.domain.kinds import DEFAULT_PRIORITY, Lane
from backstay_exora.handlers.ai_processing import enqueue_pass
from backstay_exora.handlers.outcome import PassCall
from backstay_exora.store.connections import Connection, connect
from backstay_exora.store.documents import (
    Document,
    begin_session,
    get_document,
    lock_document,
    move_document,
    set_status,
)
from backstay_exora.store.facts import add_fact, remove_facts
from backstay_exora.store.patients import get_patient, note

UNDO_WITHIN = timedelta(hours=24)
DECISIONS = ("approve", "move", "reject")


class ReviewRefused(ValueError):
    """A decision that cannot be taken; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Correction:
    """What a person reads where the machine was unsure."""

    name: str
    dose: str = ""


async def open_reviews(practice: str) -> list[dict[str, Any]]:
    """What waits for a person in this practice, oldest first."""
    async with connect(settings.database_url) as connection:
        rows = await connection.fetch(
            "SELECT r.id, r.kind, r.subject, r.reasons, r.boxes, r.proposal, r.created_at, r.shell_file_id,"
            " r.patient_id, s.filename, p.given_names, p.family_name FROM exora.manual_review_queue AS r"
            " JOIN exora.shell_files AS s ON s.id = r.shell_file_id"
            " JOIN exora.user_profiles AS p ON p.id = r.patient_id"
            " WHERE r.practice_id = $1 AND r.status = 'open' ORDER BY r.created_at, r.id",
            practice,
        )
    return [dict(row) for row in rows]


async def decide(
    practice: str,
    review_id: UUID,
    decision: str,
    *,
    by: str,
    reason: str,
    patient_id: UUID | None = None,
    correction: Correction | None = None,
) -> UUID:
    """Record a decision and let the held pass go on; returns the document's id.

    An unsure reading that is approved is stored as a fact, with the `correction` where there is one.
    """
    document_id = await record_decision(
        practice, review_id, decision, by=by, reason=reason, patient_id=patient_id, correction=correction
    )
    await send_decisions(only=review_id)
    return document_id


async def record_decision(
    practice: str,
    review_id: UUID,
    decision: str,
    *,
    by: str,
    reason: str,
    patient_id: UUID | None = None,
    correction: Correction | None = None,
) -> UUID:
    """Store the decision with who, when and why; it counts from here on, and is sent until its pass has it."""
    if decision not in DECISIONS:
        raise ReviewRefused(f"{decision!r} is no decision; use approve, move or reject")
    if not reason.strip():
        raise ReviewRefused("a decision needs a reason")
    if (decision == "move") != (patient_id is not None):
        raise ReviewRefused("move needs the other patient, and only move takes one")
    async with connect(settings.database_url) as connection, connection.transaction():
        review = await _locked(connection, practice, review_id)
        _refuse_misfit(review, decision, correction)
        if patient_id is not None and await get_patient(connection, practice, patient_id) is None:
            raise ReviewRefused("there is no such patient in this practice")
        chosen = patient_id or review["patient_id"]
        await _record(connection, review, decision, by=by, reason=reason, patient_id=chosen)
        if review["kind"] == "unsure_reading" and decision == "approve":
            await _store_confirmed(connection, review, correction)
        await note(
            connection,
            practice,
            actor=by,
            action=f"review.{decision}",
            subject=str(review["shell_file_id"]),
            reason=reason,
            details={"review": str(review_id), "patient": str(chosen)},
        )
    document_id: UUID = review["shell_file_id"]
    return document_id


def _refuse_misfit(review: dict[str, Any], decision: str, correction: Correction | None) -> None:
    match review["status"]:
        case "decided":
            raise ReviewRefused(f"this review was decided by {review['decided_by']}")
        case "withdrawn":
            raise ReviewRefused("the document was retracted; there is nothing left to decide")
    if decision == "move" and review["kind"] != "identity":
        raise ReviewRefused("a reading cannot be moved; undo or retract the document instead")
    if correction is not None and (review["kind"] != "unsure_reading" or not correction.name.strip()):
        raise ReviewRefused("only an unsure reading can be corrected, and it needs a name")


async def _store_confirmed(
    connection: Connection, review: dict[str, Any], correction: Correction | None
) -> None:
    """Store what a person has read with their own eyes."""
    proposal, boxes = review["proposal"], review["boxes"]
    if proposal is None:
        raise ReviewRefused("this question is from an older release; run the document's Pass 2 again")
    document = await get_document(connection, review["shell_file_id"])
    assert document is not None, "the review refers to it"
    fact = StoredFact(
        kind=proposal["kind"],
        name=correction.name.strip() if correction else proposal["name"],
        dose=correction.dose.strip() if correction else proposal["dose"],
        route=proposal["route"],
        frequency=proposal["frequency"],
        reaction=proposal["reaction"],
        page=boxes[0]["page"] if boxes else 1,
        boxes=tuple(boxes),
        confidence=1.0,
        quote=proposal["quote"],
    )
    await add_fact(
        connection,
        document_id=document.id,
        patient_id=review["patient_id"],
        session=document.processing_session_id,
        fact=fact,
    )


async def send_decisions(*, only: UUID | None = None) -> int:
    """Send every decision to the pass that waits for it; sending twice does nothing, so it may be repeated."""
    async with connect(settings.database_url) as connection:
        rows = await connection.fetch(
            "SELECT r.id, r.job_id, r.decision, r.decided_patient_id, r.decided_by FROM exora.manual_review_queue AS r"
            " JOIN exora.job_queue AS j ON j.id = r.job_id"
            " WHERE r.status = 'decided' AND j.status = 'deferred' AND ($1::uuid IS NULL OR r.id = $1)",
            only,
        )
    for row in rows:
        payload = {"decision": row["decision"], "patient_id": str(row["decided_patient_id"])}
        await app.signals.send(row["job_id"], "review", payload, key=str(row["id"]), by=row["decided_by"])
    return len(rows)


async def undo(practice: str, review_id: UUID, *, by: str, reason: str) -> None:
    """Take a decision of the last day back: what it let in goes, and the document waits for a person again."""
    if not reason.strip():
        raise ReviewRefused("undoing a decision needs a reason")
    async with connect(settings.database_url) as connection, connection.transaction():
        review = await _locked(connection, practice, review_id)
        await _refuse_undo(connection, review)
        await lock_document(connection, review["shell_file_id"])
        document = await get_document(connection, review["shell_file_id"])
        assert document is not None, "the review refers to it"
        if document.status == "retracted":
            raise ReviewRefused("the document was retracted; there is nothing left to undo")
        removed = await _withdraw_what_it_let_in(connection, document.id)
        job = await _wait_again(connection, document, review["patient_id"])
        await _reopen(connection, review, job)
        await note(
            connection,
            practice,
            actor=by,
            action="review.undone",
            subject=str(document.id),
            reason=reason,
            details={"withdrawn": removed},
        )
    await _stop_passes(document.id, document.processing_session_id, by)


async def _refuse_undo(connection: Connection, review: dict[str, Any]) -> None:
    is_recent = await connection.fetchval(
        "SELECT $1 > now() - $2::interval", review["decided_at"], UNDO_WITHIN
    )
    if review["status"] != "decided" or review["kind"] != "identity" or not is_recent:
        raise ReviewRefused("only a decision of the last 24 hours about a patient can be undone")


async def _withdraw_what_it_let_in(connection: Connection, document_id: UUID) -> dict[str, int]:
    removed = await remove_facts(connection, document_id)
    for table in ("clinical_narratives", "document_embeddings"):
        await connection.execute(f"DELETE FROM exora.{table} WHERE shell_file_id = $1", document_id)
    await connection.execute(
        "UPDATE exora.manual_review_queue SET status = 'withdrawn'"
        " WHERE shell_file_id = $1 AND kind = 'unsure_reading' AND status = 'open'",
        document_id,
    )
    return removed


async def _wait_again(connection: Connection, document: Document, patient_id: UUID) -> UUID:
    """Begin a new session whose Pass 2 waits for a decision; returns the id of its job."""
    session = uuid4()
    await begin_session(connection, document.id, session)
    await move_document(connection, document.id, patient_id)
    call = PassCall(
        pass_number=2,
        document_id=document.id,
        patient_id=patient_id,
        session=session,
        correlation_id=str(session),
        lane=Lane.AI_SIMPLE,
        needs_review=True,
    )
    return await enqueue_pass(
        connection,
        call,
        priority=DEFAULT_PRIORITY,
        filename=document.filename,
        practice=document.practice_id,
    )


async def _reopen(connection: Connection, review: dict[str, Any], job: UUID) -> None:
    """Ask the question again, and forget its answer where the gate keeps it."""
    await connection.execute(
        "UPDATE exora.manual_review_queue SET status = 'open', decision = NULL, decided_patient_id = NULL,"
        " decided_by = NULL, decided_at = NULL, decision_reason = NULL, job_id = $2 WHERE id = $1",
        review["id"],
        job,
    )
    await connection.execute(
        "UPDATE exora.profile_classification_audit SET decision = NULL, reviewer = NULL, decision_reason = NULL,"
        " decided_at = NULL WHERE shell_file_id = $1",
        review["shell_file_id"],
    )
    await set_status(connection, review["shell_file_id"], "needs_review")


async def _stop_passes(document_id: UUID, session: UUID, by: str) -> None:
    """Cancel what still waits for a decision that is gone; a pass that runs now finds its session closed."""
    async with connect(settings.database_url) as connection:
        rows = await connection.fetch(
            "SELECT id FROM exora.job_queue WHERE shell_file_id = $1"
            " AND job_payload ->> 'processing_session_id' = $2::uuid::text"
            " AND status IN ('pending', 'processing', 'retrying', 'deferred')",
            document_id,
            session,
        )
    for row in rows:
        with suppress(WrongState):  # it has ended meanwhile
            await app.jobs.cancel(row["id"], reason="the decision was undone", by=by)


async def _locked(connection: Connection, practice: str, review_id: UUID) -> dict[str, Any]:
    row = await connection.fetchrow(
        "SELECT id, shell_file_id, patient_id, kind, status, decided_by, decided_at, job_id, proposal, boxes"
        " FROM exora.manual_review_queue WHERE id = $1 AND practice_id = $2 FOR UPDATE",
        review_id,
        practice,
    )
    if row is None:
        raise ReviewRefused("there is no such review in this practice")
    return dict(row)


async def _record(
    connection: Connection, review: dict[str, Any], decision: str, *, by: str, reason: str, patient_id: UUID
) -> None:
    await connection.execute(
        "UPDATE exora.manual_review_queue SET status = 'decided', decision = $2, decided_patient_id = $3,"
        " decided_by = $4, decided_at = now(), decision_reason = $5 WHERE id = $1",
        review["id"],
        decision,
        patient_id,
        by,
        reason,
    )
    if review["kind"] == "identity":
        await move_document(connection, review["shell_file_id"], patient_id)
        await connection.execute(
            "UPDATE exora.profile_classification_audit SET decision = $2, reviewer = $3, decision_reason = $4,"
            " decided_at = now() WHERE shell_file_id = $1",
            review["shell_file_id"],
            decision,
            by,
            reason,
        )
