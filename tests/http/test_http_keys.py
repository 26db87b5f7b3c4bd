"""API keys: made once, kept as a hash, narrowed, rotated, revoked."""

from __future__ import annotations

import itertools
import json
from datetime import timedelta

import httpx
from http_world import OTHER, TENANT, World, client_of

from backstay.http import ApiKeyAccess, Role, api
from backstay.model.api_keys import ROLES


async def made(world: World, caller: str = "admin *", **key: object) -> tuple[str, httpx.AsyncClient]:
    answer = await world[caller].post("/keys", json={"name": "shop", **key})
    assert answer.status_code == 201, answer.text
    name = f"made {len(world.callers)}"
    world.callers[name] = client_of(world.site, answer.json()["text"])
    return answer.json()["key"]["prefix"], world.callers[name]


def test_roles_are_the_same_words_everywhere() -> None:
    assert tuple(role.value for role in Role) == ROLES


async def test_a_key_is_shown_once_and_kept_as_a_hash(world: World) -> None:
    answer = await world.admin.post("/keys", json={"name": "shop", "role": "operator", "tenant": TENANT})
    text = answer.json()["text"]

    listed = await world.admin.get("/keys")
    rows = await world.app._connections.database.lane("test").fetch("api_keys/all", tenant=None, limit=100)

    secret = text.rsplit("_", 1)[1]
    assert answer.json()["key"]["prefix"] in listed.text
    assert secret not in listed.text
    assert secret not in str([dict(row) for row in rows])
    assert secret not in (await world.admin.get("/audit")).text


async def test_a_key_is_narrowed_by_its_scopes(world: World) -> None:
    _, caller = await made(world, role="operator", tenant=TENANT, scopes=["jobs.enqueue"])

    stored = await caller.post("/jobs", json={"kind": "add", "args": {"a": 1, "b": 2}})
    looked = await caller.get("/jobs")

    assert (stored.status_code, looked.status_code) == (201, 403)
    assert looked.json()["right"] == "jobs.read"


async def test_a_revoked_key_opens_nothing_and_the_audit_trail_tells(world: World) -> None:
    prefix, caller = await made(world, role="viewer", tenant=TENANT)
    assert (await caller.get("/jobs")).status_code == 200

    revoked = await world.admin.post(f"/keys/{prefix}/revoke", json={"reason": "they left"})

    assert revoked.json() == {"done": True}
    assert (await caller.get("/jobs")).status_code == 401
    [line] = (await world.admin.get("/audit", params={"action": "api_key.revoked"})).json()["items"]
    assert (line["reason"], line["tenant"], line["details"]["prefix"]) == ("they left", TENANT, prefix)
    assert (await world.admin.post(f"/keys/{prefix}/revoke", json={"reason": "x"})).json() == {"done": False}


async def test_a_rotated_key_is_valid_for_the_overlap_and_then_no_more(world: World) -> None:
    at_once, caller = await made(world, role="operator", tenant=TENANT, scopes=["jobs.read"])
    overlapping, other = await made(world, role="viewer", tenant=TENANT)

    new = await world.admin.post(f"/keys/{at_once}/rotate", json={})
    await world.admin.post(f"/keys/{overlapping}/rotate", json={"overlap": "1h"})

    assert (await caller.get("/jobs")).status_code == 401
    assert (await other.get("/jobs")).status_code == 200
    key = new.json()["key"]
    assert (key["role"], key["scopes"], key["tenant"]) == ("operator", ["jobs.read"], TENANT)
    assert (await world.admin.get(f"/keys/{at_once}")).json()["replaced_by"] == key["prefix"]
    async with client_of(world.site, new.json()["text"]) as successor:
        assert (await successor.get("/jobs")).status_code == 200


async def test_an_expired_key_opens_nothing(world: World) -> None:
    key = await world.app.api_keys.create("old", expires=timedelta(microseconds=1))

    async with client_of(world.site, key.text) as caller:
        assert (await caller.get("/jobs")).status_code == 401


async def test_use_is_noted(world: World) -> None:
    prefix, caller = await made(world, role="viewer", tenant=TENANT)
    assert (await world.admin.get(f"/keys/{prefix}")).json()["last_used_at"] is None

    await caller.get("/jobs")

    assert (await world.admin.get(f"/keys/{prefix}")).json()["last_used_at"] is not None


async def test_a_tenants_admin_makes_keys_for_that_tenant_only(world: World) -> None:
    own = await world[f"admin {TENANT}"].post("/keys", json={"name": "own", "role": "admin"})
    foreign = await world[f"admin {TENANT}"].post("/keys", json={"name": "theirs", "tenant": OTHER})
    everybody = await world[f"admin {TENANT}"].post("/keys", json={"name": "all", "tenant": "*"})
    mine = await world[f"admin {TENANT}"].get("/keys")
    prefix = next(
        one["prefix"] for one in (await world.admin.get("/keys")).json()["items"] if one["tenant"] == OTHER
    )

    assert own.json()["key"]["tenant"] == TENANT
    assert (foreign.status_code, everybody.status_code) == (403, 403)
    assert {one["tenant"] for one in mine.json()["items"]} == {TENANT}
    for act, body in (("rotate", {}), ("revoke", {"reason": "mine"})):
        theirs = await world[f"admin {TENANT}"].post(f"/keys/{prefix}/{act}", json=body)
        unknown = await world[f"admin {TENANT}"].post(f"/keys/AAAAAAAA/{act}", json=body)
        assert theirs.status_code == 404
        assert theirs.json() == unknown.json()


async def test_nobody_hands_on_a_right_that_they_lack(world: World) -> None:
    _, narrow = await made(world, role="admin", tenant=TENANT, scopes=["api_keys.create", "jobs.read"])

    payloads = await narrow.post("/keys", json={"name": "x", "sees_payloads": True})
    scope = await narrow.post("/keys", json={"name": "x", "role": "operator", "scopes": ["jobs.cancel"]})
    whole = await narrow.post("/keys", json={"name": "x", "role": "admin"})
    less = await narrow.post("/keys", json={"name": "x", "scopes": ["jobs.read"]})

    assert [one.status_code for one in (payloads, scope, whole)] == [403, 403, 403]
    assert less.status_code == 201


async def test_guessing_keys_is_slowed_down(quick_world: World) -> None:
    statuses = []
    for number in itertools.count():
        async with client_of(quick_world.site, f"bst_{number:08d}_{'A' * 40}") as guesser:
            statuses.append((await guesser.get("/jobs")).status_code)
        if statuses[-1] == 429 or number > 100:
            break

    assert set(statuses[:-1]) == {401}
    assert statuses[-1] == 429


async def test_the_audit_trail_tells_from_where_and_what_was_before(world: World) -> None:
    """ENG-110: who, when, from where, before and after."""
    made = await world.app.api_keys.create("deployer", role="admin", tenant="*")
    caller = client_of(world.site, made.text)
    await caller.post("/jobs", json={"kind": "add", "args": {"a": 1, "b": 2}})
    await world.run_all()
    override = {"kind": "add", "field": "timeout", "reason": "slow today"}
    schedule = {"name": "nightly", "kind": "add", "args": {"a": 1, "b": 2}, "cron": "0 3 * * *"}
    await caller.put("/overrides", json={**override, "value": "5m"})
    await caller.put("/overrides", json={**override, "value": "6m"})
    await caller.post("/schedules", json=schedule)
    await caller.patch("/schedules/nightly", json={"field": "cron", "value": "0 4 * * *", "reason": "x"})
    await caller.put("/quotas", json={"tenant": "acme", "most": 5, "reason": "x"})
    await caller.put("/quotas", json={"tenant": "acme", "most": 9, "reason": "x"})

    lines = (await caller.get("/audit")).json()["items"]
    await caller.aclose()

    newest = {line["action"]: line for line in reversed(lines)}
    told = {
        action: (newest[action]["details"]["before"], newest[action]["details"]["after"])
        for action in ("override.set", "quota.set", "schedule.overridden")
    }
    assert {line["source"] for line in lines if line["actor"] == "deployer"} == {
        f"127.0.0.1, api key {made.key.prefix}"
    }
    assert told["quota.set"] == (5, 9)
    assert told["schedule.overridden"] == ({"cron": "0 3 * * *"}, {"cron": "0 4 * * *"})
    assert [json.loads(str(one)) for one in told["override.set"]] == [
        {"timeout_seconds": 300},
        {"timeout_seconds": 360},
    ]


async def test_a_key_sends_as_many_requests_as_it_may_and_others_do_not_notice(quick_world: World) -> None:
    site = api(quick_world.app, authenticate=ApiKeyAccess(quick_world.app).authenticate, requests_a_minute=5)
    keys = [(await quick_world.app.api_keys.create(name)).text for name in ("busy", "quiet")]
    busy, quiet = (client_of(site, key) for key in keys)

    sent = [await busy.get("/jobs") for _ in range(6)]
    other = await quiet.get("/jobs")

    assert [answer.status_code for answer in sent] == [200] * 5 + [429]
    assert (sent[-1].json()["code"], sent[-1].headers["retry-after"]) == ("too_many_requests", "12")
    assert other.status_code == 200
    for caller in (busy, quiet):
        await caller.aclose()
