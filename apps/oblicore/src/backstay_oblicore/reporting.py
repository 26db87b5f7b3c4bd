"""Annual emissions reports: asked for with the rights of whoever asks, drawn up by a job, found with their files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from backstay import JobHandle
from backstay_oblicore.domain import storage_paths
from backstay_oblicore.domain.errors import AccessDenied, InvalidRequest
from backstay_oblicore.services import Services
from backstay_oblicore.store.database import Connection, from_json

KIND = "AER_GENERATION"


async def generate(services: Services, request: Mapping[str, Any], *, user: UUID) -> JobHandle[Any]:
    """Hand a report to its job; the report's id will be the job's."""
    if request["reporting_period_end"] <= request["reporting_period_start"]:
        raise InvalidRequest("the reporting period ends before it begins")
    async with services.database.as_user(user) as connection:
        company = await connection.fetchval(
            "SELECT company_id FROM oblicore.documents WHERE id = $1 AND deleted_at IS NULL"
            " AND oblicore.may_change(company_id, site_id) AND ($2::uuid IS NULL OR company_id = $2)",
            request["document_id"],
            request.get("company_id"),
        )
    if company is None:
        raise AccessDenied("there is no such document, or you may not report on it")
    handle: JobHandle[Any] = (
        await services.handlers[KIND]
        .options(tenant=str(company), created_by=str(user))
        .enqueue(requested_by=user, **{**request, "company_id": company})
    )
    return handle


async def find(connection: Connection, report: UUID) -> Any:
    """Return a report with its document's title; none if it may not be seen or is not made yet."""
    return await connection.fetchrow(
        """
        SELECT one.id, one.document_id, one.company_id, one.reporting_period_start, one.reporting_period_end,
               one.submission_deadline, one.status, one.total_run_hours::text AS total_run_hours, one.is_validated,
               one.validation_errors, one.report, one.output_format, one.generated_file_path, paper.title
        FROM oblicore.aer_documents AS one
        JOIN oblicore.documents AS paper ON paper.id = one.document_id
        WHERE one.id = $1
        """,
        report,
    )


def forms_of(row: Any) -> list[str]:
    """Return the forms that a report can be taken in; its figures can always be read as JSON."""
    printed = {"PDF": ["pdf"], "CSV": ["csv"], "BOTH": ["pdf", "csv"]}[row["output_format"]]
    return [*printed, "json"]


def path_of_form(row: Any, form: str) -> str:
    """Return where a report's file is."""
    year = row["reporting_period_end"].year
    name = storage_paths.aer_pdf if form == "pdf" else storage_paths.aer_csv
    file = name(str(row["company_id"]), str(row["document_id"]), str(row["id"]), year=year).rpartition("/")[2]
    return f"{row['generated_file_path']}{file}"


def lines_of(row: Any) -> list[dict[str, Any]]:
    """Lay out what a report says about each generator, for a table."""
    return [
        {
            "identifier": one["identifier"],
            "hours": one["total_run_hours"],
            "fuel": one["fuel_consumption"],
            **one["emissions"],
            "tested": one["stack_tests"][0]["test_date"] if one["stack_tests"] else "never",
        }
        for one in from_json(row["report"]).get("generators", ())
    ]
