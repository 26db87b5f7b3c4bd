"""What becomes of a failure: the twelve classes, the records, the dead letter and what people decide about it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from aeon_world import World

from backstay_aeon.actions import submit, watch
from backstay_aeon.store import people

RETRIES: dict[str, list[float]] = {
    "transient_network": [2, 4, 8, 16, 32],
    "rate_limit": [60, 90, 135],
    "temporary_resource": [0, 0, 0],
    "timeout": [5, 10],
    "internal_error": [5, 10],
    "database_error": [1, 2, 4, 8, 16],
    "unknown": [5, 10],
    "validation_error": [],
    "authentication_error": [],
    "not_found": [],
    "permission_denied": [],
    "invalid_input": [],
}
DELAYS = """
SELECT extract(epoch FROM job.run_at - max(run.finished_at))::float AS seconds
FROM backstay.jobs AS job JOIN backstay.attempts AS run ON run.job_id = job.id
WHERE job.id = $1 AND job.state = 'scheduled' GROUP BY job.run_at
"""


async def fail(world: World, error_class: str) -> str:
    given = {"job_type": "failing", "payload": {"as": error_class}}
    made = await submit.create(world.services, world.team, world.user, given)
    return str(made["job_id"])


async def letter_of(world: World, job_id: str) -> dict[str, Any]:
    found = await world.database.row(
        "SELECT * FROM public.dead_letter_jobs WHERE original_job_id = $1::text::uuid", job_id
    )
    assert found is not None
    return found


@pytest.mark.parametrize(("error_class", "expected"), RETRIES.items(), ids=RETRIES)
async def test_each_class_has_its_retries_and_its_records(
    world: World, error_class: str, expected: list[float]
) -> None:
    """AEO-017, AEO-019, AEO-045, AEO-028: attempts counted, delays within a fifth, one record for each attempt."""
    job_id = await fail(world, error_class)
    for number, seconds in enumerate(expected):
        await world.backstay.drain()
        if seconds:
            waiting = await world.database.value(DELAYS, job_id)
            assert seconds * 0.8 - 0.01 <= waiting <= seconds * 1.2 + 0.01, f"retry {number + 1}"
            await world.backstay.travel(f"{seconds * 1.2 + 1}s")
    await world.backstay.drain(with_scheduled=True)
    runs = await world.database.rows(
        "SELECT attempt_number, error_code FROM public.job_executions WHERE job_id = $1::text::uuid"
        " ORDER BY attempt_number",
        job_id,
    )
    attempts = len(expected) + 1
    assert [run["attempt_number"] for run in runs] == list(range(1, attempts + 1))
    assert {run["error_code"] for run in runs} == {error_class}
    letter = await letter_of(world, job_id)
    assert (letter["failure_reason"], letter["total_attempts"]) == (error_class, attempts)


@pytest.mark.parametrize(
    ("error_class", "retries"), [("transient_network", 1), ("unknown", 5), ("timeout", 0)]
)
async def test_a_number_of_the_caller_wins_over_the_class(
    world: World, api: httpx.AsyncClient, error_class: str, retries: int
) -> None:
    """AEO-018, AEO-017: max_retries=1 gives two runs, although its class would give six."""
    given = {"job_type": "failing", "payload": {"as": error_class}, "max_retries": retries}
    job_id = (await api.post("/api/jobs/create", json=given)).json()["job_id"]
    await world.backstay.drain(with_scheduled=True)
    letter = await letter_of(world, job_id)
    assert letter["total_attempts"] == retries + 1
    assert (await api.get(f"/api/jobs/{job_id}")).json()["max_retries"] == retries


async def test_a_dead_letter_carries_everything(world: World) -> None:
    """AEO-020: payload, reason, message, stack, history and team; the job says dead_letter and when."""
    job_id = await fail(world, "unknown")
    await world.backstay.drain(with_scheduled=True)
    letter = await letter_of(world, job_id)
    assert letter["payload"] == {"as": "unknown"}
    assert "nobody knows this one" in letter["final_error_message"]
    assert "aeon_failing.py" in letter["final_error_stack"]
    assert [run["attempt_number"] for run in letter["execution_history"]] == [1, 2, 3]
    assert (letter["team_id"], letter["status"]) == (world.team, "pending")
    job = await world.database.row(
        "SELECT status, failed_at FROM public.jobs WHERE id = $1::text::uuid", job_id
    )
    assert job is not None
    assert job["status"] == "dead_letter"
    assert job["failed_at"] is not None


@pytest.mark.parametrize(("last", "word"), [("resolve", "resolved"), ("ignore", "ignored")])
async def test_people_decide_about_a_letter_with_notes(
    world: World, api: httpx.AsyncClient, last: str, word: str
) -> None:
    """AEO-021: pending, investigating, then resolved or ignored, with notes, who and when."""
    job_id = await fail(world, "validation_error")
    await world.backstay.drain()
    assert [one["status"] for one in (await api.get("/api/dlq")).json()] == ["pending"]
    looked = await api.post(f"/api/dlq/{job_id}/investigate", json={"notes": "asking the sender"})
    assert looked.status_code == 200, looked.text
    letter = await letter_of(world, job_id)
    assert (letter["status"], letter["resolution_notes"]) == ("investigating", "asking the sender")
    await api.post(f"/api/dlq/{job_id}/{last}", json={"notes": "sent again"})
    letter = await letter_of(world, job_id)
    assert (letter["status"], letter["resolution_notes"]) == (word, "sent again")
    assert letter["resolved_by"] == world.user
    assert letter["resolved_at"] is not None


async def test_a_letter_is_sent_again_as_the_refusal_of_plain_sql_says(
    world: World, api: httpx.AsyncClient
) -> None:
    """AEO-021: retry runs the job once more and closes the letter with the notes."""
    job_id = await fail(world, "validation_error")
    await world.backstay.drain()
    again = await api.post(f"/api/dlq/{job_id}/retry", json={"notes": "the sender mended it"})
    assert again.status_code == 200, again.text
    letter = await letter_of(world, job_id)
    assert (letter["status"], letter["resolution_notes"]) == ("resolved", "retried: the sender mended it")
    await world.backstay.drain()
    runs = await world.database.value(
        "SELECT count(*) FROM public.job_executions WHERE job_id = $1::text::uuid", job_id
    )
    assert runs == 2


async def test_letters_of_other_teams_are_shown_to_operators_alone(
    world: World, api: httpx.AsyncClient
) -> None:
    """AEO-031, AEO-008: the figures count every team; whose job died for which reason is told to its own."""
    await fail(world, "validation_error")
    given = {"job_type": "failing", "payload": {"as": "not_found"}}
    await submit.create(world.services, world.other, None, given)
    await world.backstay.drain()
    key = await people.add_key(world.database, world.team, world.user, "ops", "operator")

    own = (await api.get("/api/metrics")).json()
    all_of_them = (await api.get("/api/metrics", headers={"Authorization": f"Bearer {key}"})).json()

    assert own["queueDepths"]["dlq"] == 2
    assert [one["failure_reason"] for one in own["dlq"]] == ["validation_error"]
    assert {one["failure_reason"] for one in all_of_them["dlq"]} == {"validation_error", "not_found"}


async def test_a_decision_needs_notes(world: World, api: httpx.AsyncClient) -> None:
    """AEO-021: without notes nothing is decided."""
    job_id = await fail(world, "validation_error")
    await world.backstay.drain()
    refused = await api.post(f"/api/dlq/{job_id}/resolve", json={"notes": ""})
    assert refused.status_code in (400, 422)
    assert (await letter_of(world, job_id))["status"] == "pending"


async def test_an_alert_is_told_once_cleared_and_told_again(world: World) -> None:
    """AEO-032: it holds for a while and is one alert, clears, and is another one when it holds again."""
    calm: dict[str, Any] = {
        "queueDepths": {"pending": 0, "dlq": 0},
        "workerStatus": [],
        "performance": {"successful": 0, "failed": 0, "p95_duration_ms": 0},
    }
    crowded = {**calm, "queueDepths": {"pending": 1001, "dlq": 0}}
    for figures in (crowded, crowded, calm, crowded):
        await watch.apply(world.services, figures)

    rows = await world.database.rows("SELECT rule, message, cleared_at FROM aeon.alerts ORDER BY id")
    assert [row["rule"] for row in rows] == ["high_queue_depth", "high_queue_depth"]
    assert [row["cleared_at"] is None for row in rows] == [False, True]
    assert rows[0]["message"] == "Pending queue depth exceeds 1000 jobs"
