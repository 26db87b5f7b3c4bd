"""Routes of registers: upload, preview, confirm, give up."""

import json
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Form, Response, UploadFile

from backstay.kit import Problem, not_found, read_upload
from backstay_oblicore import intake
from backstay_oblicore.services import Services
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import user_of
from backstay_oblicore.web.api_bodies import told_in_http

MOST_BYTES = 10_000_001  # one more than is taken, so that the refusal is the import's own


def import_routes(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    """Add the routes."""
    _start_route(api, services, writer)

    @api.get("/obligations/import/{import_id}")
    @api.get("/obligations/import/{import_id}/preview")
    async def preview(actor: reader, import_id: UUID) -> dict[str, Any]:
        async with services.database.as_user(user_of(actor)) as connection:
            found = await queries.import_row(connection, import_id)
        if found is None:
            raise not_found()
        return found

    @api.post("/obligations/import/{import_id}/confirm", status_code=202)
    async def confirm(actor: writer, import_id: UUID) -> dict[str, Any]:
        async with told_in_http():
            job = await intake.confirm_import(services, import_id, user=user_of(actor))
            return {"job_id": str(job.id)}

    @api.delete("/obligations/import/{import_id}", status_code=204)
    async def cancel(actor: writer, import_id: UUID) -> Response:
        async with told_in_http():
            await intake.cancel_import(services, import_id, user=user_of(actor))
        return Response(status_code=204)


def _start_route(api: APIRouter, services: Services, writer: Any) -> None:
    @api.post("/obligations/import/excel", status_code=202)
    async def start(
        actor: writer,
        file: UploadFile,
        site_id: Annotated[UUID, Form()],
        options: Annotated[str, Form()] = "{}",
    ) -> dict[str, Any]:
        content = await read_upload(file, most=MOST_BYTES)
        async with told_in_http():
            found, job = await intake.add_import(
                services,
                content,
                user=user_of(actor),
                site=site_id,
                file_name=file.filename or "register.csv",
                options=_options(options),
            )
            return {"import_id": str(found), "job_id": str(job.id)}


def _options(text: str) -> dict[str, Any]:
    try:
        chosen = json.loads(text)
    except ValueError:
        chosen = None
    if not isinstance(chosen, dict):
        raise Problem(422, "invalid_options", "options must be a JSON object")
    return chosen
