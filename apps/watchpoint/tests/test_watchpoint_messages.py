"""Digests, deferred notifications and the archiver: what they change and what they send."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection
from watchpoint_rows import (
    again,
    count,
    delivery,
    notification,
    one,
    organization,
    published,
    rows,
    watchpoint,
)

from backstay_watchpoint.domain.digests import next_digest
from backstay_watchpoint.handlers.publish_message import JobPublisher
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.services.archiver import archive_expired, archive_statement
from backstay_watchpoint.services.digests import trigger_digests
from backstay_watchpoint.services.notifications import notify, requeue_deferred_notifications
from backstay_watchpoint.services.summaries import generate_summary
from backstay_watchpoint.services.work import OutgoingMessage, Work
from backstay_watchpoint.store import tables
from backstay_watchpoint.store.database import Database

DAILY = {"digest": {"schedule": "12:00"}, "timezone": "Europe/Berlin"}


async def test_digests_that_are_due_are_asked_for(
    work: Work, database: Database, jobs: Jobs, now: datetime
) -> None:
    """WPT-023: due ones only; not deleted ones, not those that are off; both times are set."""
    due = await organization(
        database, notification_preferences=DAILY, next_digest_at=now - timedelta(minutes=40)
    )
    later = await organization(
        database, notification_preferences=DAILY, next_digest_at=now + timedelta(seconds=1)
    )
    await organization(database, next_digest_at=now - timedelta(days=1), deleted_at=now)
    await organization(database, next_digest_at=None)

    assert await trigger_digests(work) == 1

    row = await one(database, tables.organizations, id=due)
    assert row["next_digest_at"] == datetime.fromisoformat("2026-03-19T11:00+00:00")
    assert row["last_digest_generated_at"] == now
    assert (await one(database, tables.organizations, id=later))["next_digest_at"] == now + timedelta(
        seconds=1
    )
    [message] = await published(jobs.platform.app)
    assert message["queue"] == "notification-queue"
    assert message["dedupe_id"] == f"digest:{due}:2026-03-18T12:00Z"
    assert message["body"]["kind"] == "generate_digest"
    assert await trigger_digests(again(work)) == 0


async def test_digests_that_are_due_are_found_by_their_index(postgres_url: str, now: datetime) -> None:
    """WPT-023: by index."""
    database = Database(postgres_url)
    async with database.transaction() as transaction:
        await transaction.execute(text("SET LOCAL enable_seqscan = off"))
        due = (tables.organizations.c.next_digest_at <= now) & tables.organizations.c.deleted_at.is_(None)
        query = select(tables.organizations.c.id).where(due)
        plan = await _plan(transaction, query)
    await database.close()

    assert "idx_organizations_digest_due" in plan


async def test_three_days_down_make_one_digest(
    work: Work, database: Database, jobs: Jobs, now: datetime
) -> None:
    """WPT-025: one message, the next digest lies ahead."""
    down = await organization(
        database, notification_preferences=DAILY, next_digest_at=now - timedelta(days=3)
    )

    assert await trigger_digests(work) == 1
    assert await trigger_digests(again(work, minutes=1)) == 0
    assert (await one(database, tables.organizations, id=down))["next_digest_at"] > now


@pytest.mark.prove
@pytest.mark.timeout(900)
async def test_a_year_of_ticks_asks_for_one_digest_a_local_day(database: Database, jobs: Jobs) -> None:
    """WPT-023, WPT-024, WPT-026: by the service itself, in five zones with and without daylight saving."""
    zones = ("Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/New_York", "Pacific/Kiritimati")
    start = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    for zone in zones:
        for at in ("00:00", "02:30"):
            preferences = {"timezone": zone, "digest": {"schedule": at}}
            due = next_digest(preferences, start).at
            name = f"{zone}@{at.replace(':', '')}"
            await organization(database, id=name, notification_preferences=preferences, next_digest_at=due)

    for hour in range(1, 365 * 24 + 1):
        await trigger_digests(Work(database, start + timedelta(hours=hour), jobs.publisher))

    days: dict[str, Counter[Any]] = {}
    for message in await published(jobs.platform.app):
        owner = str(message["body"]["organization_id"])
        due = datetime.fromisoformat(str(message["body"]["due"]))
        days.setdefault(owner, Counter())[due.astimezone(ZoneInfo(owner.partition("@")[0])).date()] += 1
    assert len(days) == 10
    for owner, found in days.items():
        assert set(found.values()) == {1}, owner
        assert len(found) == (max(found) - min(found)).days + 1 >= 364, owner


async def test_a_failure_leaves_neither_message_nor_time(
    work: Work, database: Database, jobs: Jobs, now: datetime
) -> None:
    """WPT-026: message and update are one transaction."""
    first = await organization(database, id="a", notification_preferences=DAILY, next_digest_at=now)

    class Failing:
        async def publish(self, transaction: Any, messages: Any) -> None:
            await jobs.publisher.publish(transaction, messages)
            raise RuntimeError("the process dies here")

    with pytest.raises(RuntimeError, match="dies"):
        await trigger_digests(Work(database, now, Failing()))

    assert (await one(database, tables.organizations, id=first))["next_digest_at"] == now
    assert await published(jobs.platform.app) == []
    assert await trigger_digests(work) == 1


async def test_bad_preferences_warn_and_go_on(work: Work, database: Database, now: datetime) -> None:
    """WPT-055: a bad zone or schedule does not stop the others."""
    await organization(
        database, notification_preferences={"digest": {"schedule": "noon"}}, next_digest_at=now
    )
    await organization(database, notification_preferences=DAILY, next_digest_at=now)

    assert await trigger_digests(work) == 2
    assert "write 08:30" in work.warnings[0]


async def test_deferred_ones_are_sent_in_batches_until_none_is_due(
    database: Database, jobs: Jobs, now: datetime
) -> None:
    """WPT-040: 250 due ones are worked off by 100, 100 and 50; each message has its stored payload."""
    batches: list[int] = []

    class Counting(JobPublisher):
        async def publish(self, transaction: AsyncConnection, messages: Sequence[OutgoingMessage]) -> None:
            batches.append(len(messages))
            await super().publish(transaction, messages)

    counting = Counting(
        jobs.platform, publish=jobs.publish_message, canaries=jobs.check_canaries, results=jobs.check_canaries
    )
    owner = await organization(database)
    stored = await notification(database, owner)
    for number in range(250):
        await delivery(database, stored, next_retry_at=now - timedelta(seconds=number))
    early = await delivery(database, stored, next_retry_at=now + timedelta(seconds=1))
    sent = await delivery(database, stored, next_retry_at=now, status="sent")

    assert await requeue_deferred_notifications(Work(database, now, counting)) == 250

    assert batches == [100, 100, 50]
    states = {row["id"]: row["status"] for row in await rows(database, tables.notification_deliveries)}
    assert states.pop(early) == "deferred"
    assert states.pop(sent) == "sent"
    assert set(states.values()) == {"pending"}
    messages = await published(jobs.platform.app)
    assert len({message["dedupe_id"] for message in messages}) == len(messages) == 250
    assert messages[0]["body"]["payload"] == {"subject": "storm"}
    assert await requeue_deferred_notifications(Work(database, now, counting)) == 0


async def test_two_runners_send_each_once(work: Work, database: Database, jobs: Jobs, now: datetime) -> None:
    """WPT-040: two runners at once, each delivery once."""
    stored = await notification(database, await organization(database))
    for _ in range(120):
        await delivery(database, stored, next_retry_at=now)

    counts = await asyncio.gather(
        requeue_deferred_notifications(work, limit=10), requeue_deferred_notifications(again(work), limit=10)
    )

    assert sum(counts) == 120
    assert len({message["dedupe_id"] for message in await published(jobs.platform.app)}) == 120


async def test_quiet_hours_defer_a_notification(
    work: Work, database: Database, jobs: Jobs, now: datetime
) -> None:
    """WPT-041: quiet until their end in the organisation's zone; otherwise at once."""
    quiet = {
        "quiet_hours": {"enabled": True, "schedule": [{"start": "13:00", "end": "15:00"}]},
        "timezone": "Europe/Berlin",
    }
    sleeper = await organization(database, notification_preferences=quiet)
    awake = await organization(database)
    async with database.transaction() as transaction:
        waiting = await notify(transaction, jobs.publisher, sleeper, {"subject": "rain"}, now)
        ready = await notify(transaction, jobs.publisher, awake, {"subject": "rain"}, now)

    deferred = await one(database, tables.notification_deliveries, id=waiting)
    assert (deferred["status"], deferred["next_retry_at"]) == ("deferred", now.replace(hour=14, minute=0))
    assert (await one(database, tables.notification_deliveries, id=ready))["status"] == "pending"
    assert [message["dedupe_id"] for message in await published(jobs.platform.app)] == [f"delivery:{ready}"]


async def test_watchpoints_are_archived_an_hour_after_their_event(
    work: Work, database: Database, jobs: Jobs, now: datetime
) -> None:
    """WPT-038, WPT-039: 59 minutes no, 61 yes; as many messages and audit records as rows."""
    owner = await organization(database)
    recent = await watchpoint(database, owner, time_window_end=now - timedelta(minutes=59))
    passed = await watchpoint(database, owner, time_window_end=now - timedelta(minutes=61))
    paused = await watchpoint(database, owner, time_window_end=now - timedelta(days=1), status="paused")
    monitor = await watchpoint(database, owner)

    assert await archive_expired(work) == 1

    states = {row["id"]: row for row in await rows(database, tables.watchpoints)}
    assert [states[key]["status"] for key in (recent, paused, monitor)] == ["active", "paused", "active"]
    assert states[passed]["status"] == "archived"
    assert (states[passed]["archived_at"], states[passed]["archived_reason"]) == (now, "event_passed")
    [message] = await published(jobs.platform.app)
    assert message["queue"] == "eval-standard"
    assert message["body"]["action"] == "generate_summary"
    assert (message["body"]["watchpoint_id"], message["body"]["tile_id"]) == (passed, "1.0")
    [record] = await rows(database, tables.audit_logs)
    assert (record["action"], record["details"]["watchpoint_id"]) == ("watchpoint.archived", passed)
    assert await archive_expired(again(work)) == 0


async def test_the_archiver_uses_its_index(postgres_url: str, jobs: Jobs, now: datetime) -> None:
    """WPT-038: idx_watchpoints_archive_candidates."""
    database = Database(postgres_url)
    async with database.transaction() as transaction:
        await transaction.execute(text("SET LOCAL enable_seqscan = off"))
        statement = archive_statement(Work(database, now, jobs.publisher), timedelta(hours=1))
        plan = await _plan(transaction, statement)
    await database.close()

    assert "idx_watchpoints_archive_candidates" in plan


async def test_a_summary_reports_on_the_watchpoints_tile_and_time(database: Database, now: datetime) -> None:
    """WPT-039: the post-event report is computed from verification results and stored."""
    from watchpoint_rows import forecast_run

    owner = await organization(database)
    passed = await watchpoint(
        database, owner, time_window_start=now - timedelta(hours=6), time_window_end=now - timedelta(hours=2)
    )
    await add_state(database, passed)
    inside = await forecast_run(database, "nowcast", now - timedelta(hours=3), status="complete")
    outside = await forecast_run(database, "nowcast", now - timedelta(hours=9), status="complete")
    for run, value, tile in ((inside, 0.2, "1.0"), (outside, 0.9, "1.0"), (inside, 0.7, "5.5")):
        await add_result(database, run, tile, value, now)
    async with database.transaction() as transaction:
        report = await generate_summary(transaction, passed, now)
        assert await generate_summary(transaction, "gone", now) is None

    assert report is not None
    assert report.averages == {"precipitation_probability.brier": 0.2}
    assert (report.has_triggered, report.verified_runs) == (True, 1)
    assert (await one(database, tables.event_summaries))["report"] == report.as_json()
    assert await count(database, tables.event_summaries) == 1


async def add_state(database: Database, watchpoint_id: str) -> None:
    async with database.transaction() as transaction:
        await transaction.execute(
            tables.evaluation_state.insert().values(
                watchpoint_id=watchpoint_id,
                has_triggered=True,
                evaluated_at=datetime.fromisoformat("2026-03-18T00:00Z"),
            )
        )


async def add_result(database: Database, run: str, tile: str, value: float, at: datetime) -> None:
    async with database.transaction() as transaction:
        await transaction.execute(
            tables.verification_results.insert().values(
                forecast_run_id=run,
                location_id=f"S{tile}",
                tile_id=tile,
                variable="precipitation_probability",
                metric="brier",
                value=value,
                computed_at=at,
            )
        )


async def _plan(transaction: Any, statement: Any) -> str:
    from sqlalchemy.dialects import postgresql

    compiled = statement.compile(
        dialect=postgresql.dialect(),
        schema_translate_map={None: "watchpoint"},
        render_schema_translate=True,
        compile_kwargs={"literal_binds": True},
    )
    return "\n".join(row[0] for row in await transaction.execute(text(f"EXPLAIN {compiled}")))
