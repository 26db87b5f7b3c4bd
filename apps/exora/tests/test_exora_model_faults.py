"""What a failing provider does to a pass: codes, number of calls, budget of each; never a partial row."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from uuid import UUID

import pytest

from backstay_exora.demo.letters import draw_letter
from conftest import Practice


async def _pass(practice: Practice, document: UUID, number: int = 1) -> Any:
    """The row of a pass as soon as it has ended."""
    sql = (
        "SELECT id FROM exora.job_queue WHERE shell_file_id = $1 AND (job_payload ->> 'pass_number')::int = $2"
        " AND status IN ('completed', 'failed') ORDER BY created_at DESC LIMIT 1"
    )
    job = await practice.wait_for(sql, document, number)
    return (await practice.rows("SELECT * FROM exora.job_queue WHERE id = $1", job))[0]


async def _calls(practice: Practice, document: UUID, number: int = 1) -> list[tuple[int, str]]:
    rows = await practice.rows(
        "SELECT budget, verdict FROM exora.ai_calls WHERE shell_file_id = $1 AND pass_number = $2 ORDER BY called_at",
        document,
        number,
    )
    return [(row["budget"], row["verdict"]) for row in rows]


async def _requests(practice: Practice, document: UUID, schema: str = "entities") -> list[int]:
    """The budgets of the requests that the provider itself has seen about a document."""
    session = await practice.value(
        "SELECT processing_session_id FROM exora.shell_files WHERE id = $1", document
    )
    calls = [call for call in practice.stage.model.calls() if call["schema"] == schema]
    return [call["budget"] for call in calls if call["headers"].get("x-correlation-id") == str(session)]


async def _assert_nothing_is_stored(practice: Practice, document: UUID) -> None:
    assert await practice.facts(document) == []
    for table in ("pass1_entity_metrics", "profile_classification_audit", "clinical_narratives"):
        found = f"SELECT count(*) FROM exora.{table} WHERE shell_file_id = $1"
        assert await practice.value(found, document) == 0


async def test_a_refusal_is_not_tried_again_and_becomes_a_review_item(practice: Practice) -> None:
    """EXO-009, EXO-032, EXO-036"""
    name = practice.people[0].family_name
    practice.stage.model.fail([{"refusal": f"I cannot tell of {name}."}])

    document, _ = await practice.send_clean(seed=101)

    assert await practice.status(document) == "failed"
    job = await _pass(practice, document)
    assert (job["status"], job["retry_count"], job["job_result"]) == ("failed", 0, None)
    assert job["dead_letter_at"] is not None
    details = job["error_details"]
    assert details["code"] == "AI_REFUSED"
    assert (details["has_refusal"], details["refusal_text"]) == (
        True,
        "kept with the question to a person",
    )
    assert (details["finish_reason"], details["choices_length"]) == ("stop", 1)
    assert details["model"] == "exora-reader-by-rule"
    assert await _calls(practice, document) == [(2000, "refused")]
    assert await _requests(practice, document) == [2000]
    await _assert_nothing_is_stored(practice, document)
    kinds = await practice.rows(
        "SELECT kind, reasons FROM exora.manual_review_queue WHERE shell_file_id = $1", document
    )
    assert [row["kind"] for row in kinds] == ["refused"]
    assert f"the model said: I cannot tell of {name}." in kinds[0]["reasons"]
    assert name not in str(job["error_details"]), "a refusal may name the patient"


async def test_a_content_filter_is_a_refusal(practice: Practice) -> None:
    """EXO-032"""
    practice.stage.model.fail([{"filter": True}])

    document, _ = await practice.send_clean(seed=102)

    assert await practice.status(document) == "failed"
    job = await _pass(practice, document)
    assert (job["error_details"]["code"], job["retry_count"]) == ("AI_REFUSED", 0)
    assert job["error_details"]["finish_reason"] == "content_filter"
    assert await _requests(practice, document) == [2000]
    await _assert_nothing_is_stored(practice, document)


@pytest.mark.parametrize(
    ("fault", "code", "requests"),
    [
        ({"empty": True, "times": 4}, "AI_EMPTY", 4),
        ({"garble": True, "times": 8}, "AI_BAD_JSON", 8),
        ({"status": 400}, "BAD_REQUEST", 1),
    ],
)
async def test_a_provider_that_never_answers_well_ends_in_the_dead_letters(
    practice: Practice, fault: dict[str, object], code: str, requests: int
) -> None:
    """EXO-032, EXO-036: a repair is asked for once an attempt; what the provider does not take is not sent again."""
    practice.stage.model.fail([fault])

    document, _ = await practice.send_clean(seed=111)

    assert await practice.status(document) == "failed"
    job = await _pass(practice, document)
    assert (job["error_details"]["code"], job["retry_count"]) == (code, 3 if requests > 1 else 0)
    assert job["dead_letter_at"] is not None
    assert await _requests(practice, document) == [2000] * requests
    await _assert_nothing_is_stored(practice, document)


@pytest.mark.parametrize(
    ("faults", "calls"),
    [
        ([{"empty": True}], [(2000, "empty"), (2000, "answered")]),
        ([{"garble": True}], [(2000, "bad JSON"), (2000, "answered")]),
        ([{"garble": True, "times": 2}], [(2000, "bad JSON"), (2000, "bad JSON"), (2000, "answered")]),
    ],
)
async def test_a_worthless_answer_is_asked_again(
    practice: Practice, faults: list[dict[str, object]], calls: list[tuple[int, str]]
) -> None:
    """EXO-023, EXO-032, EXO-034, EXO-036"""
    practice.stage.model.fail(faults)

    document, _ = await practice.send_clean(seed=103)

    assert await practice.status(document) == "done"
    assert await _calls(practice, document) == calls
    assert await _requests(practice, document) == [budget for budget, _ in calls]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"status": 429, "retry_after": "1"}, "AI_RATE_LIMIT"),
        ({"status": 429, "retry_after": "Wed, 21 Oct 2015 07:28:00 GMT"}, "AI_RATE_LIMIT"),
        ({"status": 429}, "AI_RATE_LIMIT"),
        ({"status": 500}, "AI_HTTP_5XX"),
        ({"status": 503}, "AI_HTTP_5XX"),
        ({"reset": True}, "AI_TIMEOUT"),
        ({"delay": 5}, "AI_TIMEOUT"),
    ],
)
async def test_a_failing_provider_is_asked_again_later(
    practice: Practice, fault: dict[str, object], code: str
) -> None:
    """EXO-009, EXO-023, EXO-032, EXO-036"""
    practice.stage.model.fail([fault])

    document, _ = await practice.send_clean(seed=104)

    assert await practice.status(document) == "done"
    job = await _pass(practice, document)
    assert (job["status"], job["retry_count"]) == ("completed", 1)
    assert (job["error_details"], job["last_error"]) == (None, None), "of an attempt before the last"
    attempts = await practice.rows(
        "SELECT error ->> 'code' AS code FROM backstay.attempts WHERE job_id = $1 AND error IS NOT NULL",
        job["id"],
    )
    assert [row["code"] for row in attempts] == [code]
    assert await _requests(practice, document) == [2000, 2000]
    assert len(await _calls(practice, document)) == 1, "what was not answered costs nothing"


@pytest.mark.parametrize("as_date", [False, True])
async def test_a_provider_that_says_when_is_asked_no_earlier(practice: Practice, as_date: bool) -> None:
    """EXO-032: seconds or a date, and much later than the delay of 0.3 s that this run is set to."""
    earliest = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=6)
    told = format_datetime(earliest, usegmt=True) if as_date else "4"
    practice.stage.model.fail([{"status": 429, "retry_after": told}])

    document, _ = await practice.send_clean(seed=114)

    assert await practice.status(document) == "done"
    job = await _pass(practice, document)
    failed = await practice.value(
        "SELECT finished_at FROM backstay.attempts WHERE job_id = $1 AND error IS NOT NULL", job["id"]
    )
    assert job["started_at"] >= (earliest if as_date else failed + timedelta(seconds=4))


async def test_a_retry_does_not_pay_twice_for_an_answer_that_it_has(practice: Practice) -> None:
    """EXO-032, EXO-034: the answer that did not fit is not asked for again after the provider's failure."""
    practice.stage.model.fail([{"most": 64}, {"status": 500}])

    document, _ = await practice.send_clean(seed=113)

    assert await practice.status(document) == "done"
    assert (await _pass(practice, document))["retry_count"] == 1
    assert await _requests(practice, document) == [2000, 4000, 4000]
    assert await _calls(practice, document) == [(2000, "budget used up"), (4000, "answered")]


async def test_a_provider_that_stays_down_ends_in_the_dead_letters(practice: Practice) -> None:
    """EXO-014, EXO-025, EXO-036"""
    practice.stage.model.fail([{"status": 500, "times": 4}])

    document, _ = await practice.send_clean(seed=105)

    job = await _pass(practice, document)
    assert (job["status"], job["retry_count"], job["max_retries"]) == ("failed", 3, 3)
    details = job["error_details"]
    assert details["code"] == "AI_HTTP_5XX"
    assert details["dead_letter_reason"] == "exhausted"
    assert details["error_message"].startswith(
        "Pass 1 processing failed: OpenAI could not be reached or failed."
    )
    assert job["heartbeat_at"] is None
    assert job["updated_at"] >= job["completed_at"]
    assert job["actual_duration"] == job["completed_at"] - job["started_at"]
    assert await practice.facts(document) == []


async def test_a_dead_letter_runs_again_only_by_hand(practice: Practice) -> None:
    """EXO-025"""
    from backstay_exora.app import app

    practice.stage.model.fail([{"refusal": "no"}])
    document, _ = await practice.send_clean(seed=106)
    job = await _pass(practice, document)

    await app.dead_letters.retry(job["id"], by="rita", reason="asked the provider")

    await practice.status(document, ends=frozenset({"done"}))
    again = await _pass(practice, document)
    assert (again["id"], again["status"], again["dead_letter_at"]) == (job["id"], "completed", None)
    history = await app.jobs.history(job["id"])
    assert ("rita", "asked the provider") in [(entry.actor, entry.reason) for entry in history]


@pytest.mark.parametrize(("most", "verdict"), [(150, "cut"), (64, "budget used up")])
async def test_an_answer_that_was_cut_once_is_asked_for_again_with_twice_the_budget(
    practice: Practice, most: int, verdict: str
) -> None:
    """EXO-032: in the same attempt; what was cut is stored nowhere, and an empty one is a budget used up."""
    practice.stage.model.fail([{"most": most}])

    document, _ = await practice.send_clean(seed=112)

    assert await practice.status(document) == "done"
    assert await _requests(practice, document) == [2000, 4000]
    assert await _calls(practice, document) == [(2000, verdict), (4000, "answered")]
    assert (await _pass(practice, document))["retry_count"] == 0


async def test_an_answer_that_does_not_fit_gets_a_larger_budget(practice: Practice) -> None:
    """EXO-032: it is too long because the letter is, not because a switch was set."""
    letter = draw_letter(practice.people[2], 107, kind="discharge", pages=2)

    document = await practice.send(2, letter)

    assert await practice.status(document) == "done"
    calls = await _calls(practice, document, 2)
    assert [budget for budget, _ in calls] == [2000, 4000]
    assert calls[0][1] in {"cut", "budget used up"}
    assert calls[1][1] == "answered"
    stored = {(fact["name"].lower(), fact["dose"]) for fact in await practice.facts(document) if fact["dose"]}
    assert stored == {(name.lower(), dose) for name, dose in letter.truth.medications}


async def test_a_text_too_long_for_every_budget_is_divided_then_moved(practice: Practice) -> None:
    """EXO-032: budgets 2,000 and 4,000, then two parts, then the complex lane with 4,000 and more."""
    names = [f"drug{first}{second}ol" for first in "abcdefgh" for second in "abcdefghij"]
    lines = [f"- {name} {number} mg twice daily" for number, name in enumerate(names, start=1)]
    letter = draw_letter(practice.people[3], 108, kind="referral")
    content = _letter_with(letter.lines, ["", "Current medications:", *lines])

    document = await practice.send(3, letter, content=content, filename="long.pdf")

    assert await practice.status(document) == "done"
    rows = await practice.rows(
        "SELECT job_lane, job_result FROM exora.job_queue WHERE shell_file_id = $1"
        " AND (job_payload ->> 'pass_number')::int = 2 ORDER BY created_at",
        document,
    )
    assert [row["job_lane"] for row in rows] == ["ai_queue_simple", "ai_queue_complex"]
    budgets = [budget for budget, _ in await _calls(practice, document, 2)]
    assert budgets[:3] == [2000, 4000, 4000]
    assert max(budgets) <= 16000
    stored = {(fact["name"], fact["dose"]) for fact in await practice.facts(document)}
    assert {(name, f"{number} mg") for number, name in enumerate(names, start=1)} <= stored


async def test_an_answer_that_is_always_cut_fails_with_the_samples_words(practice: Practice) -> None:
    """EXO-014, EXO-032, EXO-038"""
    practice.stage.model.fail([{"most": 64, "times": 100}])

    document, _ = await practice.send_clean(seed=109)

    sql = "SELECT id FROM exora.job_queue WHERE shell_file_id = $1 AND status = 'failed'"
    job = (
        await practice.rows(
            "SELECT * FROM exora.job_queue WHERE id = $1", await practice.wait_for(sql, document)
        )
    )[0]
    assert (job["job_lane"], job["retry_count"]) == ("ai_queue_complex", 3)
    details = job["error_details"]
    assert details["code"] == "AI_TRUNCATED"
    assert details["error_message"].startswith(
        'Pass 1 processing failed: OpenAI returned empty response. Details: {"finish_reason":"length"'
    )
    told = {
        name: details[name] for name in ("finish_reason", "choices_length", "has_refusal", "refusal_text")
    }
    assert told == {
        "finish_reason": "length",
        "choices_length": 1,
        "has_refusal": False,
        "refusal_text": None,
    }
    calls = await _calls(practice, document)
    assert {verdict for _, verdict in calls} == {"budget used up"}
    complex_lane = [4000, 8000, 16000, 16000, 16000, 16000]
    # The simple lane's ladder once; the complex lane's anew in each of its four attempts.
    assert [budget for budget, _ in calls] == [2000, 4000, 4000, *complex_lane * 4]
    assert await practice.facts(document) == []
    assert (
        await practice.value(
            "SELECT count(*) FROM exora.pass1_entity_metrics WHERE shell_file_id = $1", document
        )
        == 0
    )


def _letter_with(head: tuple[str, ...], added: list[str]) -> bytes:
    import io

    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(595, 842), invariant=1)
    lines = [*head, *added]
    for start in range(0, len(lines), 45):
        canvas.setFont("Helvetica", 11)
        for row, line in enumerate(lines[start : start + 45]):
            canvas.drawString(50, 800 - row * 17, line[:95])
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()
