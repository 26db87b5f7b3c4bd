"""Reports are ordered and fetched."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Response

from backstay.kit import Actor, Authentication, not_found
from backstay_aeon.actions import submit
from backstay_aeon.handlers.report_gen import FORMATS
from backstay_aeon.services import Services
from backstay_aeon.web.callers import person


async def report_response(services: Services, report_id: UUID, team_id: UUID) -> Response:
    """A report as a file to keep."""
    row = await services.database.row(
        "SELECT kind, format, storage_key FROM aeon.reports WHERE id = $1 AND team_id = $2",
        report_id,
        team_id,
    )
    if row is None:
        raise not_found()
    name = f'attachment; filename="{row["kind"]}.{row["format"]}"'
    content = await services.files.get(row["storage_key"])
    return Response(content, media_type=FORMATS[row["format"]], headers={"Content-Disposition": name})


def add_routes(api: APIRouter, services: Services, auth: Authentication) -> None:
    """Order, list and fetch."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]
    database = services.database

    @api.post("/reports", status_code=202)
    async def report(actor: writer, body: dict[str, Any]) -> Any:
        given = {"job_type": "report_gen", "payload": body}
        return await submit.create(services, UUID(actor.tenant), person(actor), given)

    @api.get("/reports/{report_id}/file")
    async def report_file(actor: reader, report_id: UUID) -> Response:
        return await report_response(services, report_id, UUID(actor.tenant))

    @api.get("/reports")
    async def reports(actor: reader) -> Any:
        return await database.rows(
            "SELECT id, kind, format, size, sha256, period_from, period_to, created_at FROM aeon.reports"
            " WHERE team_id = $1 ORDER BY created_at DESC LIMIT 100",
            UUID(actor.tenant),
        )
