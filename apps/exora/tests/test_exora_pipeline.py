"""From upload to facts, with a person in between where anything differs; real database, model server and worker."""

import io
from base64 import b64encode
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID, uuid4

import pytest
from PIL import Image

from backstay_exora.demo.letters import draw_letter
from backstay_exora.demo.people import draw_person
from backstay_exora.demo.scans import scanned
from backstay_exora.domain.failures import ExoraError
from backstay_parts.model.server import Ask
from backstay_parts.pdf import open_pdf
from backstay_parts.scans import Damage
from conftest import Practice, Stage
from exora_reader.tasks import read

FACT_TABLES = ("patient_medications", "patient_conditions", "patient_allergies")


async def test_a_clean_letter_goes_through_by_itself(practice: Practice) -> None:
    """EXO-008, EXO-009, EXO-021, EXO-027, EXO-028, EXO-029, EXO-030, EXO-034"""
    document, letter = await practice.send_clean()

    assert await practice.status(document) == "done"
    stored = {(fact["name"].lower(), fact["dose"]) for fact in await practice.facts(document) if fact["dose"]}
    assert stored == {(name.lower(), dose) for name, dose in letter.truth.medications}
    jobs = await practice.rows(
        "SELECT * FROM exora.job_queue WHERE shell_file_id = $1 ORDER BY created_at", document
    )
    assert [job["job_name"] for job in jobs] == [
        f"Process {letter.filename}",
        f"Pass 1: {letter.filename}",
        f"Pass 2: {letter.filename}",
        f"Pass 3: {letter.filename}",
    ]
    assert {job["patient_id"] for job in jobs} == {practice.patients[0]}
    assert len({job["job_group"] for job in jobs}) == 1
    ids = [job["id"] for job in jobs]
    assert [job["depends_on"] for job in jobs] == [None, [ids[0]], [ids[1]], [ids[2]]]
    assert [job["blocks_jobs"] for job in jobs] == [[ids[1]], [ids[2]], [ids[3]], None]
    assert jobs[3]["narrative_id"] == await practice.value(
        "SELECT id FROM exora.clinical_narratives WHERE shell_file_id = $1", document
    )
    assert all(job["error_details"] is None and job["output_files"] is None for job in jobs)
    calls = await practice.rows("SELECT * FROM exora.ai_calls WHERE shell_file_id = $1", document)
    assert len(calls) == 3
    assert all(call["cost_dollars"] > 0 and call["prompt_tokens"] > 0 for call in calls)
    audit = await practice.rows(
        "SELECT * FROM exora.profile_classification_audit WHERE shell_file_id = $1", document
    )
    assert [row["manual_review_required"] for row in audit] == [False]
    metrics = await practice.value(
        "SELECT medication_count FROM exora.pass1_entity_metrics WHERE shell_file_id = $1", document
    )
    assert metrics >= len(letter.truth.medications)


async def test_every_request_and_job_carries_its_correlation_id(practice: Practice) -> None:
    """EXO-033"""
    document, _ = await practice.send_clean(seed=2)
    await practice.status(document)

    session = str(
        await practice.value("SELECT processing_session_id FROM exora.shell_files WHERE id = $1", document)
    )
    sent = [
        call for call in practice.stage.model.calls() if call["headers"].get("x-correlation-id") == session
    ]
    assert [call["schema"] for call in sent] == ["entities", "clinical_facts", "narrative"]
    assert {call["headers"]["x-processing-session-id"] for call in sent} == {session}


async def test_the_session_is_told_to_the_provider_and_the_log_beside_the_correlation_id(
    practice: Practice, stage: Stage
) -> None:
    """EXO-033: a program may give a correlation id of its own."""
    document, _ = await practice.send_clean(seed=16)
    await practice.status(document)
    session, correlation = uuid4(), f"from-{practice.name}"
    payload = {
        "shell_file_id": str(document),
        "patient_id": str(practice.patients[0]),
        "processing_session_id": str(session),
        "correlation_id": correlation,
        "pass_number": 1,
    }

    job = await practice.value("SELECT job_id FROM exora.enqueue_job_v3('ai_processing', 'n', $1)", payload)
    await practice.wait_for("SELECT 1 FROM exora.job_queue WHERE id = $1 AND status = 'completed'", job)

    calls = [call["headers"] for call in practice.stage.model.calls()]
    sent = next(headers for headers in calls if headers.get("x-correlation-id") == correlation)
    assert sent["x-processing-session-id"] == str(session)
    lines = [line for line in stage.log.read_text(errors="replace").splitlines() if str(session) in line]
    assert any(correlation in line and "model.answered" in line for line in lines)


async def test_what_the_model_says_of_a_risk_is_read_in_the_review_only(practice: Practice) -> None:
    """EXO-028, EXO-033: it may name the patient."""
    document = await practice.send(0, draw_letter(practice.people[0], 17, plant="second person"))
    await practice.status(document)

    (asked,) = await practice.rows(
        "SELECT reasons FROM exora.manual_review_queue WHERE shell_file_id = $1", document
    )
    told = await practice.value(
        "SELECT job_result::text FROM exora.job_queue WHERE shell_file_id = $1"
        " AND (job_payload ->> 'pass_number')::int = 1",
        document,
    )

    assert "the model said: two dates of birth are on the document" in asked["reasons"]
    assert "the model saw a risk" in told
    assert "two dates" not in told


async def test_tokens_and_cost_are_those_that_the_provider_counted(practice: Practice) -> None:
    """EXO-034: of every call, one whose answer was of no use included."""
    from backstay_exora.overview import document_overview

    practice.stage.model.fail([{"garble": True}])
    document, _ = await practice.send_clean(seed=15)
    assert await practice.status(document) == "done"

    session = str(
        await practice.value("SELECT processing_session_id FROM exora.shell_files WHERE id = $1", document)
    )
    usages = [
        call["usage"]
        for call in practice.stage.model.calls()
        if call["headers"].get("x-correlation-id") == session
    ]
    calls = await practice.rows(
        "SELECT prompt_tokens, completion_tokens, reasoning_tokens, cost_dollars FROM exora.ai_calls"
        " WHERE shell_file_id = $1 ORDER BY called_at",
        document,
    )
    assert len(calls) == 4, "three passes and one repair"
    for call, usage in zip(calls, usages, strict=True):
        assert (call["prompt_tokens"], call["completion_tokens"]) == (
            usage["prompt_tokens"],
            usage["completion_tokens"],
        )
        assert call["reasoning_tokens"] == usage["completion_tokens_details"]["reasoning_tokens"]
        # 1.25 and 10 dollars a million tokens, as the settings have them where nothing is set.
        assert call["cost_dollars"] == (
            Decimal("1.25") * usage["prompt_tokens"] + 10 * usage["completion_tokens"]
        ) / Decimal(1_000_000)
    shown = await document_overview(practice.name, document)
    assert shown is not None
    assert shown["cost_dollars"] == pytest.approx(float(sum(call["cost_dollars"] for call in calls)))


async def test_a_scan_that_lay_sideways_is_turned_and_read(practice: Practice) -> None:
    """EXO-024, EXO-027"""
    letter = draw_letter(practice.people[1], 1003, kind="discharge")
    filename, content = scanned(letter, Damage(turn=90, noise=8), seed=4)

    document = await practice.send(1, letter, content=content, filename=filename)

    assert await practice.status(document) == "done"
    page = (await practice.rows("SELECT * FROM exora.document_pages WHERE shell_file_id = $1", document))[0]
    assert page["turn"] == 270
    assert page["width"] < page["height"]
    facts = await practice.facts(document)
    stored = {(fact["name"].lower(), fact["dose"]) for fact in facts if fact["kind"] == "medication"}
    assert stored == {(name.lower(), dose) for name, dose in letter.truth.medications}
    assert _overlaps_truth(letter.content, [fact for fact in facts if fact["kind"] == "medication"])
    # What a job used is noted right after its end.
    await practice.wait_for(
        "SELECT 1 WHERE NOT EXISTS (SELECT FROM exora.job_queue"
        " WHERE shell_file_id = $1 AND memory_usage_mb IS NULL)",
        document,
    )
    used = await practice.rows(
        "SELECT memory_usage_mb, cpu_usage_percent FROM exora.job_queue WHERE shell_file_id = $1"
        " ORDER BY created_at",
        document,
    )
    assert all(row["memory_usage_mb"] > 20 and row["cpu_usage_percent"] is not None for row in used)
    assert used[0]["cpu_usage_percent"] > 1, "reading a scan is work"


async def test_a_held_letter_has_no_facts_until_it_is_approved(practice: Practice) -> None:
    """EXO-029"""
    from backstay_exora.review import decide

    document = await practice.send(0, draw_letter(practice.people[0], 3, plant="other birth date"))
    assert await practice.status(document) == "needs_review"
    assert await practice.facts(document) == []
    waiting = await practice.value(
        "SELECT status FROM exora.job_queue WHERE shell_file_id = $1 AND job_name LIKE 'Pass 2%'", document
    )
    assert waiting == "deferred"

    await decide(
        practice.name, await practice.review_of(document), "approve", by="rita", reason="rang the sender"
    )

    assert await practice.status(document, ends=frozenset({"done"})) == "done"
    assert {fact["patient_id"] for fact in await practice.facts(document)} == {practice.patients[0]}
    decided = await practice.rows(
        "SELECT * FROM exora.manual_review_queue WHERE shell_file_id = $1", document
    )
    assert [(row["decision"], row["decided_by"], row["decision_reason"]) for row in decided] == [
        ("approve", "rita", "rang the sender")
    ]
    noted = await practice.rows("SELECT action, actor FROM exora.audit_log WHERE subject = $1", str(document))
    assert ("review.approve", "rita") in [(row["action"], row["actor"]) for row in noted]


async def test_a_letter_can_be_moved_to_the_right_patient(practice: Practice) -> None:
    """EXO-029"""
    from backstay_exora.overview import patient_overview
    from backstay_exora.review import decide, undo

    document = await practice.send(0, draw_letter(practice.people[1], 4))
    assert await practice.status(document) == "needs_review"

    await decide(
        practice.name,
        await practice.review_of(document),
        "move",
        by="rita",
        reason="the mother's",
        patient_id=practice.patients[1],
    )

    assert await practice.status(document, ends=frozenset({"done"})) == "done"
    assert {fact["patient_id"] for fact in await practice.facts(document)} == {practice.patients[1]}
    filed = [await patient_overview(practice.name, patient) for patient in practice.patients[:2]]
    assert [[document.id for document in each["documents"]] for each in filed if each] == [[], [document]]
    await undo(practice.name, await _decided_review(practice, document), by="rita", reason="no, the child's")
    stated = await practice.value("SELECT patient_id FROM exora.shell_files WHERE id = $1", document)
    assert stated == practice.patients[0]


async def _decided_review(practice: Practice, document: UUID) -> UUID:
    found = await practice.value(
        "SELECT id FROM exora.manual_review_queue WHERE shell_file_id = $1 AND status = 'decided'", document
    )
    assert isinstance(found, UUID)
    return found


async def test_a_decision_that_was_stored_and_not_sent_is_sent_by_the_schedule(practice: Practice) -> None:
    """EXO-029"""
    from backstay_exora.handlers.system_maintenance import system_maintenance
    from backstay_exora.jobs import app
    from backstay_exora.review import record_decision

    document = await practice.send(0, draw_letter(practice.people[0], 31, plant="other address"))
    assert await practice.status(document) == "needs_review"
    review = await practice.review_of(document)
    # Whoever decided died before the pass was told.
    await record_decision(practice.name, review, "approve", by="rita", reason="moved house")

    await system_maintenance.enqueue(task="send_decisions")

    assert await practice.status(document, ends=frozenset({"done"})) == "done"
    assert "exora-decisions" in {schedule.name for schedule in await app.schedules.all()}


async def test_a_rejected_letter_never_gets_facts(practice: Practice) -> None:
    """EXO-029"""
    from backstay_exora.review import decide

    document = await practice.send(0, draw_letter(practice.people[0], 5, plant="second person"))
    await practice.status(document)

    await decide(practice.name, await practice.review_of(document), "reject", by="rita", reason="two people")

    assert await practice.status(document, ends=frozenset({"rejected"})) == "rejected"
    assert await practice.facts(document) == []


async def test_a_decision_needs_a_reason_and_is_taken_once(practice: Practice) -> None:
    """EXO-029"""
    from backstay_exora.review import ReviewRefused, decide

    document = await practice.send(0, draw_letter(practice.people[0], 6, plant="too few"))
    await practice.status(document)
    review = await practice.review_of(document)

    with pytest.raises(ReviewRefused, match="needs a reason"):
        await decide(practice.name, review, "approve", by="rita", reason=" ")
    with pytest.raises(ReviewRefused, match="no such review"):
        await decide("another-practice", review, "approve", by="rita", reason="x")
    await decide(practice.name, review, "reject", by="rita", reason="x")
    with pytest.raises(ReviewRefused, match="decided by rita"):
        await decide(practice.name, review, "approve", by="ulf", reason="x")


async def test_a_decision_can_be_undone_within_the_day(practice: Practice) -> None:
    """EXO-029"""
    from backstay_exora.review import ReviewRefused, decide, undo

    document = await practice.send(0, draw_letter(practice.people[0], 7, plant="other address"))
    await practice.status(document)
    review = await practice.review_of(document)
    await decide(practice.name, review, "approve", by="rita", reason="moved house")
    await practice.status(document, ends=frozenset({"done"}))

    await undo(practice.name, review, by="rita", reason="wrong after all")

    assert await practice.facts(document) == []
    assert await practice.status(document) == "needs_review"
    await decide(practice.name, review, "reject", by="rita", reason="not hers")
    assert await practice.status(document, ends=frozenset({"rejected"})) == "rejected"
    await practice.rows(
        "UPDATE exora.manual_review_queue SET decided_at = now() - interval '25 hours' WHERE id = $1", review
    )
    with pytest.raises(ReviewRefused, match="24 hours"):
        await undo(practice.name, review, by="rita", reason="too late")


async def test_running_a_pass_again_replaces_its_rows(practice: Practice) -> None:
    """EXO-031"""
    from backstay_exora.handlers.ai_processing import enqueue_pass
    from backstay_exora.handlers.outcome import PassCall

    document, _ = await practice.send_clean(seed=8)
    await practice.status(document)
    before = [(fact["kind"], fact["name"], fact["dose"]) for fact in await practice.facts(document)]
    session = await practice.value(
        "SELECT processing_session_id FROM exora.shell_files WHERE id = $1", document
    )
    call = PassCall(2, document, practice.patients[0], session, str(session), "ai_queue_simple")
    await practice.rows(
        "UPDATE exora.patient_conditions SET name = 'of the run before'"
        " WHERE id = (SELECT id FROM exora.patient_conditions WHERE shell_file_id = $1 LIMIT 1)",
        document,
    )

    await enqueue_pass(None, call, priority=5, filename="again.pdf", practice=practice.name)

    await practice.wait_for(
        "SELECT 1 FROM exora.job_queue WHERE shell_file_id = $1 AND job_name = 'Pass 2: again.pdf'"
        " AND status = 'completed'",
        document,
    )
    assert [(fact["kind"], fact["name"], fact["dose"]) for fact in await practice.facts(document)] == before


async def test_the_same_file_twice_is_one_document(practice: Practice) -> None:
    """EXO-027"""
    from backstay_exora.documents import upload

    letter = draw_letter(practice.people[0], 9)
    first = await upload(practice.name, practice.patients[0], "a.pdf", letter.content, by="r")
    again = await upload(practice.name, practice.patients[0], "b.pdf", letter.content, by="r")

    assert (again.id, again.is_new) == (first.id, False)


@pytest.mark.parametrize("content", [b"hello", b"%PDF-1.4 nothing", b"\x89PNG broken"])
async def test_a_file_that_cannot_be_read_is_refused_and_nothing_is_stored(
    practice: Practice, content: bytes
) -> None:
    """EXO-036"""
    from backstay_exora.documents import upload

    with pytest.raises(ExoraError) as caught:
        await upload(practice.name, practice.patients[0], "x.pdf", content, by="r")

    assert caught.value.code == "BAD_FILE"
    assert (
        await practice.value("SELECT count(*) FROM exora.shell_files WHERE practice_id = $1", practice.name)
        == 0
    )


async def test_a_missing_file_fails_at_once_and_is_told(practice: Practice) -> None:
    """EXO-036"""
    from backstay_exora.files import storage_of
    from backstay_exora.handlers.shell_file_processing import shell_file_processing

    document, _ = await practice.send_clean(seed=10)
    await practice.status(document)
    path = await practice.value("SELECT storage_path FROM exora.shell_files WHERE id = $1", document)
    await storage_of(practice.stage.settings()).delete(path)
    session = await practice.value(
        "SELECT processing_session_id FROM exora.shell_files WHERE id = $1", document
    )

    job = await shell_file_processing.options(queue="fast_queue").enqueue(
        shell_file_id=document,
        patient_id=practice.patients[0],
        processing_session_id=session,
        job_lane="fast_queue",
    )

    row = await _failed(practice, job.id)
    assert row["error_details"]["code"] == "FILE_MISSING"
    assert row["retry_count"] == 0
    assert await practice.status(document) == "failed"


async def test_a_file_that_came_with_its_job_is_moved_to_the_storage_and_read(practice: Practice) -> None:
    """EXO-008, EXO-027"""
    from backstay_exora.files import storage_of

    letter, document, session = draw_letter(practice.people[0], 19), uuid4(), uuid4()
    await practice.rows(
        "INSERT INTO exora.shell_files (id, practice_id, patient_id, filename, storage_path, mime, size_bytes, sha256,"
        " processing_session_id, uploaded_by) VALUES ($1, $2, $3, 'a.pdf', $4, 'application/pdf', $5, $6, $7, 'sql')",
        document,
        practice.name,
        practice.patients[0],
        f"{practice.name}/{document}/original",
        len(letter.content),
        document.hex,
        session,
    )

    await practice.rows(
        "SELECT exora.enqueue_job_v3('shell_file_processing', 'n', $1)",
        {
            "shell_file_id": str(document),
            "patient_id": str(practice.patients[0]),
            "processing_session_id": str(session),
            "raw_file": b64encode(letter.content).decode(),
        },
    )

    assert await practice.status(document) == "done"
    kept = await storage_of(practice.stage.settings()).get(f"{practice.name}/{document}/original")
    assert kept == letter.content
    left = "SELECT count(*) FROM exora.staged_files WHERE shell_file_id = $1"
    assert await practice.value(left, document) == 0


async def test_a_picture_that_is_gone_fails_pass_1_with_its_code(practice: Practice) -> None:
    """EXO-036"""
    from backstay_exora.files import image_key, storage_of

    document, _ = await practice.send_clean(seed=20)
    await practice.status(document)
    await storage_of(practice.stage.settings()).delete(image_key(practice.name, document, 1))

    job = await practice.value(
        "SELECT job_id FROM exora.enqueue_job_v3('ai_processing', 'n', $1)",
        {
            "shell_file_id": str(document),
            "patient_id": str(practice.patients[0]),
            "processing_session_id": str(uuid4()),
            "pass_number": 1,
        },
    )

    row = await _failed(practice, job)
    assert (row["error_details"]["code"], row["retry_count"]) == ("FILE_MISSING", 0)


async def test_a_blank_page_is_read_from_its_picture_by_the_model_too(practice: Practice) -> None:
    """EXO-027, EXO-029: nobody can say whose it is, so a person is asked."""
    picture = io.BytesIO()
    Image.new("L", (600, 800), 255).save(picture, "PNG")

    document = await practice.send(
        0, draw_letter(practice.people[0], 21), content=picture.getvalue(), filename="blank.png"
    )

    assert await practice.status(document) == "needs_review"
    asked = await practice.value(
        "SELECT reasons FROM exora.manual_review_queue WHERE shell_file_id = $1", document
    )
    assert "no text could be read" in asked


def test_the_model_reads_the_picture_where_no_words_came_along() -> None:
    """EXO-027"""
    letter = draw_letter(draw_person(Random(5)), 22, kind="script")
    with open_pdf(letter.content) as pdf:
        drawn = io.BytesIO()
        pdf.render(1, dpi=200).save(drawn, "PNG")

    seen = read(Ask("", "=== PAGE 1 ===\n", (drawn.getvalue(),), "clinical_facts", None))

    assert {fact["name"].lower() for fact in seen["medications"]} >= {
        name.lower() for name, _ in letter.truth.medications
    }


async def test_a_retracted_document_takes_everything_along(practice: Practice) -> None:
    """EXO-030"""
    from backstay_exora.export import export_patient
    from backstay_exora.retraction import RetractionRefused, retract

    document, letter = await practice.send_clean(seed=11)
    await practice.status(document)

    withdrawn = await retract(practice.name, document, by="rita", reason="another clinic's")

    assert withdrawn["patient_medications"] == len(letter.truth.medications)
    for table in (*FACT_TABLES, "clinical_narratives"):
        assert (
            await practice.value(f"SELECT count(*) FROM exora.{table} WHERE shell_file_id = $1", document)
            == 0
        )
    for table in ("document_embeddings", "pass1_entity_metrics", "ocr_words", "document_pages"):
        left = f"SELECT count(*) FROM exora.{table} WHERE shell_file_id = $1"
        assert await practice.value(left, document) == 0, table
    now = await practice.value("SELECT now()")
    bundle = await export_patient(practice.name, practice.patients[0], by="rita", now=now)
    assert bundle is not None
    assert [entry["resource"]["resourceType"] for entry in bundle["entry"]] == ["Patient"]
    kept = (await practice.rows("SELECT * FROM exora.retractions WHERE shell_file_id = $1", document))[0]
    assert (kept["retracted_by"], kept["reason"]) == ("rita", "another clinic's")
    with pytest.raises(RetractionRefused, match="already"):
        await retract(practice.name, document, by="rita", reason="again")


async def test_a_retraction_leaves_of_a_decision_only_that_it_was_taken(practice: Practice) -> None:
    """EXO-030: the name and the birth date that were read go with the rest, and so do the pictures of the pages."""
    from backstay_exora.files import image_key, storage_of
    from backstay_exora.retraction import retract
    from backstay_exora.review import decide

    document = await practice.send(0, draw_letter(practice.people[0], 18, plant="other address"))
    await practice.status(document)
    await decide(practice.name, await practice.review_of(document), "approve", by="rita", reason="moved")
    await practice.status(document, ends=frozenset({"done"}))
    storage = storage_of(practice.stage.settings())
    picture = image_key(practice.name, document, 1)
    assert await storage.info(picture) is not None

    await retract(practice.name, document, by="rita", reason="another clinic's")

    gate = (
        await practice.rows(
            "SELECT identity_markers, decision, reviewer FROM exora.profile_classification_audit"
            " WHERE shell_file_id = $1",
            document,
        )
    )[0]
    asked = (
        await practice.rows(
            "SELECT decision, reasons, boxes, proposal FROM exora.manual_review_queue WHERE shell_file_id = $1",
            document,
        )
    )[0]
    assert (gate["decision"], gate["reviewer"], gate["identity_markers"]) == ("approve", "rita", [])
    assert (asked["decision"], asked["reasons"], asked["boxes"], asked["proposal"]) == (
        "approve",
        [],
        [],
        None,
    )
    assert await storage.info(picture) is None
    original = await practice.value("SELECT storage_path FROM exora.shell_files WHERE id = $1", document)
    assert await storage.info(original) is not None, "the file itself is kept, as the proof of what was sent"


async def test_patient_data_is_in_no_log_error_or_audit_line(practice: Practice, stage: Stage) -> None:
    """EXO-033: so far; the end of the run looks once more at everything that all tests did."""
    from canaries import leaks

    practice.stage.model.fail([{"refusal": "no"}, {"status": 500}, {"garble": True, "times": 2}])
    documents = [(await practice.send_clean(seed=seed))[0] for seed in (12, 13, 14)]
    for document in documents:
        await practice.status(document)
    failures = await practice.value("SELECT count(*) FROM backstay.attempts WHERE error IS NOT NULL")
    log = stage.log.read_text(errors="replace")

    assert failures > 0
    assert "ai_processing" in log, "the log is the worker's"
    assert await leaks(stage.url, {"the worker's log": log}) == []


def _overlaps_truth(content: bytes, facts: list[dict[str, Any]]) -> bool:
    """True if each fact's box covers the word that the letter's own text layer has there."""
    with open_pdf(io.BytesIO(content).getvalue()) as pdf:
        words = {word.text.lower(): word.box.scaled(200 / 72) for word in pdf.page(1).words}
    for fact in facts:
        truth, box = words[fact["name"].lower().split()[0]], fact["boxes"][0]
        inside = box["left"] - 12 <= truth.left and box["top"] - 12 <= truth.top <= box["bottom"]
        if not inside:
            return False
    return True


async def _failed(practice: Practice, job_id: object) -> Any:
    await practice.wait_for("SELECT 1 FROM exora.job_queue WHERE id = $1 AND status = 'failed'", job_id)
    return (await practice.rows("SELECT * FROM exora.job_queue WHERE id = $1", job_id))[0]
