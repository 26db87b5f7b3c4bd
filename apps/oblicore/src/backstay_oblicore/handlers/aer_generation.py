"""AER_GENERATION: draw up the annual emissions report; on 15 January, one job for each registration."""

from __future__ import annotations

import asyncio
from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

from backstay import Context
from backstay_oblicore import files
from backstay_oblicore.domain import recipients, storage_paths, texts
from backstay_oblicore.domain.emissions import Report, reckon
from backstay_oblicore.domain.errors import DocumentMissing, InvalidRequest, OblicoreError, PdfFailed
from backstay_oblicore.domain.words import AlertType, Channel, Severity
from backstay_oblicore.print.annual_report import report_csv, report_pdf
from backstay_oblicore.profile import kind_options
from backstay_oblicore.services import Closing, Services
from backstay_oblicore.store import audit, generators, people
from backstay_oblicore.store.database import insert
from backstay_oblicore.store.notifications import Note, write

KIND = "AER_GENERATION"


def register(services: Services) -> Any:
    """Register the kind on the application."""

    @services.app.job(**kind_options(KIND))
    async def aer_generation(
        ctx: Context,
        document_id: UUID | None = None,
        company_id: UUID | None = None,
        reporting_period_start: date | None = None,
        reporting_period_end: date | None = None,
        output_format: Literal["PDF", "CSV", "BOTH"] = "BOTH",
        include_draft_data: bool = False,
        requested_by: UUID | None = None,
        reference_time: datetime | None = None,
    ) -> dict[str, Any]:
        if document_id is None:
            await _fan_out(services, ctx, company_id)
            return {}
        if company_id is None or reporting_period_start is None or reporting_period_end is None:
            raise InvalidRequest(
                "a report needs document_id, company_id and both ends of the reporting period"
            )
        period = (reporting_period_start, reporting_period_end)
        work = _Work(services, ctx, document_id, company_id, requested_by)
        async with services.remembering(ctx, work.facts):
            try:
                await work.run(period, output_format, include_draft_data)
            except OblicoreError as error:
                await work.failed(error)
                raise
        return {}

    return aer_generation


async def _fan_out(services: Services, ctx: Context, company: UUID | None) -> None:
    """Let a draft for the last calendar year be made for each active registration, once."""
    year = ctx.now.year - 1
    async with services.closing(ctx) as closing:
        rows = await closing.connection.fetch(
            "SELECT id, company_id FROM oblicore.documents WHERE document_type = 'MCPD_REGISTRATION'"
            " AND status = 'ACTIVE' AND deleted_at IS NULL AND ($1::uuid IS NULL OR company_id = $1) ORDER BY id",
            company,
        )
        for row in rows:
            closing.then(
                KIND,
                options={"key": f"aer {row['id']} {year}", "tenant": str(row["company_id"])},
                document_id=row["id"],
                company_id=row["company_id"],
                reporting_period_start=date(year, 1, 1),
                reporting_period_end=date(year, 12, 31),
            )
        closing.result["reports"] = len(rows)


class _Work:
    def __init__(
        self, services: Services, ctx: Context, document: UUID, company: UUID, user: UUID | None
    ) -> None:
        self.services, self.ctx, self.document, self.company, self.user = (
            services,
            ctx,
            document,
            company,
            user,
        )
        self.done: list[str] = []
        # What a dead letter of this job says, however it died.
        self.facts: dict[str, Any] = {
            "document_id": str(document),
            "generators_processed": self.done,
            "validation_errors": [],
        }

    async def run(self, period: tuple[date, date], output_format: str, with_drafts: bool) -> None:
        """Reckon, print, store, write down."""
        services, ctx = self.services, self.ctx
        as_user = services.database.as_user(self.user) if self.user else services.database.as_service()
        async with as_user as connection:
            paper = await connection.fetchrow(
                "SELECT id, company_id, site_id, title, permit_number FROM oblicore.documents"
                " WHERE id = $1 AND company_id = $2 AND deleted_at IS NULL",
                self.document,
                self.company,
            )
            if paper is None:
                raise DocumentMissing(texts.DOCUMENT_ACCESS)
            report = await self._reckon(connection, period, with_drafts)
            self.facts["validation_errors"] = [one.as_json() for one in report.findings]
        year, aer = report.year, str(ctx.job_id)
        place = (str(self.company), str(self.document), aer)
        if output_format in ("PDF", "BOTH"):
            pdf = await self._print(report, paper)
            await files.save(
                services.storage, storage_paths.aer_pdf(*place, year=year), pdf, "application/pdf"
            )
        if output_format in ("CSV", "BOTH"):
            table = report_csv(report)
            await files.save(services.storage, storage_paths.aer_csv(*place, year=year), table, "text/csv")
        folder = storage_paths.aer_pdf(*place, year=year).rpartition("/")[0] + "/"
        async with services.closing(ctx, self.user) as closing:
            await self._store(closing, paper, report, folder=folder, output_format=output_format)

    async def _reckon(self, connection: Any, period: tuple[date, date], with_drafts: bool) -> Report:
        rows = await generators.active(connection, self.company, document=self.document)
        counted = []
        for number, row in enumerate(rows, start=1):
            counted.append(await generators.for_report(connection, row, with_drafts=with_drafts))
            self.done.append(str(row["id"]))
            line = texts.AER_PROGRESS.format(n=number, total=len(rows))
            self.ctx.progress(number, len(rows), line)
            self.ctx.log.info(line)
        start, end = period
        broken = await generators.incidents(connection, self.document, start, end)
        return reckon(
            counted,
            document_id=str(self.document),
            company_id=str(self.company),
            start=start,
            end=end,
            incidents=broken,
        )

    async def _print(self, report: Report, paper: Any) -> bytes:
        generated = self.ctx.now.date().isoformat()
        for attempt in (1, 2):
            try:
                return await asyncio.to_thread(
                    report_pdf,
                    report,
                    title=paper["title"],
                    permit_number=paper["permit_number"],
                    generated=generated,
                )
            except (ValueError, KeyError, TypeError) as error:
                if attempt == 2:
                    raise PdfFailed(f"the report could not be printed: {error}") from error
        raise AssertionError("the loop returns or raises")

    async def _store(
        self, closing: Closing, paper: Any, report: Report, *, folder: str, output_format: str
    ) -> None:
        shape = report.as_json()
        fuel = [{name: one[name] for name in ("id", "fuel_consumption")} for one in shape["generators"]]
        await insert(
            closing.connection,
            "aer_documents",
            id=self.ctx.job_id,
            job_id=self.ctx.job_id,
            document_id=self.document,
            company_id=self.company,
            site_id=paper["site_id"],
            reporting_period_start=report.start,
            reporting_period_end=report.end,
            submission_deadline=report.submission_deadline,
            generator_data=shape["generators"],
            fuel_consumption_data=fuel,
            emissions_data=report.emissions_json(),
            incidents_data=shape["incidents"],
            report=shape,
            total_run_hours=report.total_hours,
            is_validated=report.is_validated,
            validation_errors=shape["validation_errors"],
            generated_file_path=folder,
            output_format=output_format,
            generated_at=self.ctx.now,
            created_by=self.user,
        )
        await audit.write(
            closing.connection,
            "AER_GENERATED",
            entity_type="AER_DOCUMENT",
            entity_id=self.ctx.job_id,
            company=self.company,
            user=self.user,
            new={"total_run_hours": report.total_hours, "is_validated": report.is_validated},
        )
        message = texts.AER_DONE.format(start=report.start, end=report.end)
        readers = [str(self.user)] if self.user else await _owners(closing.connection, self.company)
        closing.notes += [self._note(reader, Severity.INFO, message, message) for reader in readers]
        closing.result |= {"total_run_hours": str(report.total_hours), "is_validated": report.is_validated}

    async def failed(self, error: OblicoreError) -> None:
        """Tell the requester once nothing will be tried any more."""
        findings = self.facts["validation_errors"]
        if self.user is None or (error.retryable and self.ctx.attempt < self.ctx.max_attempts):
            return
        details = f"{error}" + "".join(f"; {one['field']}: {one['error']}" for one in findings)
        async with self.services.database.as_service() as connection:
            note = self._note(
                str(self.user), Severity.ERROR, texts.AER_FAILED, f"{texts.AER_FAILED}: {details}"
            )
            written = await write(connection, [note], now=self.ctx.now)
        await self.services.deliver(written)

    def _note(self, reader: str, severity: Severity, title: str, message: str) -> Note:
        return Note(
            user_id=reader,
            company_id=self.company,
            alert_type=AlertType.SYSTEM,
            severity=severity,
            channels=(Channel.IN_APP, Channel.EMAIL),
            title=title,
            message=message,
            entity_type="AER_DOCUMENT",
            entity_id=self.ctx.job_id,
            action_url=f"/aer/{self.ctx.job_id}/download",
            dedupe_key=f"aer:{self.ctx.job_id}:{severity}",
        )


async def _owners(connection: Any, company: UUID) -> list[str]:
    return recipients.admins(await people.people_of(connection, company))
