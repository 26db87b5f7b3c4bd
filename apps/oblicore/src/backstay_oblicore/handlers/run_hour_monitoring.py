"""RUN_HOUR_MONITORING: compare running hours with their limits."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from backstay import Context
from backstay_oblicore.domain import recipients, run_hours, texts
from backstay_oblicore.domain.errors import OblicoreError
from backstay_oblicore.domain.recipients import Person
from backstay_oblicore.domain.run_hours import Breach, Period, Run
from backstay_oblicore.domain.words import AlertType, Channel, Priority
from backstay_oblicore.profile import kind_options
from backstay_oblicore.services import Closing, Services
from backstay_oblicore.store import audit, generators, notifications, people
from backstay_oblicore.store.notifications import Note

KIND = "RUN_HOUR_MONITORING"


def register(services: Services) -> Any:
    """Register the kind on the application."""

    @services.app.job(**kind_options(KIND))
    async def run_hour_monitoring(
        ctx: Context,
        company_id: UUID | None = None,
        generator_id: UUID | None = None,
        check_monthly: bool = True,
        check_annual: bool = True,
        reference_time: datetime | None = None,
    ) -> dict[str, Any]:
        facts: dict[str, Any] = {"generator_ids": [], "breaches": 0, "execution_step": "checking limits"}
        async with services.remembering(ctx, facts), services.closing(ctx) as closing:
            wanted = [Period.ANNUAL] * check_annual + [Period.MONTHLY] * check_monthly
            rows = await generators.active(closing.connection, company_id, generator=generator_id)
            companies = {one.id: one for one in await people.companies(closing.connection, company_id)}
            known: dict[UUID, list[Person]] = {}
            breaches = checked = 0
            for number, row in enumerate(rows, start=1):
                if row["company_id"] not in companies:
                    continue
                today = companies[row["company_id"]].today(ctx.now)
                if row["company_id"] not in known:
                    known[row["company_id"]] = await people.people_of(closing.connection, row["company_id"])
                breaches += await _check(ctx, closing, row, today, wanted, known[row["company_id"]])
                checked += 1
                facts["generator_ids"].append(str(row["id"]))
                facts["breaches"] = breaches
                line = texts.RUN_HOURS_PROGRESS.format(n=number, total=len(rows), breaches=breaches)
                ctx.progress(number, len(rows), line)
                ctx.log.info(line)
            closing.result |= {"generators": checked, "breaches": breaches}
        return {}

    return run_hour_monitoring


Sums = dict[Period, tuple[Decimal, Decimal | None, date]]


async def _check(
    ctx: Context, closing: Closing, row: Any, today: date, wanted: Collection[Period], known: list[Person]
) -> int:
    """Check one generator; one with bad facts is written down and passed over."""
    connection = closing.connection
    try:
        sums = _sums(row, await generators.runs(connection, row["id"]), today)
    except OblicoreError as error:
        await audit.write(
            connection,
            "RUN_HOURS_INVALID",
            entity_type="GENERATOR",
            entity_id=row["id"],
            company=row["company_id"],
            new={"error": str(error)},
        )
        return 0
    prefix = f"generator:{row['id']}:"
    sent = await notifications.sent_keys(connection, prefix, row["company_id"])
    told = {key.removeprefix(prefix) for key in sent}
    breaches = 0
    for period in wanted:
        hours, limit, start = sums[period]
        if not limit:
            ctx.log.info("No limit to check", generator=row["generator_identifier"], period=period.value)
            continue
        breach = run_hours.breach(hours, limit, period=period, period_start=start, told=told)
        if breach:
            breaches += 1
            closing.notes += _notes(row, breach, known)
    year, month = sums[Period.ANNUAL][0], sums[Period.MONTHLY][0]
    await generators.save_hours(connection, row["id"], year=year, month=month)
    return breaches


def _sums(row: Any, found: list[Run], today: date) -> Sums:
    year = run_hours.limit_year_start(row["anniversary_date"], today)
    month = today.replace(day=1)
    this_year = run_hours.total(found, since=year, until=today)
    this_month = run_hours.total(found, since=month, until=today)
    return {
        Period.ANNUAL: (this_year, row["annual_run_hour_limit"], year),
        Period.MONTHLY: (this_month, row["monthly_run_hour_limit"], month),
    }


def _notes(row: Any, breach: Breach, known: list[Person]) -> list[Note]:
    loud = (Channel.SMS,) if breach.level == 100 else ()
    return [
        Note(
            user_id=reader,
            company_id=row["company_id"],
            site_id=row["site_id"],
            alert_type=AlertType.BREACH,
            severity=breach.severity,
            priority=Priority.URGENT if breach.level == 100 else Priority.HIGH,
            channels=(Channel.IN_APP, Channel.EMAIL, *loud),
            title=breach.title,
            message=breach.message(row["generator_identifier"]),
            entity_type="GENERATOR",
            entity_id=row["id"],
            action_url=f"/generators/{row['id']}",
            metadata={
                "threshold_level": str(breach.level),
                "period": breach.period.value,
                "period_start": breach.period_start.isoformat(),
                "percentage": str(breach.percentage),
            },
            dedupe_key=f"generator:{row['id']}:{breach.key}",
        )
        for reader in recipients.for_site_and_admins(str(row["site_id"]), known)
    ]
