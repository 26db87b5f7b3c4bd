"""MONITORING_SCHEDULE: reckon due dates, write deadlines, move statuses on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from backstay import Context
from backstay_oblicore.domain.due_dates import (
    HORIZON,
    Due,
    NoDate,
    Situation,
    counts_from_completion,
    dues_until,
    next_due,
)
from backstay_oblicore.domain.due_rules import DueRule, EveryHours, frequency_of, rule_for, rule_from_json
from backstay_oblicore.domain.errors import OblicoreError
from backstay_oblicore.domain.run_hours import Run, reached_on
from backstay_oblicore.domain.words import Regulator
from backstay_oblicore.profile import kind_options
from backstay_oblicore.services import Services
from backstay_oblicore.store import audit, generators, obligations, people
from backstay_oblicore.store.database import Connection, from_json

KIND = "MONITORING_SCHEDULE"


def register(services: Services) -> Any:
    """Register the kind on the application."""

    @services.app.job(**kind_options(KIND))
    async def monitoring_schedule(
        ctx: Context,
        company_id: UUID | None = None,
        site_id: UUID | None = None,
        force_recalculate: bool = False,
        reference_time: datetime | None = None,
    ) -> dict[str, Any]:
        async with services.closing(ctx) as closing:
            counts = {"obligations": 0, "changed": 0, "deadlines": 0, "failed": 0}
            for company in await people.companies(closing.connection, company_id):
                today = company.today(ctx.now)
                await schedule_company(
                    closing.connection, company.id, site_id, today, counts, force_recalculate
                )
            ctx.log.info(
                "Schedules calculated", total_obligations=counts["obligations"], processed=counts["changed"]
            )
            closing.result |= counts
            closing.then(
                "DEADLINE_ALERT",
                options={"unique": f"after monitoring {company_id} {site_id}"},
                company_id=company_id,
                site_id=site_id,
                trigger_source="MONITORING_JOB",
                reference_time=reference_time,
            )
        return {}

    return monitoring_schedule


async def schedule_company(
    connection: Connection, company: UUID, site: UUID | None, today: date, counts: dict[str, int], force: bool
) -> None:
    """Reckon every open obligation of a company; one that cannot be reckoned is written down and passed over.

    Only what changed is written, so that an hour in which nothing happened costs two reads.
    """
    known = await obligations.known_deadlines(connection, company)
    rows = await obligations.to_schedule(connection, company, site)
    by_hours = any((from_json(row["due_rule"]) or {}).get("kind") == "EveryHours" for row in rows)
    ran = await generators.runs_by_document(connection, company) if by_hours else {}
    for row in rows:
        counts["obligations"] += 1
        if not row["frequency"] and not row["due_rule"]:
            continue
        try:
            plan = reckon(row, today, ran.get(row["document_id"], ()))
        except OblicoreError as error:
            counts["failed"] += 1
            await audit.write(
                connection,
                "SCHEDULE_CALCULATION_FAILED",
                entity_type="OBLIGATION",
                entity_id=row["id"],
                company=company,
                new={"error": str(error), "code": error.code},
            )
            continue
        await _save(connection, row, plan, known.get(row["id"], set()), counts, force)
    await obligations.move_statuses(connection, company, site, today=today)
    await obligations.move_next_dates(connection, company, site)


@dataclass(frozen=True)
class Plan:
    """What came of reckoning one obligation."""

    frequency: str
    base: date | None
    first: Due | NoDate
    ahead: list[Due]
    explanation: list[dict[str, str]]
    is_alone: bool  # later dates follow from when this one is answered


def reckon(row: Mapping[str, Any], today: date, ran: Sequence[Sequence[Run]] = ()) -> Plan:
    """Work out the next date of an obligation and those of the coming year; `ran` is what its machines ran."""
    rule, situation = reckoning(row)
    if isinstance(rule, EveryHours):
        since = situation.last_completed or situation.base or today
        reached = reached_on(ran, since=since, hours=Decimal(rule.hours))
        situation = replace(situation, hours_reached_on=reached)
    first = next_due(rule, situation)
    ahead = dues_until(rule, situation, until=today + HORIZON) if isinstance(first, Due) else []
    frequency = row["frequency"] or frequency_of(rule).value
    is_alone = counts_from_completion(rule)
    return Plan(frequency, situation.base, first, ahead, explain(first, rule), is_alone)


async def _save(
    connection: Connection,
    row: Mapping[str, Any],
    plan: Plan,
    known: set[date],
    counts: dict[str, int],
    force: bool,
) -> None:
    due = plan.first if isinstance(plan.first, Due) else None
    day = due.day if due else None
    if force or row["is_new"] or row["deadline_date"] != day:
        counts["changed"] += await obligations.save_due(
            connection, row["id"], due=day, explanation=plan.explanation
        )
    if due is None:
        return
    schedule = row["schedule_id"]
    stored = (row["plan_frequency"], row["plan_base"])
    if force or schedule is None or stored != (plan.frequency, plan.base) or row["deadline_date"] != day:
        shown = {**row, "frequency": plan.frequency}
        schedule = await obligations.save_schedule(connection, shown, base=plan.base, due=due)
    if plan.is_alone:
        await obligations.keep_only(connection, row["id"], due=due.day)
    missing = [one for one in plan.ahead if one.day not in known]
    if missing:
        counts["deadlines"] += await obligations.add_deadlines(connection, row, schedule, missing)


def reckoning(row: Mapping[str, Any]) -> tuple[DueRule, Situation]:
    """Put together what an obligation's dates are reckoned from."""
    created: datetime = row["created_at"]
    base = row["base_date"] or row["counted_from"] or row["paper_date"] or row["paper_created_at"].date()
    stored = from_json(row["due_rule"])
    rule = (
        rule_from_json(stored) if stored else rule_for(row["frequency"], base=base, rolling=row["is_rolling"])
    )
    written = {**from_json(row["paper_anchors"]), **from_json(row["anchors"])}
    anchors = {name: date.fromisoformat(day) for name, day in written.items()}
    if row["paper_date"]:
        anchors.setdefault("issue of the permit", row["paper_date"])
        anchors.setdefault("issue of the variation", row["paper_date"])
    # A duty that was typed in with its own base date is tracked from there; one that was read, from that day on.
    tracked_from = None if row["base_date"] or row["first_due_date"] else created.date()
    situation = Situation(
        base=base,
        first_due=row["first_due_date"] or (row["base_date"] if row["import_source"] else None),
        tracked_from=tracked_from,
        last_completed=row["last_completed_date"],
        completed_due=row["completed_due_date"],
        anchors=anchors,
        working_days_only=row["adjust_for_business_days"],
        regulator=Regulator(row["regulator"]),
        clause=row["condition_reference"] or "",
    )
    return rule, situation


def explain(found: Any, rule: DueRule) -> list[dict[str, str]]:
    """Write the reasons for a date, or for there being none, as rows for pages."""
    if isinstance(found, Due):
        return [{"step": step, "text": text} for step, text in found.steps]
    return [{"step": "rule", "text": str(rule)}, {"step": "no date", "text": found.reason}]
