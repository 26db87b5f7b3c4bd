"""What requests of the API hold, and how their errors are told."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from decimal import Decimal
from typing import Literal
from uuid import UUID

from fastapi import Response
from fastapi.responses import JSONResponse
from pydantic import Field

from backstay.kit import (
    Problem,
    StrictModel,
    not_found,
)
from backstay_oblicore import files, reporting
from backstay_oblicore.domain.errors import AccessDenied, FileTooLarge, OblicoreError, TooManyRows
from backstay_oblicore.domain.run_hours import Purpose
from backstay_oblicore.domain.words import AlertType, PackType
from backstay_oblicore.services import Services
from backstay_oblicore.store.database import from_json


class AerRequest(StrictModel):
    """What an annual report is asked for with."""

    document_id: UUID
    company_id: UUID
    reporting_period_start: date
    reporting_period_end: date
    output_format: Literal["PDF", "CSV", "BOTH"] = "BOTH"
    include_draft_data: bool = False


class ResultBody(StrictModel):
    """A laboratory result."""

    sample_date: date
    value: Decimal


class HoursBody(StrictModel):
    """Running hours of a generator."""

    recording_date: date
    hours: Decimal
    purpose: Purpose = Purpose.OTHER


class PreferencesBody(StrictModel):
    """What somebody wants to be told."""

    muted: list[AlertType] = Field(default_factory=list)
    text_messages: bool = True
    quiet_from: int | None = Field(default=None, ge=0, le=23)
    quiet_until: int | None = Field(default=None, ge=0, le=23)


class PackBody(StrictModel):
    """What a pack is asked for with."""

    pack_type: PackType
    company_id: UUID
    date_range_start: date
    date_range_end: date
    document_id: UUID | None = None
    site_id: UUID | None = None
    obligation_statuses: list[str] = Field(default_factory=list)
    categories: list[str] = Field(default_factory=list)
    include_overdue_only: bool = False
    include_evidence_files: bool = True
    output_format: Literal["PDF", "ZIP"] = "PDF"
    recipient_type: str | None = None
    recipient_name: str | None = Field(default=None, max_length=200)
    purpose: str | None = Field(default=None, max_length=500)


class Recipient(StrictModel):
    """Somebody whom a pack goes to."""

    email: str = Field(max_length=254)
    name: str | None = Field(default=None, max_length=200)


class Distribution(StrictModel):
    """How a pack is sent."""

    distribution_method: Literal["EMAIL", "SHARED_LINK"]
    recipients: list[Recipient] = Field(default_factory=list, max_length=50)
    message: str | None = Field(default=None, max_length=5000)
    expires_in_days: int = Field(default=30, ge=1, le=365)


class Extraction(StrictModel):
    """How a document is read."""

    force_reprocess: bool = False


def problem_of(error: OblicoreError) -> Problem:
    """Say in HTTP what is wrong."""
    if isinstance(error, AccessDenied):
        return Problem(404, "not_found", str(error))
    if isinstance(error, FileTooLarge | TooManyRows):
        return Problem(413, error.code.lower(), str(error))
    return Problem(503 if error.retryable else 422, error.code.lower(), str(error))


@asynccontextmanager
async def told_in_http() -> AsyncIterator[None]:
    """Say in HTTP what goes wrong inside of it."""
    try:
        yield
    except OblicoreError as error:
        raise problem_of(error) from error


async def file_response(services: Services, path: str) -> Response:
    """Answer with a stored file, to be saved and never to be run."""
    name = path.rpartition("/")[2]
    try:
        content = await files.load(services.storage, path)
    except OblicoreError as error:
        raise problem_of(error) from error
    kinds = {"pdf": "application/pdf", "zip": "application/zip", "csv": "text/csv"}
    kind = kinds.get(name.rpartition(".")[2], "application/octet-stream")
    return Response(
        content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


async def report_file(services: Services, report: UUID, form: str, *, user: UUID) -> Response:
    """Answer with an annual report as PDF, CSV or JSON; the first form it has if none is asked for."""
    async with services.database.as_user(user) as connection:
        row = await reporting.find(connection, report)
    forms = reporting.forms_of(row) if row else []
    if not forms or (form and form not in forms):
        raise not_found()
    chosen = form or forms[0]
    if chosen == "json":
        return JSONResponse(from_json(row["report"]))
    return await file_response(services, reporting.path_of_form(row, chosen))
