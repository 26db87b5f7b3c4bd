"""DEADLINE_ALERT: tell people of deadlines that come near or have passed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

from backstay import Context
from backstay_oblicore.domain import recipients
from backstay_oblicore.domain.alerts import Alert, deadline_alert
from backstay_oblicore.domain.recipients import Person
from backstay_oblicore.domain.words import AlertType
from backstay_oblicore.profile import kind_options
from backstay_oblicore.services import Services
from backstay_oblicore.store import notifications, obligations, people
from backstay_oblicore.store.notifications import Note

KIND = "DEADLINE_ALERT"


def register(services: Services) -> Any:
    """Register the kind on the application."""

    @services.app.job(**kind_options(KIND))
    async def deadline_alert_job(
        ctx: Context,
        company_id: UUID | None = None,
        site_id: UUID | None = None,
        trigger_source: Literal["CRON", "MONITORING_JOB"] = "CRON",
        reference_time: datetime | None = None,
    ) -> dict[str, Any]:
        async with services.closing(ctx) as closing:
            looked = unheard = 0
            for company in await people.companies(closing.connection, company_id):
                today = company.today(ctx.now)
                rows = await obligations.deadlines_to_tell(
                    closing.connection, company.id, site_id, today=today
                )
                known = await people.people_of(closing.connection, company.id)
                told = await notifications.told_about(closing.connection, [row["id"] for row in rows])
                for row in rows:
                    looked += 1
                    notes, missed = notes_for(row, today=today, people=known, told=told.get(row["id"], {}))
                    closing.notes += notes
                    unheard += missed
                await obligations.move_deadlines(closing.connection, company.id, site_id, today=today)
            if unheard:
                ctx.log.warning("Nobody to tell", deadlines=unheard)
            closing.result |= {"deadlines": looked, "alerts": len(closing.notes), "without_reader": unheard}
        return {}

    return deadline_alert_job


def notes_for(
    row: Mapping[str, Any], *, today: date, people: Sequence[Person], told: Mapping[str, Collection[str]]
) -> tuple[list[Note], int]:
    """Return the notes that a deadline has earned today, and one if there is nobody to tell.

    `told` is what each reader has had: a note that could not be written for one is made up for at the next look.
    """
    assigned = str(row["assigned_to"]) if row["assigned_to"] else None
    readers = recipients.for_deadline(assigned, site=str(row["site_id"]), people=people)
    notes = []
    for reader in [*readers, *(one for one in recipients.admins(people) if one not in readers)]:
        sent = {key.split(":", 2)[2] for key in told.get(reader, ())}
        alert = deadline_alert(row["due_date"], today=today, sent=sent, frequency=row["frequency"])
        if alert is None:
            continue
        if reader in readers:
            notes.append(_note(row, alert, reader, AlertType.DEADLINE_ALERT))
        elif readers and alert.escalates:
            notes.append(_note(row, alert, reader, AlertType.ESCALATION))
    return notes, 0 if readers else 1


def _note(row: Mapping[str, Any], alert: Alert, reader: str, alert_type: AlertType) -> Note:
    days, due = alert.days_remaining, row["due_date"]
    when = (
        "is overdue"
        if days < 0
        else "is due today"
        if days == 0
        else f"is due in {days} day{'s' * (days > 1)}"
    )
    reference = f" (condition {row['condition_reference']})" if row["condition_reference"] else ""
    return Note(
        user_id=reader,
        company_id=row["company_id"],
        site_id=row["site_id"],
        alert_type=alert_type,
        severity=alert.severity,
        priority=alert.priority,
        channels=alert.channels,
        title=f"{row['site_name']}: {row['summary'][:100]} {when}",
        message=f"{row['summary']}{reference} at {row['site_name']} {when}: {due:%-d %B %Y}.",
        entity_type="deadline",
        entity_id=row["id"],
        action_url=f"/obligations/{row['obligation_id']}",
        metadata={"days_remaining": days, "due_date": due.isoformat(), "clause": row["original_text"][:600]},
        dedupe_key=f"deadline:{row['id']}:{alert.key}",
    )
