"""All seventeen tasks with every outside part, on both databases: something to do, then nothing, and trials."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from test_watchpoint_cleanup import audit_rows, put_many
from test_watchpoint_forecasts import cycles, put_gfs
from test_watchpoint_multiplexer import fill, run
from test_watchpoint_quality import a_forecast, calibrated
from watchpoint_rows import delivery, forecast_run, notification, organization, rows

from backstay_watchpoint.domain.catalogue import TASKS
from backstay_watchpoint.domain.forecasts import Model, output_prefix
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.local.world import World
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store import tables
from conftest import BUCKETS, NOW, LocalProvider, s3

OLD = NOW - timedelta(days=8)


@pytest.fixture
async def busy(connected: Jobs, provider: LocalProvider) -> AsyncIterator[Jobs]:
    """The platform with something to do for each of its tasks, and a worker that does it."""
    database = connected.platform.database
    await fill(database)
    headless = await organization(database, stripe_customer_id=None)
    await delivery(database, await notification(database, headless, created_at=NOW), next_retry_at=NOW)
    put_gfs(connected, cycles(1))
    await forecast_run(database, "nowcast", NOW - timedelta(minutes=40))
    await a_forecast(
        connected, World.drawn(3, tiles={"1.0": 1.0}, stations=1), Model.NOWCAST, NOW - timedelta(hours=30)
    )
    work = Work(database, NOW, connected.publisher)
    await calibrated(connected, work, provider, 1.05, runs=1, stations=30)
    await forecast_run(database, "nowcast", OLD, status="complete")
    put_many(connected, output_prefix("nowcast", OLD), 3)
    await audit_rows(database, 4, NOW - timedelta(days=800))
    async with connected.platform.app.working(concurrency=2, queues=["maintenance", "poll"]):
        yield connected


@pytest.mark.parametrize("outside_url", ["sqlite", "postgresql"], indirect=True)
async def test_all_tasks_with_all_outside_parts_have_nothing_left_the_second_time(
    busy: Jobs, provider: LocalProvider
) -> None:
    """WPT-003, WPT-005, WPT-007: each task finds something; forced again as of the same time it changes 0 items."""
    first, second = {}, {}
    for task in TASKS:
        first[task.name] = (await run(busy, task.name))["items"]
        await provider.settled()
        second[task.name] = (await run(busy, task.name, force=True))["items"]

    assert {name for name, items in first.items() if not items} == set()
    assert {name: items for name, items in second.items() if items} == {}
    for task in TASKS:
        booked = await rows(busy.platform.database, tables.task_runs, task=task.name)
        assert [row["items"] for row in sorted(booked, key=lambda row: row["id"])] == [first[task.name], 0]
        changes = await rows(busy.platform.database, tables.run_changes, run_id=booked[0]["id"])
        assert len(changes) == booked[0]["items"]


async def test_every_destructive_task_can_be_tried_without_effect(busy: Jobs) -> None:
    """WPT-045, WPT-048, WPT-050: no value and no object changes; the real run does as many as the trial said."""
    destructive = [task.name for task in TASKS if task.is_destructive]
    before = await everything(busy)

    tried = {name: await run(busy, name, dry_run=True) for name in destructive}

    assert await everything(busy) == before
    done = {name: (await run(busy, name))["items"] for name in destructive}
    assert {name: found["would_change"] for name, found in tried.items()} == done
    assert all(done.values())
    assert all(len(found["sample"]) == found["would_change"] for found in tried.values())
    assert tried["transition_forecasts"]["bytes"] == 3
    assert await everything(busy) != before


async def everything(jobs: Jobs) -> dict[str, Any]:
    """Every row of every table with all its values, but for the book of runs, and the objects of each bucket."""
    found: dict[str, Any] = {
        table.name: sorted(str(sorted(row.items())) for row in await rows(jobs.platform.database, table))
        for table in tables.metadata.sorted_tables
        if table.name != "task_runs"
    }
    for bucket in BUCKETS:
        listed = s3(jobs).list_objects_v2(Bucket=bucket).get("Contents", [])
        found[bucket] = [(entry["Key"], entry["ETag"]) for entry in listed]
    return found
