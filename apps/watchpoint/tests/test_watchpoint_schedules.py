"""The schedules as they really fire, under a clock that the test moves: fire, lock, run, history."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from watchpoint_rows import rows

from backstay.testing import FrozenClock, Harness, harness
from backstay_parts.servers import free_port
from backstay_watchpoint.domain.fires import fires
from backstay_watchpoint.jobs import Jobs, build
from backstay_watchpoint.settings import Settings
from backstay_watchpoint.store import tables
from backstay_watchpoint.web.board import strip_of
from conftest import BASE_ENVIRONMENT

MIDNIGHT = datetime(2026, 3, 18, tzinfo=UTC)
QUARTER = timedelta(minutes=15)


@pytest.fixture
def fired(sqlite_base: Path, tmp_path: Path) -> Iterator[tuple[Jobs, Harness]]:
    """The platform a minute before midnight, with its schedules on and every mirror dead."""
    path = tmp_path / "watchpoint.db"
    path.write_bytes(sqlite_base.read_bytes())
    dead = f"noaa@http://127.0.0.1:{free_port()}"
    given = {
        **BASE_ENVIRONMENT,
        "SCHEDULES": "on",
        "WATCHPOINT_URL": f"sqlite:///{path}",
        **dict.fromkeys(("UPSTREAM_MIRRORS", "GOES_MIRRORS", "MRMS_MIRRORS"), dead),
    }
    clock = FrozenClock(MIDNIGHT - timedelta(minutes=1))
    jobs = build(Settings.from_environment(given), clock=clock)
    with harness(jobs.platform.app, clock=clock) as backstay:
        yield jobs, backstay


async def live(jobs: Jobs, backstay: Harness, quarters: int) -> None:
    """Let quarters of an hour pass, each with its fires and their runs."""
    await backstay.drain()
    for quarter in range(quarters):
        await backstay.travel(to=MIDNIGHT + quarter * QUARTER)
        await backstay.drain()


async def check(jobs: Jobs, quarters: int) -> None:
    """Each fire is one run, as of the time of the fire; nothing ran that no schedule asked for."""
    end = MIDNIGHT + quarters * QUARTER
    expected = Counter(
        (task.name, fire) for task in jobs.platform.tasks for fire in fires(task, MIDNIGHT, end)
    )
    found = await rows(jobs.platform.database, tables.task_runs)
    assert Counter((run["task"], run["reference_time"]) for run in found) == expected
    assert {run["trigger"] for run in found} == {"scheduled"}
    polls = {run["status"] for run in found if run["task"] == "poll_data"}
    others = {run["status"] for run in found if run["task"] != "poll_data"}
    assert (polls, others) == ({"failed"}, {"success"})
    assert len({run["lock_id"] for run in found}) == len(found)


async def test_two_hours_of_fires_are_the_runs_of_two_hours(fired: tuple[Jobs, Harness]) -> None:
    """WPT-001, WPT-003, WPT-004, WPT-005: schedule, lock, run and history, each fire once and as of its own time."""
    jobs, backstay = fired

    await live(jobs, backstay, 8)

    await check(jobs, 8)
    failed = [run for run in await rows(jobs.platform.database, tables.task_runs) if run["error"]]
    assert all("noaa@" in run["error"] for run in failed)
    await jobs.platform.database.close()


async def test_a_fire_that_comes_late_runs_as_of_its_own_time(fired: tuple[Jobs, Harness]) -> None:
    """WPT-003, WPT-006: no worker for forty minutes; the run bears the time of the fire, not that of the worker."""
    jobs, backstay = fired
    await backstay.drain()

    await backstay.travel(to=MIDNIGHT + timedelta(minutes=40))
    await backstay.drain()

    found = await rows(jobs.platform.database, tables.task_runs, task="reconcile_forecasts")
    assert [run["reference_time"] for run in found] == [MIDNIGHT]
    quarters = await rows(jobs.platform.database, tables.task_runs, task="requeue_deferred")
    assert [run["reference_time"] for run in quarters] == [MIDNIGHT + 2 * QUARTER]  # missed ones are one run
    async with jobs.platform.database.reading() as transaction:
        strip = await strip_of(transaction, jobs.platform.tasks, MIDNIGHT.date(), backstay.now)
    [row] = [row for row in strip if row.task == "requeue_deferred"]
    assert [str(cell) for cell in row.cells[0].cells] == ["missing", "missing", "done", "due"]
    await jobs.platform.database.close()


@pytest.mark.prove
@pytest.mark.timeout(600)
async def test_a_day_of_fires_is_a_day_of_runs(fired: tuple[Jobs, Harness]) -> None:
    """WPT-001, WPT-005: 343 fires of the inventory and two of the enforcement are 345 runs."""
    jobs, backstay = fired

    await asyncio.wait_for(live(jobs, backstay, 96), 500)

    await check(jobs, 96)
    assert len(await rows(jobs.platform.database, tables.task_runs)) == 345
    await jobs.platform.database.close()
