"""What a language model is asked, and what comes of answers that are cut, late or too many."""

from __future__ import annotations

from typing import Any

import pytest
from test_oblicore_documents import attempt, clauses, upload

from backstay import State

MATCHED = "The operator shall keep a log of deliveries."
OPEN = ("Surfaces are to be drained to the interceptor.", "Gutters are to be emptied of leaves.")


async def test_what_a_rule_has_matched_is_not_sent_to_the_model(world: Any, model_server: Any) -> None:
    """OBL-028"""
    document = await upload(world, clauses(MATCHED, OPEN[0]))
    # The server fails every request that holds the words; that nothing fails shows that none did.
    model_server.fail([{"status": 500, "match": "deliveries", "times": 9}])
    calls = len(model_server.calls())

    job = await attempt(world, document)

    assert (job.state, job.attempt) == (State.COMPLETED, 1)
    assert len(model_server.calls()) == calls + 1


async def test_the_matching_of_requests_sees_what_is_sent(world: Any, model_server: Any) -> None:
    """The test above shows nothing if no request could match."""
    document = await upload(world, clauses(MATCHED, OPEN[0]))
    model_server.fail([{"status": 500, "match": "interceptor"}])

    job = await attempt(world, document)

    assert (job.state, job.attempt) == (State.COMPLETED, 2)


async def test_a_cut_answer_is_asked_for_with_more_room(world: Any, model_server: Any) -> None:
    """OBL-029"""
    document = await upload(world, clauses(*OPEN))
    before = len(model_server.calls())
    model_server.fail([{"most": 20}])

    job = await attempt(world, document)

    first, second = model_server.calls()[before:]
    assert first["finish_reason"] == "length"
    assert second["budget"] > first["budget"]
    assert job.state is State.COMPLETED
    assert await world.value("SELECT count(*) FROM oblicore.obligations") == 2


async def test_an_answer_that_no_room_holds_is_divided_by_sections(world: Any, model_server: Any) -> None:
    """OBL-029"""
    document = await upload(world, clauses(*OPEN))
    # Both sections together are always cut; each by itself is answered.
    model_server.fail([{"most": 20, "match": "[[2]]", "times": 99}])

    job = await attempt(world, document)

    assert job.state is State.COMPLETED
    rows = await world.rows("SELECT original_text FROM oblicore.obligations")
    assert {row["original_text"] for row in rows} == set(OPEN)


async def test_one_section_that_no_room_holds_is_for_a_person(world: Any, model_server: Any) -> None:
    """OBL-029 OBL-033"""
    document = await upload(world, clauses(OPEN[0]))
    model_server.fail([{"most": 20, "times": 99}])

    job = await attempt(world, document)

    assert (job.state, job.attempt) == (State.DEAD, 1)
    assert "cut off even with the largest budget" in str(job.error)
    assert await world.value("SELECT extraction_status FROM oblicore.documents") == "REVIEW_REQUIRED"
    [item] = await world.rows("SELECT is_blocking FROM oblicore.review_queue_items")
    assert item["is_blocking"] is True


@pytest.mark.parametrize(("wait", "attempts"), [("0", 1), ("60", 2)])
async def test_a_busy_model_is_waited_for_as_long_as_it_asks_or_later(
    world: Any, model_server: Any, wait: str, attempts: int
) -> None:
    """OBL-033"""
    document = await upload(world, clauses(OPEN[0]))
    model_server.fail([{"status": 429, "retry_after": wait}])

    job = await attempt(world, document)

    assert (job.state, job.attempt) == (State.COMPLETED, attempts)
