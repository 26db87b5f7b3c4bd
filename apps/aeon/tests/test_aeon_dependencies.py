"""Jobs that wait for others: four types of waiting, and what becomes of each."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from aeon_world import World

GOOD = {"job_type": "quick", "payload": {"number": 7}}
BAD = {"job_type": "failing", "payload": {"as": "not_found"}}


async def made(api: httpx.AsyncClient, given: dict[str, Any]) -> str:
    answer = await api.post("/api/jobs/create", json=given)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["job_id"])


async def run_everything(world: World) -> None:
    for _ in range(3):
        await world.backstay.drain()
        await world.backstay.travel("10s")


def condition(operator: str, value: Any) -> dict[str, Any]:
    return {
        "dependency_type": "conditional",
        "condition": {"at": "/number", "operator": operator, "value": value},
    }


@pytest.mark.parametrize(
    ("parent", "tie", "expected"),
    [
        (GOOD, {"dependency_type": "completion"}, "completed"),
        (BAD, {"dependency_type": "completion"}, "completed"),
        (GOOD, {"dependency_type": "success"}, "completed"),
        (BAD, {"dependency_type": "success"}, "cancelled"),
        (GOOD, {"dependency_type": "data", "into": "seen"}, "completed"),
        (BAD, {"dependency_type": "data", "into": "seen"}, "cancelled"),
        (GOOD, condition(">", 5), "completed"),
        (GOOD, condition(">", 8), "cancelled"),
        (GOOD, condition("==", 7), "completed"),
    ],
    ids=str,
)
async def test_each_type_waits_and_goes_on_or_ends(
    world: World, api: httpx.AsyncClient, parent: dict[str, Any], tie: dict[str, Any], expected: str
) -> None:
    """AEO-023: any end, a good end, its result, or a result of a certain kind; until then nothing starts."""
    first = await made(api, parent)
    second = await made(api, {**GOOD, "depends_on": [{"job_id": first, **tie}]})
    waiting = (await api.get(f"/api/jobs/{second}")).json()
    assert (waiting["status"], waiting["why"]) == ("pending", "It waits for one other job to end.")
    assert waiting["dependencies"][0]["satisfied"] is False

    await run_everything(world)
    if parent is BAD and expected == "cancelled":
        # A dead letter may still be run again: its dependants wait for the decision.
        assert (await api.get(f"/api/jobs/{second}")).json()["status"] == "pending"
        await api.post(f"/api/dlq/{first}/resolve", json={"notes": "it will not come"})
        await run_everything(world)

    shown = (await api.get(f"/api/jobs/{second}")).json()
    assert shown["status"] == expected
    if expected == "completed":
        assert shown["dependencies"][0]["satisfied"]
        assert shown["dependencies"][0]["satisfied_at"]
    if expected == "completed" and tie["dependency_type"] == "data":
        assert shown["payload"]["seen"] == {"number": 7}


@pytest.mark.parametrize(
    "condition_of", [None, {}, {"at": "/number"}, {"at": "/number", "operator": "like", "value": 1}], ids=str
)
async def test_a_condition_that_cannot_be_is_refused(
    world: World, api: httpx.AsyncClient, condition_of: dict[str, Any] | None
) -> None:
    """AEO-023: now, and not when the parent has ended."""
    first = await made(api, GOOD)
    tie = {"job_id": first, "dependency_type": "conditional", "condition": condition_of}
    refused = await api.post("/api/jobs/create", json={**GOOD, "depends_on": [tie]})
    assert (refused.status_code, "/depends_on" in refused.text) == (400, True)
    assert await world.database.value("SELECT count(*) FROM public.jobs") == 1
