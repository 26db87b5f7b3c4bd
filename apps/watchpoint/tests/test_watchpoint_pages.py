"""The operations pages in a real browser; WATCHPOINT_SCREENSHOTS names a folder that keeps the pictures."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import insert
from test_watchpoint_web import Site, served, until
from watchpoint_rows import count, forecast_run, one, organization, rows, watchpoint

from backstay import State
from backstay_parts.browser import Visit, open_chromium
from backstay_watchpoint.domain.calibration import DEFAULT
from backstay_watchpoint.domain.catalogue import task_named
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.store import tables
from backstay_watchpoint.store.runs import Trigger
from conftest import NOW, LocalProvider, s3

SCREENSHOTS = os.environ.get("WATCHPOINT_SCREENSHOTS")
PAGES = ("", "/work", "/forecasts", "/quality", "/billing", "/retention", "/tasks/cleanup_soft_deletes")


@pytest.fixture
async def connected_site(connected: Jobs) -> AsyncIterator[Site]:
    async for found in served(connected):
        yield found


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """The folder for pictures of the pages."""
    return Path(SCREENSHOTS or tmp_path)


async def test_operators_see_and_decide_in_a_browser(
    connected_site: Site, provider: LocalProvider, pictures: Path
) -> None:
    """WPT-005, WPT-036: strip, forecasts, quality with an approval, billing, retention with a dry run."""
    jobs, database = connected_site.jobs, connected_site.jobs.platform.database
    await _something_to_see(jobs)
    async with (
        jobs.platform.app.working(concurrency=2, queues=["maintenance"]),
        open_chromium(screenshots=pictures) as visit,
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


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
async def test_every_page_fits_a_phone_and_the_night(
    connected_site: Site, provider: LocalProvider, pictures: Path, width: int, scheme: str
) -> None:
    """WPT-005: nothing sticks out to the side, and no page complains, on a phone and in dark colours."""
    jobs = connected_site.jobs
    await _something_to_see(jobs)
    async with (
        jobs.platform.app.working(concurrency=2, queues=["maintenance"]),
        open_chromium(screenshots=pictures, width=width, color_scheme=scheme) as visit,
    ):
        await _log_in(visit, f"{connected_site.url}/ops")
        await visit.page.get_by_text("archive_watchpoints").first.wait_for()
        run = (await rows(jobs.platform.database, tables.task_runs))[0]
        for path in (*PAGES, f"/runs/{run['id']}"):
            await visit.page.goto(f"{connected_site.url}/ops{path}")
            sticks_out = await visit.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            name = path.strip("/").partition("/")[0] or "day"
            await visit.screenshot(f"{name}-{width}-{scheme}")
            assert sticks_out <= 0, path

    assert visit.complaints == []


async def test_operators_run_fill_and_pause_a_task_in_a_browser(
    connected_site: Site, provider: LocalProvider, pictures: Path
) -> None:
    """WPT-003, WPT-006: a run as of another time, a back-fill that is previewed first, a pause with its reason."""
    jobs, database = connected_site.jobs, connected_site.jobs.platform.database
    async with (
        jobs.platform.app.working(concurrency=2, queues=["maintenance"]),
        open_chromium(screenshots=pictures) as visit,
    ):
        page, at = visit.page, f"{connected_site.url}/ops/tasks/trigger_digests"
        await _log_in(visit, at)
        await page.get_by_label("As of, in UTC").fill("2026-03-18T10:00")
        await page.get_by_role("button", name="Run", exact=True).click()
        await page.get_by_text("Asked for a run").wait_for()
        await until(lambda: rows(database, tables.task_runs, status="success"))
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
    connected_site: Site, provider: LocalProvider, pictures: Path
) -> None:
    """WPT-045: the waiting run is given up by name, and nothing is deleted."""
    jobs, database = connected_site.jobs, connected_site.jobs.platform.database
    for number in range(210):
        await organization(database, id=f"gone{number}", deleted_at=NOW - timedelta(days=40))
    async with (
        jobs.platform.app.working(concurrency=2, queues=["maintenance"]),
        open_chromium(screenshots=pictures) as visit,
    ):
        job = await jobs.enqueue(task_named("cleanup_soft_deletes"), trigger=Trigger.MANUAL)
        [braked] = await until(lambda: rows(database, tables.task_runs, status="braked"))
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


async def test_the_page_of_work_shows_locks_lanes_and_queues(
    connected_site: Site, provider: LocalProvider, pictures: Path
) -> None:
    """WPT-004: who holds which lock since when, how many jobs and messages wait, and which queue does not answer."""
    jobs, database = connected_site.jobs, connected_site.jobs.platform.database
    await jobs.platform.queues.create("notification-queue")
    await jobs.platform.queues.send("notification-queue", {"x": 1}, "m")
    row = {"task": "verification", "job_id": "j", "worker_id": "vm-7-abc", "trigger": "scheduled"}
    row |= {"status": "running", "lock_id": "verification:2026-03-18T00:00Z", "is_dry_run": False}
    async with database.transaction() as transaction:
        await transaction.execute(
            insert(tables.task_runs).values(**row, is_forced=False, report={}, started_at=NOW)
        )
    await jobs.enqueue(task_named("trigger_digests"), trigger=Trigger.MANUAL)

    async with open_chromium(screenshots=pictures) as visit:
        await _log_in(visit, f"{connected_site.url}/ops/work")
        await visit.page.get_by_text("verification:2026-03-18T00:00Z").wait_for()
        await visit.screenshot("work")
        text = await visit.page.locator("main").inner_text()

    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "vm-7-abc" in text
    assert "maintenance 1 0 0" in lines
    assert any(line.startswith("notification-queue 1") for line in lines), lines
    assert "QueueDoesNotExist" in text or "NonExistentQueue" in text
    assert visit.complaints == []
