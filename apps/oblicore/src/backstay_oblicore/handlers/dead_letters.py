"""ALERT_DEAD_LETTERS: tell the right people of every job that has died, once."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from backstay import Context
from backstay_oblicore.domain import recipients, texts
from backstay_oblicore.domain.registry import JOB_TYPES
from backstay_oblicore.domain.words import AlertType, Channel, Severity
from backstay_oblicore.services import Closing, Services
from backstay_oblicore.store import audit, people
from backstay_oblicore.store.database import from_json
from backstay_oblicore.store.notifications import Note

KIND = "ALERT_DEAD_LETTERS"
TITLES = {
    "SAMPLING_SCHEDULE": texts.SAMPLING_FAILED,
    "RUN_HOUR_MONITORING": texts.RUN_HOURS_FAILED,
    "PERMIT_RENEWAL_REMINDER": texts.RENEWAL_FAILED,
}
DELIVERIES = ("DELIVER_NOTIFICATION", "SEND_DIGEST", "DELIVER_PACK")


def register(services: Services) -> Any:
    """Register the kind on the application."""

    @services.app.job(kind=KIND, queue="notification-delivery", priority=1)
    async def alert_dead_letters(ctx: Context, reference_time: datetime | None = None) -> dict[str, Any]:
        async with services.closing(ctx) as closing:
            rows = await closing.connection.fetch(
                """
                SELECT letter.job_id, letter.epoch, letter.job_type, letter.company_id, letter.error_message,
                       letter.retry_count, letter.error_context
                FROM oblicore.dead_letter_queue AS letter
                LEFT JOIN oblicore.announced_deaths AS told USING (job_id, epoch)
                WHERE told.job_id IS NULL
                ORDER BY letter.created_at, letter.job_id
                LIMIT 500
                """
            )
            unheard = [row for row in rows if not await _announce(closing, row)]
            if unheard:
                ctx.log.warning("Nobody to tell of a death: add a platform admin", letters=len(unheard))
            closing.result |= {"letters": len(rows) - len(unheard), "without_reader": len(unheard)}
        return {}

    return alert_dead_letters


async def _announce(closing: Closing, row: Any) -> bool:
    """Write down a death and tell of it; False if there is nobody to tell yet, so that it is looked at again."""
    connection = closing.connection
    context = from_json(row["error_context"])
    arguments = context.get("input_parameters") or {}
    company = _uuid(arguments.get("company_id")) or row["company_id"]
    known = await _existing_company(connection, company)
    await _close_subject(connection, row["job_type"], arguments, row["error_message"])
    readers = await _readers(connection, row["job_type"], arguments, company, context)
    if readers == []:
        return False
    await connection.execute(
        "INSERT INTO oblicore.announced_deaths (job_id, epoch) VALUES ($1, $2)", row["job_id"], row["epoch"]
    )
    await audit.write(
        connection,
        "JOB_ERROR",
        entity_type="BACKGROUND_JOB",
        entity_id=row["job_id"],
        company=known,
        previous=arguments,
        new={
            "job_type": row["job_type"],
            "error_message": row["error_message"],
            "retry_count": row["retry_count"],
            "context": {key: value for key, value in context.items() if key != "input_parameters"},
        },
    )
    closing.notes += [_note(row, reader, known) for reader in readers or ()]
    return True


async def _close_subject(connection: Any, kind: str, arguments: dict[str, Any], error: str | None) -> None:
    """A document or an import whose job is dead does not stay in work forever, however the job died."""
    if kind == "DOCUMENT_PROCESSING":
        await connection.execute(
            "UPDATE oblicore.documents SET extraction_status = 'FAILED', error_message = $2, updated_at = now()"
            " WHERE id = $1 AND extraction_status IN ('PENDING', 'PROCESSING')",
            _uuid(arguments.get("document_id")),
            error,
        )
    if kind == "EXCEL_IMPORT_PROCESSING":
        await connection.execute(
            "UPDATE oblicore.excel_imports SET status = 'FAILED', error_message = $2, updated_at = now()"
            " WHERE id = $1 AND status IN ('PENDING', 'PROCESSING', 'PENDING_REVIEW')",
            _uuid(arguments.get("import_id")),
            error,
        )


def _note(row: Any, reader: str, company: UUID | None) -> Note:
    job = JOB_TYPES.get(row["job_type"])
    is_delivery = row["job_type"] in DELIVERIES
    return Note(
        user_id=reader,
        company_id=company,
        alert_type=AlertType.SYSTEM,
        severity=job.failure_severity if job else Severity.WARNING,
        # The death of a delivery never makes a mail: it would die the same death.
        channels=(Channel.IN_APP,) if is_delivery else (Channel.EMAIL, Channel.IN_APP),
        title=TITLES.get(row["job_type"], texts.JOB_FAILED_TITLE.format(job_type=row["job_type"])),
        message=texts.JOB_FAILED.format(
            job_type=row["job_type"], retries=row["retry_count"], error=row["error_message"]
        ),
        entity_type="BACKGROUND_JOB",
        entity_id=row["job_id"],
        action_url="/operations",
        dedupe_key=f"death:{row['job_id']}:{row['epoch']}",
    )


async def _readers(
    connection: Any, kind: str, arguments: dict[str, Any], company: UUID | None, context: dict[str, Any]
) -> list[str] | None:
    """Return who hears of a death; None if nobody is to."""
    job = JOB_TYPES.get(kind)
    if job is not None and job.told == "nobody":
        return None
    if kind == "DELIVER_PACK":
        asked = await _asked_for_pack(connection, _uuid(arguments.get("distribution_id")))
        if asked:
            return [asked]
    if job is not None and job.told == "requester":
        asked = arguments.get("requested_by") or arguments.get("user_id")
        document = _uuid(arguments.get("document_id") or context.get("document_id"))
        if not asked and document:
            asked = await connection.fetchval(
                "SELECT uploaded_by FROM oblicore.documents WHERE id = $1", document
            )
        if asked and await connection.fetchval("SELECT TRUE FROM oblicore.users WHERE id = $1", _uuid(asked)):
            return [str(asked)]
    if company is not None:
        admins = recipients.admins(await people.people_of(connection, company))
        if admins:
            return admins
    return await people.platform_admins(connection)


async def _asked_for_pack(connection: Any, distribution: UUID | None) -> str | None:
    """Return who let a pack be sent: whoever it did not reach, the sender has to know."""
    asked = await connection.fetchval(
        "SELECT requested_by FROM oblicore.pack_distributions WHERE id = $1", distribution
    )
    return str(asked) if asked else None


async def _existing_company(connection: Any, company: UUID | None) -> UUID | None:
    if company is None:
        return None
    found: UUID | None = await connection.fetchval("SELECT id FROM oblicore.companies WHERE id = $1", company)
    return found


def _uuid(value: Any) -> UUID | None:
    try:
        return UUID(str(value)) if value else None
    except ValueError:
        return None
