"""Routes of documents and evidence."""

from datetime import date
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Form, UploadFile

from backstay.kit import not_found, read_upload
from backstay_oblicore import intake
from backstay_oblicore.services import Services
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import user_of
from backstay_oblicore.web.api_bodies import Extraction, told_in_http

MOST_BYTES = 50_000_000


def document_routes(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    """Upload a document, let it be read, see what was found."""
    _upload_route(api, services, writer)
    database = services.database

    @api.post("/documents/{document_id}/extract", status_code=202)
    async def extract(actor: writer, document_id: UUID, body: Extraction | None = None) -> dict[str, Any]:
        force = bool(body and body.force_reprocess)
        async with told_in_http():
            job = await intake.extract(services, document_id, user=user_of(actor), force=force)
            return {"job_id": str(job.id)}

    @api.get("/documents/{document_id}")
    async def document(actor: reader, document_id: UUID) -> dict[str, Any]:
        async with database.as_user(user_of(actor)) as connection:
            found = await queries.document(connection, document_id)
        if found is None:
            raise not_found()
        return found

    @api.get("/documents/{document_id}/obligations")
    async def of_document(actor: reader, document_id: UUID) -> list[dict[str, Any]]:
        async with database.as_user(user_of(actor)) as connection:
            if await queries.document(connection, document_id) is None:
                raise not_found()
            return await queries.register(connection, document=document_id)

    @api.get("/documents/{document_id}/coverage")
    async def coverage(actor: reader, document_id: UUID) -> dict[str, Any]:
        async with database.as_user(user_of(actor)) as connection:
            if await queries.document(connection, document_id) is None:
                raise not_found()
            return await queries.coverage(connection, document_id)


def _upload_route(api: APIRouter, services: Services, writer: Any) -> None:
    @api.post("/documents", status_code=201)
    async def upload(
        actor: writer,
        file: UploadFile,
        site_id: Annotated[UUID, Form()],
        title: Annotated[str, Form(min_length=1, max_length=200)],
        document_type: Annotated[str, Form()] = "ENVIRONMENTAL_PERMIT",
        permit_number: Annotated[str | None, Form()] = None,
        issue_date: Annotated[date | None, Form()] = None,
        expiry_date: Annotated[date | None, Form()] = None,
        parent_document_id: Annotated[UUID | None, Form()] = None,
    ) -> dict[str, Any]:
        content = await read_upload(file, most=MOST_BYTES)
        async with told_in_http():
            document = await intake.add_document(
                services,
                content,
                user=user_of(actor),
                site=site_id,
                title=title,
                document_type=document_type,
                permit_number=permit_number,
                issue_date=issue_date,
                expiry_date=expiry_date,
                parent=parent_document_id,
            )
            return {"document_id": str(document)}


def evidence_routes(api: APIRouter, services: Services, writer: Any) -> None:
    """File a piece of evidence."""

    @api.post("/evidence", status_code=201)
    async def evidence(
        actor: writer,
        file: UploadFile,
        site_id: Annotated[UUID, Form()],
        obligation_ids: Annotated[list[UUID] | None, Form()] = None,
    ) -> dict[str, Any]:
        content = await read_upload(file, most=MOST_BYTES)
        async with told_in_http():
            found = await intake.add_evidence(
                services,
                content,
                user=user_of(actor),
                site=site_id,
                file_name=file.filename or "evidence.bin",
                obligations=obligation_ids or [],
            )
            return {"evidence_id": str(found)}
