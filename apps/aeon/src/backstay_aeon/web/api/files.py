"""Files are sent and looked into."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, File, UploadFile

from backstay.kit import Actor, Authentication, read_upload
from backstay_aeon.actions import submit, uploads
from backstay_aeon.services import Services
from backstay_aeon.store import files as file_store
from backstay_aeon.web.callers import person


def add_routes(api: APIRouter, services: Services, auth: Authentication) -> None:
    """Upload, list and read."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]
    database = services.database

    @api.post("/files", status_code=202)
    async def upload(actor: writer, file: Annotated[UploadFile, File()]) -> Any:
        content = await read_upload(file, most=services.settings.max_upload_mb * 1024 * 1024)
        team, user = UUID(actor.tenant), person(actor)
        kept = await uploads.keep(services, team, user, file.filename or "file", content)
        given = {"job_type": "file_processing", "payload": {"file_id": str(kept["id"])}}
        return {"file_id": str(kept["id"]), **await submit.create(services, team, user, given)}

    @api.get("/files")
    async def files(actor: reader) -> Any:
        return await database.rows(
            "SELECT id, name, size, sha256, mime, facts - 'text' AS facts, job_id, created_at FROM aeon.files"
            " WHERE team_id = $1 ORDER BY created_at DESC LIMIT 100",
            UUID(actor.tenant),
        )

    @api.get("/files/{file_id}")
    async def file(actor: reader, file_id: UUID) -> Any:
        async with database.connection() as connection:
            return await file_store.get(connection, file_id, UUID(actor.tenant))
