"""DOCUMENT_PROCESSING: from an uploaded file to obligations, questions and proof; and every way it can fail."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID

import pytest
from oblicore_browsing import logged_in

from backstay import State
from backstay_oblicore.demo.permit_maker import as_scan, make_consent, make_permit
from backstay_oblicore.domain.errors import DocumentMissing
from backstay_oblicore.print.pages import lay_out, paragraph

ISSUED = date(2026, 1, 5)


async def upload(world: Any, content: bytes | None, **values: Any) -> UUID:
    document: UUID = await world.document(issue_date=ISSUED, **values)
    if content is not None:
        path = f"documents/{world.company}/{world.site}/{document}/original.pdf"
        await world.services.storage.put(path, content, content_type="application/pdf")
    return document


async def process(world: Any, document: UUID, **args: Any) -> Any:
    return await world.run("DOCUMENT_PROCESSING", document_id=document, requested_by=world.staff, **args)


async def attempt(world: Any, document: UUID) -> Any:
    """Enqueue, run with all retries, and return the stored job."""
    job = await world.services.handlers["DOCUMENT_PROCESSING"].enqueue(document_id=document)
    await world.backstay.drain(with_scheduled=True)
    return await job.get()


def clauses(*sentences: str) -> bytes:
    return lay_out("Permit", [paragraph(f"1.1.{n} {text}") for n, text in enumerate(sentences, start=1)])


async def test_a_permit_becomes_obligations_questions_and_a_log_line(world: Any, model_server: Any) -> None:
    """OBL-026 OBL-028 OBL-029 OBL-030 OBL-031 OBL-034"""
    made = make_permit(1003, issued=ISSUED)
    document = await upload(world, made.content)

    result = await process(world, document)

    rows = await world.rows("SELECT * FROM oblicore.obligations WHERE document_id = $1", document)
    assert result["obligations_extracted"] == len(rows) == len(made.conditions)
    assert {row["condition_reference"] for row in rows} == {one.reference for one in made.conditions}
    assert all(
        row["review_status"] == ("CONFIRMED" if row["confidence_score"] >= 0.85 else "PENDING")
        for row in rows
    )
    assert all(row["created_by"] == world.staff and row["status"] == "PENDING" for row in rows)
    [log] = await world.rows("SELECT * FROM oblicore.extraction_logs")
    assert log["obligations_extracted"] == len(rows)
    assert log["segments_processed"] >= len(rows)
    assert log["rule_library_version"]
    assert log["metadata"]["hit_rate"] >= 0.6
    assert log["metadata"]["open_sentences"] == 0
    [paper] = await world.rows("SELECT * FROM oblicore.documents")
    assert (paper["extraction_status"], paper["is_native_pdf"]) == ("COMPLETED", True)
    assert paper["extraction_completed_at"] is not None
    stored = await world.services.storage.get(
        f"documents/{world.company}/{world.site}/{document}/extracted_text.txt"
    )
    assert made.conditions[0].text.split()[0] in stored.decode()
    [note] = await world.rows("SELECT * FROM oblicore.notifications")
    assert note["title"] == "Document Processed Successfully"
    assert f"{len(rows)} obligations extracted." in note["message"]
    assert (note["user_id"], note["channel"], note["action_url"]) == (
        world.staff,
        "IN_APP",
        f"/documents/{document}",
    )
    calls = len(model_server.calls())
    assert (await process(world, document))["skipped"] is True
    assert len(model_server.calls()) == calls


async def test_reading_again_doubles_nothing_and_keeps_what_people_decided(world: Any) -> None:
    """OBL-032"""
    document = await upload(world, make_consent(1002, issued=ISSUED).content)
    await process(world, document)
    first = await world.rows("SELECT id FROM oblicore.obligations WHERE deleted_at IS NULL ORDER BY id")
    await world.execute(
        "UPDATE oblicore.obligations SET review_status = 'REJECTED', rejection_reason = 'x' WHERE id = $1",
        first[0]["id"],
    )

    await process(world, document, force_reprocess=True)
    await process(world, document, force_reprocess=True, extraction_mode="INCREMENTAL")

    assert (
        await world.rows("SELECT id FROM oblicore.obligations WHERE deleted_at IS NULL ORDER BY id") == first
    )
    status = await world.value("SELECT review_status FROM oblicore.obligations WHERE id = $1", first[0]["id"])
    assert status == "REJECTED"


async def test_open_sentences_keep_a_document_from_being_complete(world: Any) -> None:
    document = await upload(
        world,
        clauses("The operator shall keep a log.", "Further guidance explains that fees will be published."),
    )

    await process(world, document)

    assert await world.value("SELECT extraction_status FROM oblicore.documents") == "REVIEW_REQUIRED"
    rows = await world.rows("SELECT filed, filed_by FROM oblicore.document_sentences ORDER BY position")
    assert [row["filed"] for row in rows] == ["obligation", "open"]
    [item] = await world.rows("SELECT * FROM oblicore.review_queue_items")
    assert (item["review_type"], item["is_blocking"]) == ("OPEN_SENTENCE", True)


async def test_a_missing_anchor_is_asked_for(world: Any) -> None:
    document = await upload(
        world, clauses("The operator shall submit a report within 6 months of commissioning.")
    )

    await process(world, document)

    [item] = await world.rows("SELECT * FROM oblicore.review_queue_items")
    assert (item["review_type"], item["original_data"]["missing"]) == ("DATE_FAILURE", "commissioning")


async def test_low_confidence_is_looked_at_by_a_person(world: Any) -> None:
    """OBL-030"""
    document = await upload(
        world,
        clauses(
            "The operator shall keep a log.", "Yard surfaces should drain to the interceptor at the gate."
        ),
    )

    await process(world, document)

    [item] = await world.rows("SELECT * FROM oblicore.review_queue_items")
    assert (item["review_type"], item["priority"], item["review_status"]) == ("LOW_CONFIDENCE", 1, "PENDING")
    assert item["obligation_id"] is not None
    assert item["is_blocking"] is True


async def test_a_scan_is_recognised_and_a_retry_goes_on_where_it_was(
    world: Any, model_server: Any, address: str
) -> None:
    """OBL-027"""
    sentences = ("The operator shall keep a log.", "Surfaces are to be drained to the interceptor.")
    document = await upload(world, as_scan(clauses(*sentences), seed=5))
    model_server.fail([{"status": 500}])

    job = await attempt(world, document)

    assert (job.state, job.attempt) == (State.COMPLETED, 2)
    steps = {step.name: step.attempt for step in await world.services.app.jobs.steps(job.id)}
    assert steps == {"page 1": 1, "model chunk 1": 2}
    [paper] = await world.rows("SELECT * FROM oblicore.documents")
    assert paper["is_native_pdf"] is False
    assert paper["ocr_confidence"] > 0.8
    rows = await world.rows("SELECT original_text FROM oblicore.obligations")
    assert {row["original_text"] for row in rows} == set(sentences)
    path = f"documents/{world.company}/{world.site}/{document}/original.pdf"
    await world.execute("UPDATE oblicore.documents SET storage_path = $1", path)
    async with logged_in(world, address, world.staff) as browser:
        page = await browser.get(f"/documents/{document}")
    assert page.text.count('class="box ') == len(sentences)


async def test_a_missing_file_ends_at_once(world: Any) -> None:
    """OBL-033"""
    document = await upload(world, None)

    job = await attempt(world, document)

    assert (job.state, job.attempt) == (State.DEAD, 1)
    [paper] = await world.rows("SELECT * FROM oblicore.documents")
    assert (paper["extraction_status"], paper["error_message"]) == ("FAILED", "File not found")
    [note] = await world.rows("SELECT * FROM oblicore.notifications")
    assert note["title"] == "Document Processing Failed"
    assert note["message"] == 'Processing failed for "Permit". File not found'
    assert note["action_url"] == f"/review-queue?document_id={document}"
    assert note["metadata"] == {
        "error_type": "FILE_NOT_FOUND",
        "error_message": "File not found",
        "can_retry": False,
    }


async def test_a_model_that_fails_is_asked_three_times(world: Any, model_server: Any) -> None:
    """OBL-033"""
    document = await upload(world, clauses("Surfaces are to be drained to the interceptor."))
    model_server.fail([{"status": 500, "times": 3}])

    job = await attempt(world, document)

    assert (job.state, job.attempt) == (State.DEAD, 3)
    assert await world.value("SELECT extraction_status FROM oblicore.documents") == "EXTRACTION_FAILED"
    assert await world.value("SELECT count(*) FROM oblicore.review_queue_items") == 1
    assert await world.value("SELECT count(*) FROM oblicore.notifications") == 1


async def test_a_busy_model_is_waited_for(world: Any, model_server: Any) -> None:
    """OBL-033"""
    document = await upload(world, clauses("Surfaces are to be drained to the interceptor."))
    model_server.fail([{"status": 429, "retry_after": "0"}])

    job = await attempt(world, document)

    assert (job.state, job.attempt) == (State.COMPLETED, 1)


async def test_an_answer_that_is_no_answer_is_asked_for_again(world: Any, model_server: Any) -> None:
    """OBL-033"""
    document = await upload(world, clauses("Surfaces are to be drained to the interceptor."))
    model_server.fail([{"garble": True, "times": 2}])

    job = await attempt(world, document)

    assert (job.state, job.attempt) == (State.COMPLETED, 2)
    assert await world.value("SELECT extraction_status FROM oblicore.documents") == "COMPLETED"


async def test_a_document_without_duties_is_flagged(world: Any) -> None:
    """OBL-033"""
    document = await upload(world, lay_out("Letter", [paragraph("The site lies to the north of the town.")]))

    job = await attempt(world, document)

    assert job.state is State.COMPLETED
    assert await world.value("SELECT extraction_status FROM oblicore.documents") == "ZERO_OBLIGATIONS"
    [item] = await world.rows("SELECT * FROM oblicore.review_queue_items")
    assert item["review_type"] == "NO_MATCH"


async def test_a_document_of_another_company_cannot_be_processed(world: Any, other_company: Any) -> None:
    """OBL-085"""
    document = await upload(world, make_consent(1002, issued=ISSUED).content)

    with pytest.raises(DocumentMissing):
        await world.run("DOCUMENT_PROCESSING", document_id=document, requested_by=other_company.owner)

    assert await world.value("SELECT count(*) FROM oblicore.obligations") == 0


async def test_garbage_is_refused_with_advice(world: Any) -> None:
    document = await upload(world, b"%PDF-1.7 nonsense")

    job = await attempt(world, document)

    assert (job.state, job.attempt) == (State.DEAD, 1)
    assert "readable PDF" in await world.value("SELECT error_message FROM oblicore.documents")
