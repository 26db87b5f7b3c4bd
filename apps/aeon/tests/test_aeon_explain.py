"""Why a job waits, in one sentence that an ordinary user understands, and every change of it as it happens."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from aeon_fleet import Fleet
from aeon_world import World

from backstay_aeon.actions import explain, submit
from backstay_aeon.domain.waiting import Waiting, why
from backstay_aeon.store import people
from backstay_aeon.web.api.jobs import job_changes

FREE = Waiting(state="available", job_type="data_import", workers=2, free_slots=1)
AT = datetime(2026, 3, 29, 8, tzinfo=UTC)
PAUSED = "It is paused; it goes on when somebody of your team resumes it."
OPERATORS_WORDS = ("backstay ", "module:app", "doctor", "limits holders")


@pytest.mark.parametrize(
    ("waiting", "told"),
    [
        (FREE, "Nothing is in its way: it starts within seconds."),
        (
            replace(FREE, free_slots=0),
            "It is the next of your team; every worker that takes such jobs is busy.",
        ),
        (
            replace(FREE, own_ahead=2),
            "2 of your own jobs are ahead; other teams take turns with you and do not delay it further.",
        ),
        (
            replace(FREE, own_ahead=2, workers=0),
            "No worker that takes data_import is alive now; it starts when one is there.",
        ),
        (
            replace(FREE, workers=0, paused_because="the disk is full"),
            "The operators have paused data_import: the disk is full",
        ),
        (replace(FREE, state="held", reason="paused"), PAUSED),
        (replace(FREE, state="held", parents=2), "It waits for 2 other jobs to end."),
        (replace(FREE, state="scheduled", run_at=AT), "It is to start at 2026-03-29 08:00:00 UTC."),
        (
            replace(FREE, state="scheduled", attempt=2, run_at=AT),
            "Attempt 2 failed; the next one starts at 2026-03-29 08:00:00 UTC.",
        ),
        (
            replace(FREE, state="running", worker="w1", is_worker_gone=True),
            "Its worker w1 is gone; another one takes it over within a minute.",
        ),
    ],
)
def test_the_decisive_reason_is_told_and_no_other(waiting: Waiting, told: str) -> None:
    """AEO-010: a missing worker or a pause counts more than who is ahead."""
    assert why(waiting) == told


async def told(api: httpx.AsyncClient, job_id: str) -> str:
    found: str = (await api.get(f"/api/jobs/{job_id}")).json()["why"]
    return found


async def test_without_a_worker_nobody_is_told_to_wait_for_others(
    world: World, api: httpx.AsyncClient
) -> None:
    """AEO-010: the sentence is about what decides, and has no words for operators; those get theirs."""
    own = [
        (await api.post("/api/jobs/create", json={"job_type": "quick"})).json()["job_id"] for _ in range(3)
    ]
    assert await told(api, own[2]) == "No worker that takes quick is alive now; it starts when one is there."
    await world.services.app.queues.pause("quick", reason="we are moving", by="ops")
    assert await told(api, own[2]) == "The operators have paused quick: we are moving"
    await world.services.app.queues.resume("quick", by="ops")
    await api.post(f"/api/jobs/{own[0]}/pause")
    assert await told(api, own[0]) == PAUSED

    key = await people.add_key(world.database, world.team, world.user, "ops", "operator")
    seen = (await api.get(f"/api/jobs/{own[2]}", headers={"Authorization": f"Bearer {key}"})).json()
    assert "No worker is alive" in seen["diagnosis"][0]
    assert "diagnosis" not in (await api.get(f"/api/jobs/{own[2]}")).json()


async def test_with_a_worker_ones_own_jobs_ahead_are_counted(fleet: Fleet) -> None:
    """AEO-010: however many other teams have waiting, only one's own are named."""
    other = await people.add_team(fleet.database, "Ost")
    await fleet.start("general", MAX_CONCURRENT_JOBS="1")
    await fleet.until_running(await fleet.submit("waiting", {"until": "/nowhere"}))
    for _ in range(5):
        given = {"job_type": "waiting", "payload": {"until": "/nowhere"}}
        await submit.create(fleet.services, other, None, given)
    own = [await fleet.submit("waiting", {"until": "/nowhere"}) for _ in range(3)]

    sentences = [await explain.why(fleet.services, await fleet.services.app.jobs.get(job)) for job in own]

    assert sentences[0] == "It is the next of your team; every worker that takes such jobs is busy."
    assert sentences[2].startswith("2 of your own jobs are ahead;")
    assert not any(word in one for one in sentences for word in OPERATORS_WORDS)


async def test_every_change_of_a_job_is_told_until_it_ends(world: World, api: httpx.AsyncClient) -> None:
    """AEO-010: the state first, then each change, then the end of the stream."""
    made = (await api.post("/api/jobs/create", json={"job_type": "quick"})).json()["job_id"]
    job = await world.services.app.jobs.get(made)
    events = job_changes(world.services, job.id)
    first: Any = await anext(events)
    await world.backstay.drain()
    rest = [event async for event in events]
    assert (first.name, first.data["status"]) == ("job", "pending")
    assert [event.data["status"] for event in rest] == ["completed"]

    answer = await api.get(f"/api/jobs/{made}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    assert [json.loads(line)["status"] for line in lines] == ["completed"]
    other = await people.add_key(world.database, world.other, None, "other")
    foreign = await api.get(f"/api/jobs/{made}/events", headers={"Authorization": f"Bearer {other}"})
    assert foreign.status_code == 404
