"""SAMPLING_SCHEDULE: remind of samples that consents ask for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any
from uuid import UUID

from backstay import Context
from backstay_oblicore.domain import recipients, sampling, texts
from backstay_oblicore.domain.errors import OblicoreError
from backstay_oblicore.domain.recipients import Person
from backstay_oblicore.domain.words import AlertType, Channel, Regulator, Severity
from backstay_oblicore.profile import kind_options
from backstay_oblicore.services import Services
from backstay_oblicore.store import audit, people
from backstay_oblicore.store.database import Connection
from backstay_oblicore.store.notifications import Note

KIND = "SAMPLING_SCHEDULE"


def register(services: Services) -> Any:
    """Register the kind on the application."""

    @services.app.job(**kind_options(KIND))
    async def sampling_schedule(
        ctx: Context,
        company_id: UUID | None = None,
        site_id: UUID | None = None,
        parameter_id: UUID | None = None,
        force_generate: bool = False,
        reference_time: datetime | None = None,
    ) -> dict[str, Any]:
        done: list[str] = []
        facts = {"parameter_ids": done, "execution_step": "planning samples"}
        async with services.remembering(ctx, facts), services.closing(ctx) as closing:
            companies = {one.id: one for one in await people.companies(closing.connection, company_id)}
            rows = await parameters(closing.connection, company_id, site_id, parameter_id)
            known: dict[UUID, list[Person]] = {}
            for number, row in enumerate(rows, start=1):
                company = companies.get(row["company_id"])
                if company is None:
                    continue
                if company.id not in known:
                    known[company.id] = await people.people_of(closing.connection, company.id)
                try:
                    today = company.today(ctx.now)
                    closing.notes += await _plan(
                        closing.connection, row, today, known[company.id], force_generate
                    )
                except (OblicoreError, ValueError, OverflowError) as error:
                    await _passed_over(closing.connection, row, error)
                done.append(str(row["id"]))
                line = texts.SAMPLING_PROGRESS.format(n=number, total=len(rows))
                ctx.progress(number, len(rows), line)
                ctx.log.info(line)
            closing.result |= {"parameters": len(done), "reminders": len(closing.notes)}
        return {}

    return sampling_schedule


async def _passed_over(connection: Connection, row: Mapping[str, Any], error: Exception) -> None:
    """Write a parameter down that cannot be planned; the others are not held up by it."""
    await audit.write(
        connection,
        "SAMPLING_PARAMETER_INVALID",
        entity_type="PARAMETER",
        entity_id=row["id"],
        company=row["company_id"],
        new={"error": str(error)},
    )


async def parameters(
    connection: Connection, company: UUID | None, site: UUID | None, parameter: UUID | None
) -> list[Any]:
    """Return the active parameters of active documents with their newest sample."""
    return await connection.fetch(
        """
        SELECT one.id, one.company_id, one.site_id, one.parameter_type, one.sampling_frequency, one.sampling_weekday,
               one.created_at, site.name AS site_name, site.regulator,
               (SELECT max(sample_date) FROM oblicore.lab_results WHERE parameter_id = one.id) AS last_sample
        FROM oblicore.parameters AS one
        JOIN oblicore.documents AS paper ON paper.id = one.document_id
        JOIN oblicore.sites AS site ON site.id = one.site_id
        WHERE one.is_active
          AND paper.status = 'ACTIVE'
          AND paper.deleted_at IS NULL
          AND ($1::uuid IS NULL OR one.company_id = $1)
          AND ($2::uuid IS NULL OR one.site_id = $2)
          AND ($3::uuid IS NULL OR one.id = $3)
        ORDER BY one.id
        """,
        company,
        site,
        parameter,
    )


async def _plan(
    connection: Connection, row: Mapping[str, Any], today: date, known: list[Person], force: bool
) -> list[Note]:
    frequency = row["sampling_frequency"] or sampling.default_frequency(row["parameter_type"])
    next_one = sampling.next_sample(
        frequency,
        last=row["last_sample"],
        created=row["created_at"].date(),
        weekday=row["sampling_weekday"],
        regulator=Regulator(row["regulator"]),
    )
    action = "SAMPLING_FREQUENCY_UNKNOWN" if next_one.assumed else "SAMPLING_SCHEDULE_GENERATED"
    await audit.write(
        connection,
        action,
        entity_type="PARAMETER",
        entity_id=row["id"],
        company=row["company_id"],
        new={"next_sample_date": next_one.date, "sampling_frequency": frequency},
    )
    severity = sampling.reminder_severity(next_one.date, today=today)
    if severity is None:
        return []
    readers = recipients.for_site(str(row["site_id"]), known)
    run = f"{today} forced" if force else f"{today}"
    late = (today - next_one.date).days
    return [_note(row, reader, severity, frequency, next_one.date, late, run) for reader in readers]


def _note(
    row: Mapping[str, Any], reader: str, severity: Severity, frequency: str, due: date, late: int, run: str
) -> Note:
    return Note(
        user_id=reader,
        company_id=row["company_id"],
        site_id=row["site_id"],
        alert_type=AlertType.EVIDENCE_REMINDER,
        severity=severity,
        priority=sampling.reminder_priority(frequency),
        channels=(Channel.IN_APP,),
        title=texts.SAMPLE_TITLE.format(parameter=row["parameter_type"]),
        message=texts.SAMPLE_MESSAGE.format(parameter=row["parameter_type"], site=row["site_name"]),
        entity_type="PARAMETER",
        entity_id=row["id"],
        action_url=f"/sampling/{row['id']}",
        metadata={"next_sample_date": due.isoformat(), "days_overdue": late},
        dedupe_key=f"sample:{row['id']}:{run}",
    )
