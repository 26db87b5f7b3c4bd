"""Tables come in, are corrected, and go out again."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, File, Form, Response, UploadFile

from backstay.kit import Actor, Authentication, read_upload
from backstay_aeon.actions import imports
from backstay_aeon.domain.imports.columns import as_json, read_dataset
from backstay_aeon.services import Services
from backstay_aeon.store import imports as import_store
from backstay_aeon.web.callers import object_of, person


def add_routes(api: APIRouter, services: Services, auth: Authentication) -> None:
    """Every path of imports."""
    for add in (_begin, _read, _go_on, _correct):
        add(api, services, auth)


def _begin(api: APIRouter, services: Services, auth: Authentication) -> None:
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]

    @api.post("/datasets/{name}", status_code=201)
    async def dataset(actor: writer, name: str, body: dict[str, Any]) -> Any:
        made = read_dataset(name, body)
        async with services.database.connection() as connection:
            await import_store.save_dataset(connection, UUID(actor.tenant), made)
        return as_json(made)

    @api.post("/imports", status_code=202)
    async def begin(
        actor: writer,
        file: Annotated[UploadFile, File()],
        dataset: Annotated[str, Form()],
        dry_run: Annotated[bool, Form()] = False,
        mapping: Annotated[str, Form()] = "",
        on_error: Annotated[str, Form()] = "skip",
        batch_size: Annotated[int, Form()] = 1000,
    ) -> Any:
        content = await read_upload(file, most=services.settings.max_upload_mb * 1024 * 1024)
        team, user = UUID(actor.tenant), person(actor)
        made = await imports.begin(
            services,
            team,
            user,
            name=file.filename or "file",
            content=content,
            dataset=dataset,
            mapping=object_of(mapping, "mapping"),
            on_error=on_error,
            batch_size=batch_size,
        )
        job = await imports.start(services, team, user, made, dry_run=dry_run)
        return {"import_id": str(made), "job_id": job}


def _read(api: APIRouter, services: Services, auth: Authentication) -> None:
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]

    @api.get("/imports")
    async def listed(actor: reader) -> Any:
        return await import_store.of_team(services.database, UUID(actor.tenant))

    @api.get("/imports/{import_id}")
    async def shown(actor: reader, import_id: UUID) -> Any:
        return await imports.show(services, UUID(actor.tenant), import_id)

    @api.get("/imports/{import_id}/rejects")
    async def rejects(actor: reader, import_id: UUID) -> Response:
        content = await imports.rejects(services, UUID(actor.tenant), import_id)
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        name = f'attachment; filename="rejects-{import_id}.xlsx"'
        return Response(content, media_type=kind, headers={"Content-Disposition": name})

    @api.get("/imports/{import_id}/receipt")
    async def receipt(actor: reader, import_id: UUID) -> Any:
        return await imports.receipt(services, UUID(actor.tenant), import_id)


def _go_on(api: APIRouter, services: Services, auth: Authentication) -> None:
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]

    @api.put("/imports/{import_id}/mapping")
    async def remap(actor: writer, import_id: UUID, body: dict[str, Any]) -> Any:
        return await imports.remap(services, UUID(actor.tenant), import_id, body)

    @api.post("/imports/{import_id}/start", status_code=202)
    async def start(actor: writer, import_id: UUID, dry_run: bool = False) -> Any:
        team, user = UUID(actor.tenant), person(actor)
        return {"job_id": await imports.start(services, team, user, import_id, dry_run=dry_run)}

    @api.post("/imports/{import_id}/undo", status_code=202)
    async def undo(actor: writer, import_id: UUID) -> Any:
        return {"job_id": await imports.undo(services, UUID(actor.tenant), person(actor), import_id)}


def _correct(api: APIRouter, services: Services, auth: Authentication) -> None:
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]

    @api.post("/imports/{import_id}/rejects", status_code=202)
    async def resubmit(actor: writer, import_id: UUID, file: Annotated[UploadFile, File()]) -> Any:
        content = await read_upload(file, most=services.settings.max_upload_mb * 1024 * 1024)
        job = await imports.resubmit(
            services, UUID(actor.tenant), person(actor), import_id, file.filename or "rejects.xlsx", content
        )
        return {"job_id": job}
