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
import msgspec
import pytest
import uvicorn
from sqlalchemy import insert
from watchpoint_rows import count, forecast_run, one, organization, rows, watchpoint

from backstay import State
from backstay.records import JobFilter
from backstay_parts.browser import Visit, open_chromium
from backstay_parts.mail import MailServer
from backstay_parts.servers import free_port
from backstay_watchpoint.alarm import check_health
from backstay_watchpoint.domain import payloads
from backstay_watchpoint.domain.calibration import DEFAULT
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
from conftest import NOW, FixedClock, LocalProvider, s3, tls

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
        await _until(lambda: rows(database, tables.task_runs, status="success"))

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


async def test_operators_see_and_decide_in_a_browser(
    connected_site: Site, provider: LocalProvider, tmp_path: Path
) -> None:
    """WPT-005, WPT-036: strip, forecasts, quality with an approval, billing, retention with a dry run."""
    jobs, database = connected_site.jobs, connected_site.jobs.platform.database
    await _something_to_see(jobs)
    async with (
        jobs.platform.app.working(concurrency=2, queues=["maintenance"]),
        open_chromium(screenshots=tmp_path) as visit,
    ):
        page = visit.page
        await _log_in(visit, f"{connected_site.url}/ops")
        await page.get_by_text("archive_watchpoints").first.wait_for()
        await visit.screenshot("day")
        await page.goto(f"{connected_site.url}/ops/tasks/cleanup_soft_deletes")
        await page.get_by_role("button", name="Dry run").click()
        async with asyncio.timeout(60):
            while not await rows(database, tables.task_runs, is_dry_run=True, status="success"):
                await asyncio.sleep(0.05)
        await page.reload()
        await visit.screenshot("task")
        await page.goto(f"{connected_site.url}/ops/quality")
        await visit.screenshot("quality")
        await page.get_by_role("button", name="Approve").click()
        await page.get_by_text("Tile 1.0: promoted.").wait_for()
        for name in ("forecasts", "billing", "retention"):
            await page.goto(f"{connected_site.url}/ops/{name}")
            await visit.screenshot(name)
        await page.get_by_role("button", name="Restore").click()
        await page.get_by_text("is not a gzip file").wait_for()
        run = (await rows(database, tables.task_runs))[0]
        await page.goto(f"{connected_site.url}/ops/runs/{run['id']}")
        await visit.screenshot("run")

    assert visit.complaints == []
    assert (await one(database, tables.calibration_candidates))["decided_by"] == "ops"
    assert await count(database, tables.organizations) == 2
    assert len(list(tmp_path.glob("*.png"))) == 7


async def test_operators_run_fill_and_pause_a_task_in_a_browser(
    connected_site: Site, provider: LocalProvider, tmp_path: Path
) -> None:
    """WPT-003, WPT-006: a run as of another time, a back-fill that is previewed first, a pause with its reason."""
    jobs, database = connected_site.jobs, connected_site.jobs.platform.database
    async with (
        jobs.platform.app.working(concurrency=2, queues=["maintenance"]),
        open_chromium(screenshots=tmp_path) as visit,
    ):
        page, at = visit.page, f"{connected_site.url}/ops/tasks/trigger_digests"
        await _log_in(visit, at)
        await page.get_by_label("As of, in UTC").fill("2026-03-18T10:00")
        await page.get_by_role("button", name="Run", exact=True).click()
        await page.get_by_text("Asked for a run").wait_for()
        await _until(lambda: rows(database, tables.task_runs, status="success"))
        await page.get_by_label("From, in UTC").fill("2026-03-18T09:00")
        await page.get_by_label("To, in UTC").fill("2026-03-18T12:00")
        await page.get_by_role("button", name="Preview").click()
        await page.get_by_text("2 fires are missing").wait_for()
        await visit.screenshot("preview")
        await page.get_by_role("button", name="Back-fill 2").click()
        await page.get_by_text("Asked for 2 runs.").wait_for()
        await page.get_by_label("Reason").fill("the mail server moves")
        await page.get_by_role("button", name="Pause").click()
        await page.get_by_text("the mail server moves (ops)").wait_for()
        paused = await jobs.platform.app.schedules.get("trigger_digests")
        await visit.screenshot("paused")
        await page.get_by_role("button", name="Resume").click()
        await page.get_by_text("Resumed.").wait_for()

    assert visit.complaints == []
    assert (paused.pause_reason, paused.paused_by) == ("the mail server moves", "ops")
    asked = await rows(database, tables.task_runs, trigger="back_fill")
    assert {run["reference_time"].hour for run in asked} == {9, 11}
    [run] = await rows(database, tables.task_runs, trigger="manual")
    assert run["reference_time"] == NOW.replace(hour=10, minute=0)


async def test_an_operator_does_not_release_a_brake(
    connected_site: Site, provider: LocalProvider, tmp_path: Path
) -> None:
    """WPT-045: the waiting run is given up by name, and nothing is deleted."""
    jobs, database = connected_site.jobs, connected_site.jobs.platform.database
    for number in range(210):
        await organization(database, id=f"gone{number}", deleted_at=NOW - timedelta(days=40))
    async with (
        jobs.platform.app.working(concurrency=2, queues=["maintenance"]),
        open_chromium(screenshots=tmp_path) as visit,
    ):
        job = await jobs.enqueue(task_named("cleanup_soft_deletes"), trigger=Trigger.MANUAL)
        [braked] = await _until(lambda: rows(database, tables.task_runs, status="braked"))
        await _log_in(visit, f"{connected_site.url}/ops/runs/{braked['id']}")
        await visit.page.get_by_text("It waits for a person").wait_for()
        await visit.screenshot("braked")
        await visit.page.get_by_role("button", name="Do not release").click()
        await visit.page.get_by_text("ops did not release the brake").wait_for()

    assert visit.complaints == []
    assert (await jobs.platform.app.jobs.get(job.id)).state is State.CANCELLED
    assert (await one(database, tables.task_runs))["status"] == "failed"
    assert await count(database, tables.organizations) == 210


async def _log_in(visit: Visit, address: str) -> None:
    await visit.page.goto(address)
    await visit.page.get_by_label("Name").fill("ops")
    await visit.page.get_by_label("Password").fill("correct horse")
    await visit.page.get_by_role("button", name="Log in").click()


async def _until(look: Callable[[], Awaitable[list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    async with asyncio.timeout(60):
        while not (found := await look()):
            await asyncio.sleep(0.05)
    return found


async def _something_to_see(jobs: Jobs) -> None:
    database = jobs.platform.database
    owner = await organization(database, payment_failed_at=NOW)
    await organization(database, deleted_at=NOW - timedelta(days=31))
    await watchpoint(
        database, owner, name="Canary", metadata={"system_role": "canary", "canary_expect_trigger": True}
    )
    await forecast_run(database, "nowcast", NOW, status="failed", failure_reason="Timeout")
    s3(jobs).put_object(Bucket="watchpoint-archive", Key="audit/2024/x.ndjson.gz", Body=b"x")
    proposed = msgspec.to_builtins(msgspec.structs.replace(DEFAULT, mid_slope=0.03))
    async with database.transaction() as transaction:
        for table, values in (
            (
                tables.calibration_candidates,
                {
                    "id": "c1",
                    "tile_id": "1.0",
                    "current_coefficients": msgspec.to_builtins(DEFAULT),
                    "proposed_coefficients": proposed,
                    "violation_reason": "delta_exceeded_15_percent: mid_slope 0.02 → 0.03",
                    "created_at": NOW,
                },
            ),
            (
                tables.billing_drifts,
                {
                    "id": "d",
                    "organization_id": owner,
                    "ours": "pro/active",
                    "theirs": "free/x",
                    "found_at": NOW,
                },
            ),
            (
                tables.mirror_checks,
                {
                    "mirror": "noaa",
                    "source": "gfs",
                    "checked_at": NOW,
                    "error": "timeout",
                    "failures_in_a_row": 2,
                },
            ),
            *(
                (
                    tables.task_runs,
                    {
                        "task": "archive_watchpoints",
                        "job_id": f"j{quarter}",
                        "worker_id": "w",
                        "trigger": "scheduled",
                        "status": "failed" if quarter == 9 else "success",
                        "reference_time": NOW.replace(hour=quarter // 4, minute=quarter % 4 * 15),
                        "is_dry_run": False,
                        "is_forced": False,
                        "report": {},
                        "items": quarter,
                        "started_at": NOW,
                        "finished_at": NOW,
                    },
                )
                for quarter in range(20)
            ),
        ):
            await transaction.execute(insert(table).values(**values))
