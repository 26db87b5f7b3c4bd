"""Routes that take and give files: documents, evidence, registers, packs."""

import json
from datetime import date
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Form, Request, Response, UploadFile

from backstay.kit import (
    Problem,
    not_found,
    read_upload,
)
from backstay_oblicore import intake, packing
from backstay_oblicore.domain.errors import OblicoreError
from backstay_oblicore.services import Services
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import user_of
from backstay_oblicore.web.api_bodies import Distribution, Extraction, PackBody, file_response, problem_of
from backstay_oblicore.web.verifying import verify_pack


def document_routes(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    """Routes of documents and evidence."""
    _document_routes_upload(api, services, reader, writer)
    _document_routes_extract(api, services, reader, writer)
    _document_routes_document(api, services, reader, writer)
    _document_routes_of_document(api, services, reader, writer)
    _document_routes_coverage(api, services, reader, writer)
    _document_routes_evidence(api, services, reader, writer)


def _document_routes_upload(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
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
        content = await read_upload(file, most=50_000_000)
        try:
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
        except OblicoreError as error:
            raise problem_of(error) from error
        return {"document_id": str(document)}


def _document_routes_extract(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/documents/{document_id}/extract", status_code=202)
    async def extract(actor: writer, document_id: UUID, body: Extraction | None = None) -> dict[str, Any]:
        try:
            job = await intake.extract(
                services, document_id, user=user_of(actor), force=bool(body and body.force_reprocess)
            )
        except OblicoreError as error:
            raise problem_of(error) from error
        return {"job_id": str(job.id)}


def _document_routes_document(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    database = services.database

    @api.get("/documents/{document_id}")
    async def document(actor: reader, document_id: UUID) -> dict[str, Any]:
        async with database.as_user(user_of(actor)) as connection:
            found = await queries.document(connection, document_id)
        if found is None:
            raise not_found()
        return found


def _document_routes_of_document(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    database = services.database

    @api.get("/documents/{document_id}/obligations")
    async def of_document(actor: reader, document_id: UUID) -> list[dict[str, Any]]:
        async with database.as_user(user_of(actor)) as connection:
            if await queries.document(connection, document_id) is None:
                raise not_found()
            return await queries.register(connection, document=document_id)


def _document_routes_coverage(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    database = services.database

    @api.get("/documents/{document_id}/coverage")
    async def coverage(actor: reader, document_id: UUID) -> dict[str, Any]:
        async with database.as_user(user_of(actor)) as connection:
            if await queries.document(connection, document_id) is None:
                raise not_found()
            return await queries.coverage(connection, document_id)


def _document_routes_evidence(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/evidence", status_code=201)
    async def evidence(
        actor: writer,
        file: UploadFile,
        site_id: Annotated[UUID, Form()],
        obligation_ids: Annotated[list[UUID] | None, Form()] = None,
    ) -> dict[str, Any]:
        content = await read_upload(file, most=50_000_000)
        try:
            found = await intake.add_evidence(
                services,
                content,
                user=user_of(actor),
                site=site_id,
                file_name=file.filename or "evidence.bin",
                obligations=obligation_ids or [],
            )
        except OblicoreError as error:
            raise problem_of(error) from error
        return {"evidence_id": str(found)}


def import_routes(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    """Routes of registers."""
    _import_routes_start(api, services, reader, writer)
    _import_routes_preview(api, services, reader, writer)
    _import_routes_confirm(api, services, reader, writer)
    _import_routes_cancel(api, services, reader, writer)


def _import_routes_start(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/obligations/import/excel", status_code=202)
    async def start(
        actor: writer,
        file: UploadFile,
        site_id: Annotated[UUID, Form()],
        options: Annotated[str, Form()] = "{}",
    ) -> dict[str, Any]:
        content = await read_upload(file, most=10_000_001)
        try:
            chosen = json.loads(options)
            found, job = await intake.add_import(
                services,
                content,
                user=user_of(actor),
                site=site_id,
                file_name=file.filename or "register.csv",
                options=chosen,
            )
        except (ValueError, AttributeError) as error:
            raise Problem(422, "invalid_options", "options must be a JSON object") from error
        except OblicoreError as error:
            raise problem_of(error) from error
        return {"import_id": str(found), "job_id": str(job.id)}


def _import_routes_preview(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    database = services.database

    @api.get("/obligations/import/{import_id}")
    @api.get("/obligations/import/{import_id}/preview")
    async def preview(actor: reader, import_id: UUID) -> dict[str, Any]:
        async with database.as_user(user_of(actor)) as connection:
            found = await queries.import_row(connection, import_id)
        if found is None:
            raise not_found()
        return found


def _import_routes_confirm(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/obligations/import/{import_id}/confirm", status_code=202)
    async def confirm(actor: writer, import_id: UUID) -> dict[str, Any]:
        try:
            job = await intake.confirm_import(services, import_id, user=user_of(actor))
        except OblicoreError as error:
            raise problem_of(error) from error
        return {"job_id": str(job.id)}


def _import_routes_cancel(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.delete("/obligations/import/{import_id}", status_code=204)
    async def cancel(actor: writer, import_id: UUID) -> Response:
        try:
            await intake.cancel_import(services, import_id, user=user_of(actor))
        except OblicoreError as error:
            raise problem_of(error) from error
        return Response(status_code=204)


def pack_routes(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    """Routes of packs."""
    _pack_routes_generate(api, services, reader, writer)
    _pack_routes_distribute(api, services, reader, writer)
    _pack_routes_download(api, services, reader, writer)
    _pack_routes_verify(api, services, reader, writer)


def _pack_routes_generate(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/audit-packs/generate", status_code=202)
    async def generate(actor: writer, body: PackBody) -> dict[str, Any]:
        try:
            job = await packing.generate(services, body.model_dump(), user=user_of(actor))
        except OblicoreError as error:
            raise problem_of(error) from error
        return {"job_id": str(job.id), "pack_id": str(job.id)}


def _pack_routes_distribute(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/packs/{pack_id}/distribute", status_code=202)
    async def distribute(actor: writer, pack_id: UUID, body: Distribution) -> dict[str, Any]:
        try:
            job = await packing.distribute(
                services,
                pack_id,
                user=user_of(actor),
                method=body.distribution_method,
                recipients=[one.model_dump() for one in body.recipients],
                message=body.message,
                expires_in_days=body.expires_in_days,
            )
        except OblicoreError as error:
            raise problem_of(error) from error
        return {"job_id": str(job.id)}


def _pack_routes_download(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    database = services.database

    @api.get("/audit-packs/{pack_id}/download")
    async def download(actor: reader, pack_id: UUID) -> Response:
        async with database.as_user(user_of(actor)) as connection:
            path = await connection.fetchval(
                "SELECT storage_path FROM oblicore.audit_packs WHERE id = $1", pack_id
            )
        if path is None:
            raise not_found()
        return await file_response(services, path)


def _pack_routes_verify(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/packs/verify")
    async def verify(request: Request, file: UploadFile) -> dict[str, Any]:
        return await verify_pack(services, await read_upload(file, most=50_000_000))
