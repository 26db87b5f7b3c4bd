"""Many schedulers at once make every job once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import asyncpg
import pytest

from backstay.composition.connect import open_database, stores_on
from backstay.maintenance.scheduler import Scheduler
from backstay.model.events import silent
from backstay.model.schedules.schedule import Definition, JobTemplate, Schedule
from backstay.runtime.env import SYSTEM
from backstay.stores.database.migrate import migrate
from backstay.testing import PrivatePostgres
from backstay.testing.clock import FrozenClock

START = datetime(2026, 3, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SCHEDULES, ROUNDS, SCHEDULERS = 100, 100, 10


class NoHints:
    can_listen = False

    def send(self, *hints: str) -> None: ...


def a_schedule(name: str) -> Schedule:
    wanted = Definition(
        job=JobTemplate(kind="report", queue="default"),
        cron="* * * * *",
    )
    return Schedule(
        id=uuid4(),
        name=name,
        tenant="",
        declared=wanted,
        source="runtime",
        declared_by="test",
        next_fire_at=wanted.next_after(START),
        tzdata="x",
    )


@pytest.mark.prove
@pytest.mark.timeout(600)
async def test_ten_schedulers_over_ten_thousand_fires_make_ten_thousand_jobs(
    postgres_server: PrivatePostgres,
) -> None:
    postgres_server.create_database("race")
    url, clock = postgres_server.url("race"), FrozenClock(START)
    databases = [open_database(url, clock=clock) for _ in range(SCHEDULERS)]
    await migrate(databases[0])
    stores = [stores_on(database.lane("test")) for database in databases]
    for number in range(SCHEDULES):
        await stores[0].schedules.add(a_schedule(f"s{number}"), actor="test")

    async def fire(number: int) -> None:
        own = stores[number]
        scheduler = Scheduler(own.schedules, NoHints(), emit=silent, env=SYSTEM)  # type: ignore[arg-type]  # hints are of no use here
        while await scheduler.fire_due():
            pass

    for _ in range(ROUNDS):
        # Everybody reads the same hundred schedules, and everybody tries each of them.
        clock.advance(MINUTE)
        await asyncio.gather(*(fire(number) for number in range(SCHEDULERS)))
    for database in databases:
        await database.close()

    direct = await asyncpg.connect(url)
    jobs = await direct.fetchval("SELECT count(*) FROM backstay.jobs")
    times = await direct.fetchval(
        "SELECT count(DISTINCT (created_by, args::jsonb ->> 'reference_time')) FROM backstay.jobs"
    )
    counted = await direct.fetchval("SELECT sum(run_count) FROM backstay.schedules")
    due = await direct.fetchval("SELECT min(next_fire_at) FROM backstay.schedules")
    await direct.close()
    assert (jobs, times, counted) == (10_000, 10_000, 10_000)
    assert due == START + (ROUNDS + 1) * MINUTE
