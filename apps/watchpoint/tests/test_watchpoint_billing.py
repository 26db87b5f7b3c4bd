"""Usage, plan limits and enforcement on the database."""

from __future__ import annotations

import asyncio
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, insert, select, text
from watchpoint_rows import again, one, organization, rows, watchpoint

from backstay_watchpoint.services.enforcement import enforce_overage, enforce_payment_failure
from backstay_watchpoint.services.usage import count_request, snapshot_daily_usage
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store import tables
from backstay_watchpoint.store.database import Database

MIDNIGHT = datetime.fromisoformat("2026-03-18T00:00:00+00:00")
YESTERDAY = date(2026, 3, 17)


async def counter(
    database: Database, owner: str, source: str, calls: int, period_end: datetime, points: int = 0
) -> None:
    async with database.transaction() as transaction:
        await transaction.execute(
            insert(tables.rate_limits).values(
                organization_id=owner,
                source=source,
                api_calls_count=calls,
                watchpoints_count=points,
                period_start=period_end - timedelta(days=1),
                period_end=period_end,
            )
        )


async def used(database: Database, owner: str) -> dict[tuple[date, str], int]:
    found = await rows(database, tables.usage_history, organization_id=owner)
    return {(row["date"], row["source"]): row["api_calls"] for row in found}


async def test_ended_counters_are_closed_by_source(work: Work, database: Database, now: datetime) -> None:
    """WPT-027, WPT-028: each source keeps its own row; counters start anew; a second run changes nothing."""
    owner = await organization(database)
    await counter(database, owner, "web", 60, MIDNIGHT, points=3)
    await counter(database, owner, "api", 50, MIDNIGHT, points=2)
    await counter(database, owner, "app", 9, MIDNIGHT + timedelta(days=1))

    await snapshot_daily_usage(work)

    assert await used(database, owner) == {(YESTERDAY, "web"): 60, (YESTERDAY, "api"): 50}
    web = await one(database, tables.rate_limits, organization_id=owner, source="web")
    assert (web["api_calls_count"], web["watchpoints_count"]) == (0, 0)
    assert (web["period_start"], web["period_end"]) == (now, MIDNIGHT + timedelta(days=1))
    history = await one(database, tables.usage_history, organization_id=owner, source="web")
    assert (history["watchpoints"], history["notifications"]) == (3, 0)
    assert (await one(database, tables.rate_limits, organization_id=owner, source="app"))[
        "api_calls_count"
    ] == 9
    assert await snapshot_daily_usage(again(work)) == 0


async def test_three_missed_days_are_dated_right(work: Work, database: Database) -> None:
    """WPT-029: a row belongs to the day of its own period."""
    owner = await organization(database)
    for days in range(3):
        await counter(database, owner, f"s{days}", days + 1, MIDNIGHT - timedelta(days=days))

    await snapshot_daily_usage(work)

    assert await used(database, owner) == {
        (YESTERDAY - timedelta(days=days), f"s{days}"): days + 1 for days in range(3)
    }


async def test_a_second_snapshot_of_a_day_adds_up(work: Work, database: Database) -> None:
    """WPT-028: a conflict adds calls and keeps the larger stock."""
    owner = await organization(database)
    async with database.transaction() as transaction:
        await transaction.execute(
            insert(tables.usage_history).values(
                organization_id=owner,
                date=YESTERDAY,
                source="web",
                api_calls=5,
                watchpoints=9,
                notifications=0,
            )
        )
    await counter(database, owner, "web", 7, MIDNIGHT, points=2)

    await snapshot_daily_usage(work)

    row = await one(database, tables.usage_history, organization_id=owner)
    assert (row["api_calls"], row["watchpoints"]) == (12, 9)


async def test_fifty_requests_and_the_job_at_the_roll_over_lose_nothing(
    work: Work, database: Database, now: datetime
) -> None:
    """WPT-027: sums are conserved to the unit, with one snapshot."""
    owner = await organization(database)
    await counter(database, owner, "web", 17, MIDNIGHT)

    async def request() -> None:
        async with database.transaction() as transaction:
            await count_request(transaction, owner, "web", now)

    await asyncio.gather(
        *(request() for _ in range(25)), snapshot_daily_usage(work), *(request() for _ in range(25))
    )

    current = await one(database, tables.rate_limits, organization_id=owner)
    assert current["api_calls_count"] == 50
    assert await used(database, owner) == {(YESTERDAY, "web"): 17}


async def test_one_organisation_that_fails_does_not_stop_the_others(
    work: Work, postgres_url: str, jobs: Any
) -> None:
    """WPT-055: its transaction rolls back, the others go on."""
    database = Database(postgres_url)
    bad, good = await organization(database, id="a-bad"), await organization(database, id="b-good")
    await counter(database, bad, "web", 1, MIDNIGHT)
    await counter(database, bad, "api", 2, MIDNIGHT)
    await counter(database, good, "web", 3, MIDNIGHT)
    async with database.transaction() as transaction:
        await transaction.execute(
            text(
                "ALTER TABLE watchpoint.usage_history ADD CHECK (organization_id <> 'a-bad' OR source <> 'web')"
            )
        )
    run = Work(database, work.now, jobs.publisher)

    await snapshot_daily_usage(run)

    assert await used(database, bad) == {}
    assert await used(database, good) == {(YESTERDAY, "web"): 3}
    assert any("a-bad" in warning for warning in run.warnings)
    assert (
        sum(row["api_calls_count"] for row in await rows(database, tables.rate_limits, organization_id=bad))
        == 3
    )
    await database.close()


@pytest.mark.parametrize(("second", "is_cleared"), [(50, False), (40, True)])
async def test_the_sum_over_sources_decides_about_overage(
    work: Work, database: Database, now: datetime, second: int, is_cleared: bool
) -> None:
    """WPT-031: 60 + 50 over a limit of 100 is kept, 60 + 40 is cleared."""
    since = now - timedelta(days=5)
    limits = {"api_calls_daily_max": 100, "watchpoints_max": 5}
    owner = await organization(database, plan_limits=limits, overage_started_at=since)
    await counter(database, owner, "web", 60, MIDNIGHT)
    await counter(database, owner, "api", second, MIDNIGHT)

    await snapshot_daily_usage(work)

    row = await one(database, tables.organizations, id=owner)
    assert row["overage_started_at"] == (None if is_cleared else since)


async def test_active_watchpoints_count_though_the_counter_was_reset(
    work: Work, database: Database, now: datetime
) -> None:
    """WPT-030, WPT-031: the stock is counted apart, canaries not; the first day beyond sets the time."""
    owner = await organization(database, plan_limits={"watchpoints_max": 2})
    for _ in range(3):
        await watchpoint(database, owner)
    await watchpoint(database, owner, metadata={"system_role": "canary"})
    within = await organization(database, plan_limits={"watchpoints_max": 2})
    for _ in range(2):
        await watchpoint(database, within)
    await watchpoint(database, within, metadata={"system_role": "canary"})

    await snapshot_daily_usage(work)

    assert (await one(database, tables.organizations, id=owner))["overage_started_at"] == now
    assert (await one(database, tables.organizations, id=within))["overage_started_at"] is None


@pytest.mark.parametrize(("extra", "paused"), [(timedelta(), 0), (timedelta(seconds=1), 3)])
async def test_unpaid_watchpoints_are_paused_after_seven_days(
    work: Work, database: Database, now: datetime, extra: timedelta, paused: int
) -> None:
    """WPT-032: exactly seven days no, a second more yes; all of them; a second run none."""
    owner = await organization(database, payment_failed_at=now - timedelta(days=7) - extra)
    for _ in range(3):
        await watchpoint(database, owner)
    await watchpoint(database, await organization(database))

    assert await enforce_payment_failure(work) == paused

    found = await rows(database, tables.watchpoints, status="paused")
    assert [row["paused_reason"] for row in found] == ["billing_delinquency"] * paused
    assert await enforce_payment_failure(again(work)) == 0


@pytest.mark.parametrize(("extra", "paused"), [(timedelta(), 0), (timedelta(seconds=1), 3)])
async def test_the_newest_beyond_the_plan_are_paused_after_fourteen_days(
    work: Work, database: Database, now: datetime, extra: timedelta, paused: int
) -> None:
    """WPT-032: limit 5 with 8 pauses the 3 newest; a second run none."""
    started = now - timedelta(days=14) - extra
    owner = await organization(database, plan_limits={"watchpoints_max": 5}, overage_started_at=started)
    for number in range(8):
        await watchpoint(database, owner, id=f"w{number}", created_at=started + timedelta(minutes=number))

    assert await enforce_overage(work) == paused

    found = await rows(database, tables.watchpoints, status="paused")
    assert sorted(row["id"] for row in found) == ["w5", "w6", "w7"][:paused]
    assert {row["paused_reason"] for row in found} <= {"usage_overage"}
    assert await enforce_overage(again(work)) == 0


async def test_what_a_run_changed_is_counted(work: Work, database: Database, now: datetime) -> None:
    """WPT-051: the count is the number of changes."""
    owner = await organization(database, payment_failed_at=now - timedelta(days=8))
    for _ in range(3):
        await watchpoint(database, owner)

    assert await enforce_payment_failure(work) == len(work.changes) == 3
    assert {change.change for change in work.changes} == {"paused: billing_delinquency"}
    async with database.transaction() as transaction:
        paused = (
            select(func.count())
            .select_from(tables.watchpoints)
            .where(tables.watchpoints.c.status == "paused")
        )
        assert await transaction.scalar(paused) == 3


async def test_limits_that_cannot_be_read_stop_nobody_else(
    work: Work, database: Database, now: datetime
) -> None:
    """WPT-055: a plan that nobody knows and a limit that is no number are warned of; the others are judged."""
    long_ago = now - timedelta(days=15)
    strange = await organization(database, id="a-strange", plan="price_1", overage_started_at=long_ago)
    broken = await organization(
        database, id="b-broken", plan_limits={"watchpoints_max": "ten"}, overage_started_at=long_ago
    )
    over = await organization(
        database, id="c-over", plan_limits={"watchpoints_max": 1}, overage_started_at=long_ago
    )
    for owner in (strange, broken, over, over):
        await watchpoint(database, owner)
    within = await organization(database, id="d-within", overage_started_at=now)

    assert await snapshot_daily_usage(work) == 1
    enforcing = again(work)
    assert await enforce_overage(enforcing) == 1

    assert (await one(database, tables.organizations, id=within))["overage_started_at"] is None
    assert [row["organization_id"] for row in await rows(database, tables.watchpoints, status="paused")] == [
        over
    ]
    for told in (work.warnings, enforcing.warnings):
        assert ["no plan 'price_1'" in told[0], "not 'ten'" in told[1]] == [True, True]
