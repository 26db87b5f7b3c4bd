"""What tenants and machines send over HTTP, and what is kept of it: keys, evaluations, attempts in vain."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from sqlalchemy import update
from test_watchpoint_web import BODY, EVENTS, KEY, Site, served, tenant
from watchpoint_rows import count, one, organization, published, rows, watchpoint

from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.store import tables
from conftest import NOW, FixedClock


@pytest.fixture
async def site(jobs: Jobs) -> AsyncIterator[Site]:
    async for found in served(jobs):
        yield found


async def test_a_request_that_is_sent_twice_creates_one_watchpoint(site: Site, clock: FixedClock) -> None:
    """WPT-049: an Idempotency-Key is kept for a day with its answer; then it is free, and the clean-up's."""
    database = site.jobs.platform.database
    await tenant(database)
    headers = {**KEY, "Idempotency-Key": "k-1"}

    first, again = await asyncio.gather(
        *(site.client.post("/v1/watchpoints", json=BODY, headers=headers) for _ in range(2))
    )
    other = await site.client.post("/v1/watchpoints", json={**BODY, "name": "Pier"}, headers=headers)

    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert (other.status_code, other.json()["code"]) == (409, "key_reused")
    assert await count(database, tables.watchpoints) == 1
    kept = await one(database, tables.idempotency_keys)
    assert (kept["key"], kept["expires_at"]) == ("k-1", NOW + timedelta(hours=24))
    clock.now += timedelta(hours=24, seconds=1)
    later = await site.client.post("/v1/watchpoints", json={**BODY, "name": "Pier"}, headers=headers)
    assert later.status_code == 201
    assert await count(database, tables.watchpoints) == 2


async def test_a_request_that_is_refused_leaves_its_key_free(site: Site) -> None:
    """WPT-049: nothing was done, so the same request may be sent again once the plan has room."""
    database = site.jobs.platform.database
    await tenant(database, plan_limits={"watchpoints_max": 0})
    headers = {**KEY, "Idempotency-Key": "k-1"}

    full = await site.client.post("/v1/watchpoints", json=BODY, headers=headers)
    async with database.transaction() as transaction:
        await transaction.execute(update(tables.organizations).values(plan_limits={"watchpoints_max": 1}))
    room = await site.client.post("/v1/watchpoints", json=BODY, headers=headers)

    assert (full.status_code, room.status_code) == (403, 201)


async def test_a_list_goes_on_behind_its_last_watchpoint(site: Site) -> None:
    """WPT-027: an organisation with more watchpoints than a page sees all of them, also those of one moment."""
    database = site.jobs.platform.database
    owner = await tenant(database, plan="business")
    for number in range(5):
        await watchpoint(database, owner, id=f"wp-{number}", created_at=NOW - timedelta(days=number // 2))
    foreign = await watchpoint(database, await organization(database))

    seen: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = (await site.client.get("/v1/watchpoints", params={"limit": 2, **after}, headers=KEY)).json()
        seen += [found["id"] for found in page["watchpoints"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    wrong = await site.client.get("/v1/watchpoints", params={"after": foreign}, headers=KEY)

    assert seen == ["wp-0", "wp-1", "wp-2", "wp-3", "wp-4"]
    assert (wrong.status_code, wrong.json()["code"]) == (422, "bad_cursor")


async def test_a_plan_without_the_nowcast_has_no_watchpoints_of_it(site: Site) -> None:
    """WPT-031: `allow_nowcast` of the plan, or of the organisation's own limits."""
    database = site.jobs.platform.database
    await tenant(database, plan="free")
    nowcast = {**BODY, "conditions": {"model": "nowcast", "above": 0.7}}

    refused = await site.client.post("/v1/watchpoints", json=nowcast, headers=KEY)
    medium = await site.client.post("/v1/watchpoints", json=BODY, headers=KEY)
    async with database.transaction() as transaction:
        await transaction.execute(update(tables.organizations).values(plan_limits={"allow_nowcast": True}))
    allowed = await site.client.post("/v1/watchpoints", json=nowcast, headers=KEY)

    assert [answer.status_code for answer in (refused, medium, allowed)] == [403, 201, 201]
    assert "no nowcast" in refused.json()["detail"]


async def test_who_is_not_let_in_leaves_a_security_event(site: Site) -> None:
    """WPT-049: an unknown key, a wrong token, a wrong callback address and a failed login."""
    await site.client.get("/v1/watchpoints", headers={"X-API-Key": "other"})
    await site.client.post("/events", json={"task": "verification"}, headers={"Authorization": "Bearer x"})
    await site.client.post("/callbacks/runpod/wrong", json={"id": "x"})
    form = (await site.client.get("/login")).text.partition('name="csrf_token" value="')[2]
    guess = {"username": "ops", "password": "wrong", "csrf_token": form.partition('"')[0]}
    login = await site.client.post("/login", data=guess)
    assert login.status_code == 401, login.text

    found = await rows(site.jobs.platform.database, tables.security_events)

    assert sorted(row["event_type"] for row in found) == [
        "login_failed",
        "unknown_key",
        "wrong_callback",
        "wrong_token",
    ]
    assert {row["attempted_at"] for row in found} == {NOW}


async def test_a_watchpoint_that_triggers_notifies_once_and_in_quiet_hours_later(site: Site) -> None:
    """WPT-041: the evaluation worker tells what it found; quiet hours defer, a canary notifies nobody."""
    database = site.jobs.platform.database
    always = {"schedule": [{"days": ["wed"], "start": "00:00", "end": "23:00"}]}
    sleeper = await organization(database, notification_preferences={"quiet_hours": always})
    broken = await organization(database, notification_preferences={"quiet_hours": {"schedule": [3]}})
    awake = await organization(database)
    canary = {"system_role": "canary", "canary_expect_trigger": True}
    await watchpoint(database, sleeper, id="quiet")
    await watchpoint(database, awake, id="loud")
    await watchpoint(database, broken, id="unreadable")
    await watchpoint(database, awake, id="canary", metadata=canary)

    async def tell(watchpoint_id: str, has_triggered: bool = True) -> str | None:
        body = {"watchpoint_id": watchpoint_id, "has_triggered": has_triggered, "subject": "Rain"}
        answer = await site.client.post("/evaluations", json=body, headers=EVENTS)
        assert answer.status_code == 200, answer.text
        delivery_id: str | None = answer.json()["delivery_id"]
        return delivery_id

    told = {name: await tell(name) for name in ("quiet", "loud", "unreadable", "canary")}
    repeated = await tell("loud")
    await tell("loud", False)
    anew = await tell("loud")

    assert (told["canary"], repeated) == (None, None)
    assert anew is not None
    deliveries = {row["id"]: row for row in await rows(database, tables.notification_deliveries)}
    deferred = deliveries[str(told["quiet"])]
    assert (deferred["status"], deferred["next_retry_at"]) == ("deferred", NOW.replace(hour=23, minute=0))
    at_once = [told["loud"], told["unreadable"], anew]
    assert [deliveries[str(name)]["status"] for name in at_once] == ["pending"] * 3
    assert len(await published(site.jobs.platform.app)) == 3
    states = {
        row["watchpoint_id"]: row["has_triggered"] for row in await rows(database, tables.evaluation_state)
    }
    assert states == {"quiet": True, "loud": True, "unreadable": True, "canary": True}


async def test_evaluations_need_the_token_and_an_active_watchpoint(site: Site) -> None:
    """WPT-041: a clear answer, and nothing stored."""
    database = site.jobs.platform.database
    await watchpoint(database, await organization(database), id="gone", status="archived")
    body = {"watchpoint_id": "gone", "has_triggered": True}

    without = await site.client.post("/evaluations", json=body)
    archived = await site.client.post("/evaluations", json=body, headers=EVENTS)
    strange = await site.client.post("/evaluations", json={**body, "surprise": 1}, headers=EVENTS)

    assert [answer.status_code for answer in (without, archived, strange)] == [401, 404, 422]
    assert await count(database, tables.evaluation_state) == 0
