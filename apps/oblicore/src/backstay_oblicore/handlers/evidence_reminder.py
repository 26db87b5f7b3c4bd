"""EVIDENCE_REMINDER: ask for evidence where none is linked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any
from uuid import UUID

from backstay import Context
from backstay_oblicore.domain import recipients, texts
from backstay_oblicore.domain.words import AlertType, Channel, Severity
from backstay_oblicore.profile import kind_options
from backstay_oblicore.services import Services
from backstay_oblicore.store import obligations, people
from backstay_oblicore.store.notifications import Note

KIND = "EVIDENCE_REMINDER"


def register(services: Services) -> Any:
    """Register the kind on the application."""

    @services.app.job(**kind_options(KIND))
    async def evidence_reminder(
        ctx: Context,
        company_id: UUID | None = None,
        site_id: UUID | None = None,
        reference_time: datetime | None = None,
    ) -> dict[str, Any]:
        async with services.closing(ctx) as closing:
            skipped = 0
            for company in await people.companies(closing.connection, company_id):
                today = company.today(ctx.now)
                known = await people.people_of(closing.connection, company.id)
                rows = await obligations.without_evidence(
                    closing.connection, company.id, site_id, today=today
                )
                for row in rows:
                    assigned = str(row["assigned_to"]) if row["assigned_to"] else None
                    reader = recipients.for_obligation(assigned, site=str(row["site_id"]), people=known)
                    if reader is None:
                        skipped += 1
                        ctx.log.warning("Nobody to remind", obligation_id=str(row["id"]))
                        continue
                    closing.notes.append(reminder(row, reader, today=today))
            closing.result |= {"reminders": len(closing.notes), "without_reader": skipped}
        return {}

    return evidence_reminder


def reminder(row: Mapping[str, Any], reader: str, *, today: date) -> Note:
    """Write the day's one reminder for an obligation."""
    due = row["deadline_date"]
    return Note(
        user_id=reader,
        company_id=row["company_id"],
        site_id=row["site_id"],
        alert_type=AlertType.EVIDENCE_REMINDER,
        severity=Severity.WARNING,
        channels=(Channel.EMAIL,),
        title=texts.EVIDENCE_TITLE.format(summary=row["summary"]),
        message=texts.EVIDENCE_MESSAGE.format(due=due),
        entity_type="obligation",
        entity_id=row["id"],
        action_url=f"/obligations/{row['id']}",
        metadata={"days_until_due": (due - today).days},
        dedupe_key=f"evidence:{row['id']}:{today}",
    )
