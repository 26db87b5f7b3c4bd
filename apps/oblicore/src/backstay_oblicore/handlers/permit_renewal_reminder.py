"""PERMIT_RENEWAL_REMINDER: remind of documents that expire."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from backstay import Context
from backstay_oblicore.domain import recipients, texts
from backstay_oblicore.domain.alerts import RENEWAL_DAYS, renewal_reminder, renewal_severity
from backstay_oblicore.domain.errors import InvalidRequest
from backstay_oblicore.domain.words import AlertType, Channel
from backstay_oblicore.profile import kind_options
from backstay_oblicore.services import Services
from backstay_oblicore.store import notifications, people
from backstay_oblicore.store.notifications import Note

KIND = "PERMIT_RENEWAL_REMINDER"


def register(services: Services) -> Any:
    """Register the kind on the application."""

    @services.app.job(**kind_options(KIND))
    async def permit_renewal_reminder(
        ctx: Context,
        company_id: UUID | None = None,
        site_id: UUID | None = None,
        reminder_days: list[int] | None = None,
        reference_time: datetime | None = None,
    ) -> dict[str, Any]:
        days = reminder_days or list(RENEWAL_DAYS)
        if any(day < 0 for day in days):
            raise InvalidRequest("reminder_days are days before an expiry date: none may be negative")
        async with services.closing(ctx) as closing:
            looked = 0
            for company in await people.companies(closing.connection, company_id):
                today = company.today(ctx.now)
                known = await people.people_of(closing.connection, company.id)
                keys = await notifications.sent_keys(closing.connection, "renewal:", company.id)
                for row in await _expiring(closing.connection, company.id, site_id, today, max(days)):
                    looked += 1
                    prefix = f"renewal:{row['id']}:{row['expiry_date']}:"
                    sent = {int(key.removeprefix(prefix)) for key in keys if key.startswith(prefix)}
                    reached = renewal_reminder(row["expiry_date"], today=today, sent=sent, reminder_days=days)
                    if reached is None:
                        continue
                    left = (row["expiry_date"] - today).days
                    site = str(row["site_id"])
                    readers = recipients.for_renewal(reached, site=site, people=known)
                    closing.notes += [_note(row, reader, left, reached, prefix) for reader in readers]
            closing.result |= {"documents": looked, "reminders": len(closing.notes)}
        return {}

    return permit_renewal_reminder


async def _expiring(connection: Any, company: UUID, site: UUID | None, today: Any, most: int) -> list[Any]:
    found: list[Any] = await connection.fetch(
        "SELECT id, company_id, site_id, title, document_type, permit_number, expiry_date FROM oblicore.documents"
        " WHERE company_id = $1 AND ($2::uuid IS NULL OR site_id = $2) AND status = 'ACTIVE' AND deleted_at IS NULL"
        " AND expiry_date BETWEEN $3::date AND $3::date + $4::integer ORDER BY expiry_date, id",
        company,
        site,
        today,
        most,
    )
    return found


def _note(row: Any, reader: str, left: int, reached: int, prefix: str) -> Note:
    return Note(
        user_id=reader,
        company_id=row["company_id"],
        site_id=row["site_id"],
        alert_type=AlertType.DEADLINE_ALERT,
        severity=renewal_severity(reached),
        channels=(Channel.EMAIL, Channel.IN_APP),
        title=texts.RENEWAL_TITLE.format(days=left, title=row["title"]),
        message=texts.renewal_message(
            row["document_type"], number=row["permit_number"], expiry=row["expiry_date"]
        ),
        entity_type="DOCUMENT",
        entity_id=row["id"],
        action_url=f"/documents/{row['id']}",
        metadata={
            "reminder_type": "PERMIT_RENEWAL",
            "reminder_days": reached,
            "expiry_date": row["expiry_date"].isoformat(),
        },
        dedupe_key=f"{prefix}{reached}",
    )
