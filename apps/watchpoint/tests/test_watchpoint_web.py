"""The HTTP side over real sockets: tenants' API, events, callbacks, health, and the pages in a browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from sqlalchemy import insert
from watchpoint_rows import count, forecast_run, one, organization, rows, watchpoint

from backstay import State
from backstay.records import JobFilter
from backstay_parts.mail import MailServer
from backstay_parts.servers import free_port
from backstay_watchpoint.alarm import check_health
from backstay_watchpoint.domain import payloads
from backstay_watchpoint.domain.catalogue import TASKS, task_named
from backstay_watchpoint.domain.forecasts import Model
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.local.world import World
from backstay_watchpoint.outside.runpod import RunPod
from backstay_watchpoint.settings import Settings
from backstay_watchpoint.store import tables
from backstay_watchpoint.store.database import Database
from backstay_watchpoint.store.runs import Trigger
from backstay_watchpoint.web.server import build_server
from backstay_watchpoint.web.tenants import key_hash
from conftest import NOW, FixedClock, LocalProvider, tls

KEY = {"X-API-Key": "secret-key"}
EVENTS = {"Authorization": f"Bearer {'e' * 40}"}


@dataclass
class Site:
    """A server that runs in the test's own loop."""

    jobs: Jobs
    url: str
    client: httpx.AsyncClient


async def served(jobs: Jobs) -> AsyncIterator[Site]:
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(build_server(jobs), host="127.0.0.1", port=port, log_level="error")
    )
    task = asyncio.create_task(server.serve())
    async with asyncio.timeout(30):
        while not server.started:
            await asyncio.sleep(0.01)
    url = f"http://127.0.0.1:{port}"
    async with httpx.AsyncClient(base_url=url, timeout=30, verify=tls()) as client:
        yield Site(jobs, url, client)
    server.should_exit = True
    await task


@pytest.fixture
async def site(jobs: Jobs) -> AsyncIterator[Site]:
    async for found in served(jobs):
        yield found


@pytest.fixture
async def connected_site(connected: Jobs) -> AsyncIterator[Site]:
    async for found in served(connected):
        yield found


async def tenant(database: Database, **values: Any) -> str:
    owner = await organization(database, **values)
    async with database.transaction() as transaction:
        await transaction.execute(
            insert(tables.api_keys).values(
                key_hash=key_hash("secret-key"), organization_id=owner, source="web", created_at=NOW
            )
        )
    return owner


BODY = {"name": "Harbour", "latitude": 53.5, "longitude": 9.9}


async def test_a_key_is_an_organisation_and_a_source(site: Site) -> None:
    """WPT-027: requests are counted for the key's source; a foreign watchpoint does not exist."""
    database = site.jobs.platform.database
    owner = await tenant(database)
    foreign = await watchpoint(database, await organization(database))

    created = await site.client.post("/v1/watchpoints", json=BODY, headers=KEY)
    listed = await site.client.get("/v1/watchpoints", headers=KEY)
    shown = await site.client.get(f"/v1/watchpoints/{created.json()['id']}", headers=KEY)
    hidden = await site.client.get(f"/v1/watchpoints/{foreign}", headers=KEY)
    gone = await site.client.delete(f"/v1/watchpoints/{created.json()['id']}", headers=KEY)
    unknown = await site.client.get("/v1/watchpoints", headers={"X-API-Key": "other"})

    assert [answer.status_code for answer in (created, listed, shown, hidden, gone, unknown)] == [
        201,
        200,
        200,
        404,
        204,
        401,
    ]
    assert [found["name"] for found in listed.json()["watchpoints"]] == ["Harbour"]
    assert created.json()["tile_id"] == "1.0"
    counter = await one(database, tables.rate_limits, organization_id=owner)
    assert (counter["source"], counter["api_calls_count"], counter["watchpoints_count"]) == ("web", 5, 1)


@pytest.mark.parametrize(
    "body",
    [
        {**BODY, "latitude": 91},
        {**BODY, "surprise": 1},
        {"name": "x"},
        {**BODY, "time_window_start": "2026-03-18T10:00:00Z", "time_window_end": "2026-03-18T09:00:00Z"},
        {**BODY, "time_window_end": "2026-03-18T09:00:00"},
    ],
)
async def test_bad_watchpoints_are_refused_and_nothing_is_stored(site: Site, body: dict[str, Any]) -> None:
    """WPT-027: a clear answer, and no half of a row."""
    database = site.jobs.platform.database
    await tenant(database)

    answer = await site.client.post("/v1/watchpoints", json=body, headers=KEY)

    assert answer.status_code == 422
    assert "problem" in answer.headers["content-type"]
    assert await count(database, tables.watchpoints) == 0


async def test_the_plans_room_is_checked(site: Site) -> None:
    """WPT-030: active watchpoints count, though the day's counter was reset."""
    await tenant(site.jobs.platform.database, plan_limits={"watchpoints_max": 2})

    codes = [
        (await site.client.post("/v1/watchpoints", json=BODY, headers=KEY)).status_code for _ in range(3)
    ]

    assert codes == [201, 201, 403]


async def test_fifty_requests_over_the_roll_over_are_all_counted(site: Site, clock: FixedClock) -> None:
    """WPT-027: fifty requests while midnight passes and the job runs; closed and open is what was sent."""
    jobs, database = site.jobs, site.jobs.platform.database
    owner = await tenant(database)
    for _ in range(3):
        await site.client.get("/v1/watchpoints", headers=KEY)
    after = NOW.replace(hour=0, minute=0) + timedelta(days=1, seconds=1)

    async def ask(number: int) -> None:
        if number == 25:
            clock.now = after
            await jobs.enqueue(task_named("aggregate_usage"), trigger=Trigger.MANUAL, reference_time=after)
        assert (await site.client.get("/v1/watchpoints", headers=KEY)).is_success

    async with jobs.platform.app.working(concurrency=1, queues=["maintenance"]):
        await asyncio.gather(*(ask(number) for number in range(50)))
        await until(lambda: rows(database, tables.task_runs, status="success"))

    [closed] = await rows(database, tables.usage_history, organization_id=owner)
    current = await one(database, tables.rate_limits, organization_id=owner)
    assert closed["api_calls"] + current["api_calls_count"] == 53
    assert (closed["date"], closed["api_calls"] >= 3) == (NOW.date(), True)


async def test_events_ask_for_runs(site: Site) -> None:
    """WPT-003, WPT-005: the payload of EventBridge; the run is in the history as an event."""
    body = {"task": "trigger_digests", "reference_time": "2026-03-18T11:00:00Z"}
    accepted = await site.client.post("/events", json=body, headers=EVENTS)
    async with site.jobs.platform.app.working(concurrency=1, queues=["maintenance"]):
        async with asyncio.timeout(60):
            while not await rows(site.jobs.platform.database, tables.task_runs, status="success"):
                await asyncio.sleep(0.05)

    assert accepted.status_code == 202
    [row] = await rows(site.jobs.platform.database, tables.task_runs)
    assert (row["task"], row["trigger"], row["job_id"]) == (
        "trigger_digests",
        "event",
        accepted.json()["job_id"],
    )
    assert row["reference_time"] == datetime.fromisoformat("2026-03-18T11:00:00+00:00")


def event(**other: Any) -> dict[str, Any]:
    """An event as EventBridge sends it, if no input is set for the rule."""
    return {
        "version": "0",
        "id": "53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa",
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "123456789012",
        "time": "2026-03-18T11:00:00Z",
        "region": "us-east-1",
        "resources": ["arn:aws:events:us-east-1:123456789012:rule/trigger-digests"],
        "detail": {},
        **other,
    }


@pytest.mark.parametrize(
    ("body", "task", "at"),
    [
        (event(), "trigger_digests", "2026-03-18T11:00:00Z"),
        (event(detail={"task": "verification"}), "verification", "2026-03-18T11:00:00Z"),
        (
            event(detail={"task": "sync_stripe", "reference_time": "2026-03-17T00:00:00Z"}),
            "sync_stripe",
            "2026-03-17T00:00:00Z",
        ),
    ],
)
async def test_whole_events_of_eventbridge_name_task_and_time(
    site: Site, body: dict[str, Any], task: str, at: str
) -> None:
    """WPT-003, WPT-006: by the detail, or by rule and fire; one that comes late runs the period it was meant for."""
    answer = await site.client.post("/events", json=body, headers=EVENTS)

    assert (answer.status_code, answer.json()["task"]) == (202, task)
    [job] = (await site.jobs.platform.app.jobs.search()).jobs
    assert job.args["task"] == task
    assert datetime.fromisoformat(str(job.args["reference_time"])) == datetime.fromisoformat(at)


@pytest.mark.parametrize(
    ("body", "headers", "status", "said"),
    [
        ({"task": "verification"}, {}, 401, "events token"),
        ({"task": "verificaton"}, EVENTS, 422, "did you mean verification"),
        ({"task": "verification", "limit": 3}, EVENTS, 422, "task and reference_time only"),
        ({"task": "verification", "reference_time": "2026-03-18"}, EVENTS, 422, ""),
        ({"limit": -1}, EVENTS, 422, ""),
        ({"surprise": 1}, EVENTS, 422, ""),
        ({"backfill_hours": 2161}, EVENTS, 422, "2160"),
        ({"task": "verification", "reference_time": "0001-01-01T00:00:00Z"}, EVENTS, 422, "the year 1"),
        ({"task": "verification", "reference_time": "2026-03-19T00:00:00Z"}, EVENTS, 422, "after now"),
        (event(resources=["arn:aws:events:x:1:rule/nightly"]), EVENTS, 422, "no task 'nightly'"),
        (event(resources=[]), EVENTS, 422, "no task ''"),
        (event(detail="verification"), EVENTS, 422, "must be an object"),
        (event(detail={"task": "verification", "limit": 1}), EVENTS, 422, "task and reference_time only"),
        (event(time="yesterday"), EVENTS, 422, "reference_time"),
        (event(surprise=1), EVENTS, 422, "has no 'surprise'"),
    ],
)
async def test_bad_events_are_refused(site: Site, body: Any, headers: Any, status: int, said: str) -> None:
    """WPT-003, WPT-008: a clear answer, and no job."""
    answer = await site.client.post("/events", json=body, headers=headers)

    assert answer.status_code == status
    assert said in answer.text
    assert (await site.jobs.platform.app.jobs.search()).jobs == []


async def test_a_poll_event_carries_its_arguments(site: Site) -> None:
    """WPT-008: force_retry, backfill_hours and limit arrive."""
    body = {"force_retry": True, "backfill_hours": 6, "limit": 2}
    await site.client.post("/events", json=body, headers=EVENTS)

    [job] = (await site.jobs.platform.app.jobs.search(JobFilter(kind="poll_data"))).jobs
    assert {name: job.args[name] for name in body} == body


async def test_health_has_a_line_a_task(site: Site, clock: FixedClock) -> None:
    """WPT-005: 503 while a task is late."""
    answer = await site.client.get("/health")

    lines = answer.text.splitlines()
    assert answer.status_code == 503
    assert len(lines) == len(TASKS)
    assert "LATE poll_data last success never" in lines
    await succeeded(site.jobs.platform.database, NOW - timedelta(days=40))
    assert (await site.client.get("/health")).status_code == 503  # it ended just now and was about last month
    await succeeded(site.jobs.platform.database, NOW)
    well = await site.client.get("/health")
    assert well.status_code == 200
    assert f"ok poll_data last success {NOW:%Y-%m-%dT%H:%M:%SZ}" in well.text


async def succeeded(database: Database, reference_time: datetime) -> None:
    """Every task has just succeeded as of a time."""
    row = {"worker_id": "w", "trigger": "back_fill", "status": "success", "is_dry_run": False}
    row |= {"is_forced": False, "report": {}, "started_at": NOW, "finished_at": NOW}
    async with database.transaction() as transaction:
        for task in TASKS:
            values = {"task": task.name, "job_id": f"{task.name}@{reference_time}", **row}
            await transaction.execute(
                insert(tables.task_runs).values(reference_time=reference_time, **values)
            )


async def test_the_alarm_mails_what_the_health_page_says_though_no_worker_runs(
    site: Site, mail: MailServer, tmp_path: Path
) -> None:
    """WPT-005: the real page of a platform whose workers are away; one mail, also if cron asks again."""
    given = {"SMTP_HOST": mail.host, "SMTP_PORT": str(mail.port), "OPS_MAIL": "ops@x.org"}
    check = partial(check_health, Settings.from_environment(given), f"{site.url}/health", tmp_path / "told")

    assert [await check(NOW) for _ in range(3)] == [1, 1, 1]

    [told] = mail.mails(to="ops@x.org")
    assert "17 tasks are late" in told.text
    assert all(f"LATE {task.name} last success never" in told.text for task in TASKS)


async def test_metrics_count_drifts_and_runs(site: Site) -> None:
    """WPT-042: BillingStateDrift is a counter that can be scraped."""
    database = site.jobs.platform.database
    owner = await organization(database)
    async with database.transaction() as transaction:
        await transaction.execute(
            insert(tables.billing_drifts).values(
                id="d", organization_id=owner, ours="a", theirs="b", found_at=NOW
            )
        )

    assert "\nBillingStateDrift 1\n" in (await site.client.get("/metrics")).text


async def test_a_callback_completes_a_run_and_lets_the_canaries_be_checked(
    connected_site: Site, provider: LocalProvider
) -> None:
    """WPT-019, WPT-035: the provider is asked itself; a forged callback changes nothing."""
    from test_watchpoint_quality import a_forecast, verify

    from backstay_watchpoint.services.work import Work

    jobs, database = connected_site.jobs, connected_site.jobs.platform.database
    owner = await organization(database)
    await watchpoint(database, owner, metadata={"system_role": "canary", "canary_expect_trigger": True})
    world = World.drawn(3, tiles={"1.0": 1.0}, stations=1)
    await a_forecast(jobs, world, Model.NOWCAST, NOW - timedelta(hours=30))
    assert await verify(jobs, Work(database, NOW, jobs.publisher)) == 1
    [job] = await provider.settled()
    running = await forecast_run(database, "nowcast", NOW, external_id="forged")
    answering = jobs.platform.provider
    jobs.platform.provider = RunPod("http://127.0.0.1:1", "watchpoint", "key")

    async with jobs.platform.app.working(concurrency=2, queues=["maintenance"]):
        await held(jobs)  # the provider is away and cannot be asked
        jobs.platform.provider = answering
        wrong = await connected_site.client.post("/callbacks/runpod/wrong", json={"id": job["id"]})
        forged = {"id": "forged", "status": "COMPLETED"}
        await connected_site.client.post(f"/callbacks/runpod/{'c' * 40}", json=forged)
        assert await count(database, tables.alerts) == 0
        told = await connected_site.client.post(f"/callbacks/runpod/{'c' * 40}", json={"id": job["id"]})
        async with asyncio.timeout(60):
            while not await count(database, tables.alerts):
                await asyncio.sleep(0.05)

    assert (wrong.status_code, told.json()) == (404, {"state": "completed"})
    assert (await one(database, tables.forecast_runs, id=running))["status"] == "running"
    assert (await one(database, tables.alerts))["name"] == "CanaryMissedTrigger"


async def test_a_callback_that_comes_too_early_is_asked_for_again(
    connected_site: Site, provider: LocalProvider
) -> None:
    """A job may end before its id is stored, and the provider may be away: neither callback is lost."""
    jobs, database = connected_site.jobs, connected_site.jobs.platform.database
    address = f"/callbacks/runpod/{'c' * 40}"
    month = payloads.TimeRange(NOW - timedelta(days=30), NOW)
    payload = payloads.calibration(["1.0"], month, "s3://watchpoint-forecasts/")
    external_id = await jobs.platform.provider.trigger(payload)
    await provider.settled()

    early = await connected_site.client.post(address, json={"id": external_id})
    run = await forecast_run(database, "nowcast", NOW, external_id=external_id)
    again = await connected_site.client.post(address, json={"id": external_id})
    jobs.platform.provider = RunPod("http://127.0.0.1:1", "watchpoint", "key")
    away = await connected_site.client.post(address, json={"id": external_id})

    assert (early.status_code, early.json()["code"]) == (503, "not_known_yet")
    assert (again.status_code, again.json()) == (200, {"state": "completed"})
    assert (await one(database, tables.forecast_runs, id=run))["status"] == "complete"
    assert (away.status_code, away.json()["code"]) == (503, "provider_unreachable")


async def held(jobs: Jobs) -> None:
    async with asyncio.timeout(60):
        while True:
            found = (await jobs.platform.app.jobs.search(JobFilter(kind="check_canaries"))).jobs
            if found and found[0].state is State.HELD:
                return
            await asyncio.sleep(0.05)


async def test_pages_need_a_login(site: Site) -> None:
    """WPT-005: operations are for operators."""
    for path in (
        "/ops",
        "/ops/forecasts",
        "/ops/quality",
        "/ops/billing",
        "/ops/retention",
        "/ops/tasks/poll_data",
    ):
        answer = await site.client.get(path)
        assert answer.status_code in (303, 401), path
    posted = await site.client.post("/ops/tasks/cleanup_soft_deletes/run")
    assert posted.status_code in (303, 401, 403)
    assert (await site.jobs.platform.app.jobs.search()).jobs == []


async def until(look: Callable[[], Awaitable[list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    async with asyncio.timeout(60):
        while not (found := await look()):
            await asyncio.sleep(0.05)
    return found
