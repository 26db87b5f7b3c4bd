"""A year of schedules, day by day; the mail server is down for two days of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from uuid import UUID

from backstay_oblicore import measuring
from backstay_oblicore.demo.cast import plant
from backstay_oblicore.demo.stage import Stage
from backstay_oblicore.store import obligations

DAYS = 365
OUTAGE = (20, 22)
LOUD = "channel = 'SMS' OR channel = 'EMAIL' AND severity IN ('ERROR', 'CRITICAL')"


async def year(stage: Stage) -> None:
    """Live through a year."""
    _, generator = await plant(stage.services, stage.cast, stage.today)
    parameter = await _sampled(stage)
    down, up = OUTAGE
    async with stage.services.app.working(concurrency=6):
        for number in range(DAYS):
            day = stage.today + timedelta(days=number)
            if number == down:
                stage.mail.kill()
                stage.demo.event(f"{day}: the mail server is down")
            if number == up:
                await asyncio.to_thread(stage.mail.start)
                stage.demo.event(f"{day}: the mail server is back")
            await _day(stage, day, number, generator)
            if number % 30 == 0:
                stage.demo.row("the year", state=f"{day:%B %Y}", figures=await _messages(stage))
        await stage.until(lambda: _all_left(stage), "every loud message delivered")
    stage.demo.row("the year", state="over", figures=await _messages(stage))
    await _check(stage, generator, parameter)


async def _sampled(stage: Stage) -> UUID:
    """Let one parameter of the consent be sampled now, beyond its limit, and never again."""
    found: UUID = await stage.value(
        "INSERT INTO oblicore.parameters (document_id, company_id, site_id, parameter_type, sampling_frequency,"
        " limit_value, unit) SELECT id, company_id, site_id, 'Chlorine', 'MONTHLY', 400, 'mg/l'"
        " FROM oblicore.documents WHERE storage_path IS NOT NULL ORDER BY created_at LIMIT 1 RETURNING id"
    )
    await measuring.record_result(
        stage.services, found, day=stage.today, value=Decimal("412.5"), user=stage.cast.staff
    )
    return found


async def _day(stage: Stage, day: date, number: int, generator: UUID) -> None:
    if number % 7 == 0:
        if number // 7 < 50:
            await stage.rows(
                "INSERT INTO oblicore.run_hour_records (generator_id, company_id, recording_date, hours_recorded)"
                " VALUES ($1, $2, $3, 10.5) RETURNING id",
                generator,
                stage.cast.company,
                day,
            )
        await stage.run("MONITORING_SCHEDULE", day)
        for kind in ("RUN_HOUR_MONITORING", "PERMIT_RENEWAL_REMINDER", "SAMPLING_SCHEDULE"):
            await stage.run(kind, day)
    await stage.run("DEADLINE_ALERT", day)
    await _complete(stage, day)
    if number % 30 == 0:
        await stage.run("EVIDENCE_REMINDER", day)
        await stage.run("CONSULTANT_CLIENT_SYNC", day, sync_type="FULL")
    if number % 7 == 3:
        await stage.run("SEND_DIGESTS", day)


async def _complete(stage: Stage, day: date) -> None:
    """What is due is done on its day; a few things are left for the day after."""
    rows = await stage.rows(
        "SELECT id, deadline_date FROM oblicore.obligations WHERE company_id = $1 AND deadline_date <= $2"
        " AND status NOT IN ('COMPLETED', 'NOT_APPLICABLE') AND deleted_at IS NULL",
        stage.cast.company,
        day,
    )
    async with stage.services.database.connection() as connection:
        for row in rows:
            if row["deadline_date"] == day and row["id"].int % 40 == 0:
                continue
            await obligations.complete(connection, row["id"], on=day, user=None)


async def _check(stage: Stage, generator: UUID, parameter: UUID) -> None:
    demo = stage.demo
    levels = await stage.value(
        "SELECT count(DISTINCT metadata ->> 'threshold_level') FROM oblicore.notifications WHERE entity_id = $1",
        generator,
    )
    demo.check("levels of generator 3 that were told", expected=3, found=levels)
    renewals = await stage.value(
        "SELECT count(DISTINCT dedupe_key) FROM oblicore.notifications WHERE metadata ->> 'reminder_type' IS NOT NULL"
    )
    demo.check("renewal reminders (90, 30, 7 days)", expected=3, found=renewals)
    louder = await stage.rows(
        "SELECT DISTINCT severity FROM oblicore.notifications WHERE entity_id = $1 AND alert_type ="
        " 'EVIDENCE_REMINDER' ORDER BY 1",
        parameter,
    )
    demo.check(
        "the missed sample grew louder", expected=True, found="ERROR" in {row["severity"] for row in louder}
    )
    told = await stage.value(
        "SELECT count(DISTINCT user_id) FROM oblicore.notifications WHERE alert_type = 'EXCEEDANCE'"
        " AND entity_id = $1",
        parameter,
    )
    demo.check("people told of the result beyond its limit", expected=3, found=told)
    rows = await stage.rows(
        "SELECT id FROM oblicore.notifications WHERE channel = 'EMAIL' AND severity IN ('ERROR', 'CRITICAL')"
    )
    mails = Counter(str(one.message["Message-ID"]) for one in stage.mail.mails())
    copies = [mails[f"<{row['id']}@oblicore>"] for row in rows]
    demo.check("loud mails lost", expected=0, found=copies.count(0))
    demo.check("loud mails doubled", expected=0, found=sum(count > 1 for count in copies))


async def _all_left(stage: Stage) -> bool:
    waiting = await stage.value(
        f"SELECT count(*) FROM oblicore.notifications WHERE status = 'PENDING' AND ({LOUD})"
    )
    return int(waiting) == 0


async def _messages(stage: Stage) -> str:
    rows = await stage.rows("SELECT channel, count(*) AS n FROM oblicore.notifications GROUP BY 1 ORDER BY 1")
    return ", ".join(f"{row['n']} {row['channel']}" for row in rows)
