"""Jobs over HTTP: stored, found, awaited and changed, each for those who may."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from http_world import OTHER, SECRET, TENANT, World

from backstay.errors import InvalidSettings
from backstay.http import api

ADD = {"kind": "add", "args": {"a": 1, "b": 2}}
UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


async def stored(world: World, caller: str = f"operator {TENANT}", **job: Any) -> str:
    answer = await world[caller].post("/jobs", json={**ADD, **job})
    assert answer.status_code == 201, answer.text
    job_id: str = answer.json()["id"]
    return job_id


async def test_a_job_is_stored_run_and_its_result_given(world: World) -> None:
    """ENG-126: create, status, result."""
    answer = await world[f"operator {TENANT}"].post("/jobs", json=ADD)
    job_id = answer.json()["id"]
    await world.run_all()

    shown = (await world.admin.get(answer.headers["location"])).json()
    result = await world.admin.get(f"/jobs/{job_id}/result")

    assert (shown["state"], shown["tenant"], shown["created_by"]) == (
        "completed",
        TENANT,
        f"operator of {TENANT}",
    )
    assert result.json() == {"id": job_id, "result": {"sum": 3, "secret": SECRET}}


async def test_the_same_key_stores_one_job_and_another_job_under_it_is_refused(world: World) -> None:
    caller, key = world[f"operator {TENANT}"], {"Idempotency-Key": "order-7"}

    first = await caller.post("/jobs", json=ADD, headers=key)
    again = await caller.post("/jobs", json=ADD, headers=key)
    other = await caller.post("/jobs", json={"kind": "add", "args": {"a": 9, "b": 9}}, headers=key)

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == {**first.json(), "is_new": False}
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert len((await caller.get("/jobs")).json()["items"]) == 1


async def test_many_jobs_are_stored_all_or_none_and_once_for_each_key(world: World) -> None:
    caller, key = world[f"operator {TENANT}"], {"Idempotency-Key": "bulk-1"}
    bad = {"jobs": [ADD, {"kind": "add", "args": {"a": "x", "b": 2}}]}

    refused = await caller.post("/jobs/bulk", json=bad)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_arguments")
    assert (await caller.get("/jobs")).json()["items"] == []

    first = await caller.post("/jobs/bulk", json={"jobs": [ADD, ADD]}, headers=key)
    again = await caller.post("/jobs/bulk", json={"jobs": [ADD, ADD]}, headers=key)
    assert first.status_code == 201
    assert again.json() == first.json()
    assert again.headers["idempotent-replayed"] == "true"
    assert len((await caller.get("/jobs")).json()["items"]) == 2


async def test_a_request_that_failed_gives_its_key_back(world: World) -> None:
    caller, key = world[f"operator {TENANT}"], {"Idempotency-Key": "bulk-2"}

    refused = await caller.post("/jobs/bulk", json={"jobs": [{"kind": "nobody"}]}, headers=key)
    stored = await caller.post("/jobs/bulk", json={"jobs": [{"kind": "nobody"}]}, headers=key)

    assert refused.json()["code"] == stored.json()["code"] == "unknown_kind"


async def test_lists_carry_neither_arguments_nor_results(world: World) -> None:
    await stored(world)
    await world.admin.post("/jobs", json={"kind": "fail", "args": {"secret": SECRET}})
    await world.run_all()

    for path in ("/jobs", "/dead-letters", "/dead-letters/groups", "/jobs/counts", "/audit"):
        answer = await world.admin.get(path)
        assert answer.status_code == 200
        assert SECRET not in answer.text


async def test_payloads_are_shown_to_those_who_may_see_them_only(world: World) -> None:
    job_id = await stored(world)
    await world.run_all()

    for caller, sees in ((f"operator {TENANT}", False), (f"admin {TENANT}", True)):
        shown = (await world[caller].get(f"/jobs/{job_id}")).json()
        result = await world[caller].get(f"/jobs/{job_id}/result")
        assert shown["payloads_shown"] is sees
        assert (shown["args"] == {"a": 1, "b": 2}) is sees
        assert (SECRET in str(shown)) is sees
        assert result.status_code == (200 if sees else 403)


async def test_another_tenants_job_answers_exactly_like_an_unknown_one(world: World) -> None:
    job_id = await stored(world, f"operator {OTHER}")
    caller = world[f"admin {TENANT}"]

    for path in ("", "/wait?timeout=0", "/runs", "/steps", "/history", "/why", "/signals", "/result"):
        foreign, unknown = (
            await caller.get(f"/jobs/{job_id}{path}"),
            await caller.get(f"/jobs/{UNKNOWN}{path}"),
        )
        assert foreign.status_code == 404
        assert (foreign.status_code, foreign.json()) == (unknown.status_code, unknown.json())
    for act in ("cancel", "hold"):
        answer = await caller.post(f"/jobs/{job_id}/{act}", json={"reason": "mine now"})
        assert answer.status_code == 404
    assert (await world[f"operator {OTHER}"].get(f"/jobs/{job_id}")).json()["state"] == "available"


async def test_a_job_is_held_released_moved_and_cancelled(world: World) -> None:
    caller, job_id = world[f"operator {TENANT}"], await stored(world)
    later = datetime(2040, 1, 1, tzinfo=UTC).isoformat()

    async def state() -> str:
        found: str = (await caller.get(f"/jobs/{job_id}")).json()["state"]
        return found

    assert (await caller.post(f"/jobs/{job_id}/hold", json={"reason": "wait"})).json() == {"done": True}
    assert await state() == "held"
    assert (await caller.post(f"/jobs/{job_id}/release")).json() == {"done": True}
    assert (await caller.post(f"/jobs/{job_id}/reschedule", json={"run_at": later})).status_code == 200
    assert await state() == "scheduled"
    cancelled = await caller.post(f"/jobs/{job_id}/cancel", json={"reason": "too late"})
    assert cancelled.json() == {"state": "cancelled"}
    again = await caller.post(f"/jobs/{job_id}/cancel", json={"reason": "too late"})
    assert (again.status_code, again.json()["code"]) == (409, "wrong_state")
    actions = [line["action"] for line in (await caller.get(f"/jobs/{job_id}/history")).json()["items"]]
    assert [name.partition(".")[0] for name in actions] == ["job"] * len(actions)
    assert len(actions) >= 4


async def test_a_waiting_job_is_hurried_and_a_finished_one_runs_again(world: World) -> None:
    caller = world.admin
    job_id = await stored(world, "admin *", kind="add", args={"a": 1, "b": 2}, delay="1h", tags=["t"])

    changed = await caller.post(f"/jobs/{job_id}/priority", json={"priority": 1, "reason": "urgent"})
    wrong = await caller.post(f"/jobs/{job_id}/priority", json={"priority": 99})
    now = await caller.post(f"/jobs/{job_id}/run-now")
    await world.run_all()
    again = await caller.post(
        f"/jobs/{job_id}/clone", json={"args": {"a": 3, "b": 4}}, headers={"Idempotency-Key": "k"}
    )
    twice = await caller.post(
        f"/jobs/{job_id}/clone", json={"args": {"a": 3, "b": 4}}, headers={"Idempotency-Key": "k"}
    )
    late = await caller.post(f"/jobs/{job_id}/priority", json={"priority": 1})
    await world.run_all()

    first = (await caller.get(f"/jobs/{job_id}")).json()
    clone = (await caller.get(f"/jobs/{again.json()['id']}")).json()
    history = (await caller.get(f"/jobs/{job_id}/history")).json()["items"]
    assert (changed.status_code, now.status_code, wrong.status_code, late.status_code) == (200, 200, 422, 409)
    assert (first["state"], first["priority"], first["result"]["sum"]) == ("completed", 1, 3)
    assert (again.status_code, twice.json()) == (201, again.json())
    assert (clone["result"]["sum"], clone["priority"], clone["tags"]) == (7, 1, ["t"])
    assert clone["metadata"] == {"cloned_from": job_id}
    assert [line["action"] for line in history] == ["job.change_priority", "job.reschedule", "job.clone"]


async def test_a_job_waits_for_a_signal_and_its_steps_are_shown(world: World) -> None:
    caller = world.admin
    job_id = await stored(world, "admin *", kind="approve", args={"item": 1})
    await world.run_all()

    assert (await caller.get(f"/jobs/{job_id}/result")).json()["code"] == "job_not_finished"
    sent = [await caller.post(f"/jobs/{job_id}/signals", json={"name": "approved", "payload": 7, "key": "k"})]
    sent += [
        await caller.post(f"/jobs/{job_id}/signals", json={"name": "approved", "payload": 7, "key": "k"})
    ]
    await world.run_all()

    assert [one.json()["is_new"] for one in sent] == [True, False]
    assert (await caller.get(f"/jobs/{job_id}/wait?timeout=5")).json()["result"] == 7
    assert [one["name"] for one in (await caller.get(f"/jobs/{job_id}/steps")).json()["items"]] == ["look"]
    assert (await caller.get(f"/jobs/{job_id}/signals")).json()["items"][0]["payload"] == 7


async def test_pages_follow_one_another_and_a_cursor_cannot_be_made_up(world: World) -> None:
    caller = world[f"operator {TENANT}"]
    ids = [await stored(world) for _ in range(5)]

    seen, cursor = [], None
    while True:
        page = (
            await caller.get("/jobs", params={"limit": 2, **({"cursor": cursor} if cursor else {})})
        ).json()
        seen += [job["id"] for job in page["items"]]
        if (cursor := page["cursor"]) is None:
            break

    assert seen == sorted(ids, reverse=True)
    for made_up in ("x", "eyJhIjoxfQ.abc"):
        answer = await caller.get("/jobs", params={"cursor": made_up})
        assert (answer.status_code, answer.json()["code"]) == (400, "cursor_invalid")
        assert (await caller.get("/audit", params={"cursor": made_up})).json()["code"] == "cursor_invalid"


async def test_the_audit_trail_is_paged_by_signed_cursors(world: World) -> None:
    caller = world[f"operator {TENANT}"]
    for _ in range(3):
        await caller.post(f"/jobs/{await stored(world)}/hold", json={"reason": "later"})

    params: dict[str, Any] = {"limit": 2, "action": "job.hold"}
    first = (await caller.get("/audit", params=params)).json()
    second = (await caller.get("/audit", params={**params, "cursor": first["cursor"]})).json()

    assert [len(first["items"]), len(second["items"])] == [2, 1]
    assert all(line["reason"] == "later" for line in first["items"] + second["items"])
    foreign = await world[f"operator {OTHER}"].get("/audit", params={**params, "cursor": first["cursor"]})
    assert foreign.json()["code"] == "cursor_invalid"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"kind": "add", "kind": "add"}', 400, "json_duplicate_name"),
        (b'{"kind": "add", "args": {"a": NaN}}', 400, "invalid_json"),
        (b'{"kind": "add"', 400, "invalid_json"),
        (b"[" * 100 + b"]" * 100, 400, "json_too_deep"),
        (b'{"kind": "add", "colour": "red"}', 422, "invalid_request"),
        (b'{"kind": 7}', 422, "invalid_request"),
        (b'{"kind": "add", "args": {"a": 1}}', 422, "invalid_arguments"),
        (b'{"kind": "add", "args": {"a": 1, "b": 2}, "delay": "soon"}', 422, "invalid_request"),
        (b'{"kind": "nobody"}', 422, "unknown_kind"),
    ],
)
async def test_a_bad_body_is_refused_with_a_code_and_nothing_is_stored(
    quick_world: World, body: bytes, status: int, code: str
) -> None:
    answer = await quick_world.admin.post("/jobs", content=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert (await quick_world.admin.get("/jobs")).json()["items"] == []


async def test_a_body_that_is_too_large_is_refused(quick_world: World) -> None:
    body = {"kind": "add", "args": {"a": "x" * 3_000_000, "b": 1}}

    answer = await quick_world.admin.post("/jobs", json=body)

    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


async def test_a_tenants_caller_cannot_store_for_another_one(quick_world: World) -> None:
    answer = await quick_world[f"admin {TENANT}"].post("/jobs", json={**ADD, "tenant": OTHER})

    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
    assert await quick_world.app.jobs.counts() == []


async def test_a_quota_that_is_reached_is_told(quick_world: World) -> None:
    await quick_world.admin.put("/quotas", json={"most": 1, "tenant": TENANT, "reason": "their contract"})
    await stored(quick_world)

    answer = await quick_world[f"operator {TENANT}"].post("/jobs", json=ADD)

    assert (answer.status_code, answer.json()["code"]) == (429, "quota_exceeded")
    assert answer.headers["retry-after"]


async def test_nobody_is_let_in_without_a_key(quick_world: World) -> None:
    for path in ("/jobs", f"/jobs/{uuid.uuid4()}", "/doctor", "/keys"):
        answer = await quick_world.nobody.get(path)
        assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
        assert answer.headers["www-authenticate"] == "Bearer"


async def test_an_api_without_authentication_is_not_made(quick_world: World) -> None:
    with pytest.raises(InvalidSettings, match="authenticate="):
        api(quick_world.app)


async def test_a_word_of_no_state_is_refused_by_name(quick_world: World) -> None:
    answer = await quick_world.admin.get("/jobs", params={"state": "asleep"})

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_policy")
    assert "asleep" in answer.json()["detail"]


async def test_an_operation_that_is_sent_again_with_its_key_is_started_once(world: World) -> None:
    body = {"verb": "dead_letters.retry", "letters": {"kind": "add"}, "reason": "mended"}
    key = {"Idempotency-Key": "retry-all-1"}

    answers = [await world.admin.post("/operations", json=body, headers=key) for _ in range(2)]
    reused = await world.admin.post("/operations", json={**body, "reason": "other"}, headers=key)

    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert reused.json()["code"] == "idempotency_key_reused"
    assert len((await world.admin.get("/operations")).json()["items"]) == 1
