"""Routes of packs: ask for one, send it, take it, check one."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Response, UploadFile

from backstay.kit import not_found, read_upload
from backstay_oblicore import packing
from backstay_oblicore.services import Services
from backstay_oblicore.web.access import user_of
from backstay_oblicore.web.api_bodies import Distribution, PackBody, file_response, told_in_http
from backstay_oblicore.web.verifying import verify_pack


def pack_routes(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    """Add the routes."""

    @api.post("/audit-packs/generate", status_code=202)
    async def generate(actor: writer, body: PackBody) -> dict[str, Any]:
        async with told_in_http():
            job = await packing.generate(services, body.model_dump(), user=user_of(actor))
            return {"job_id": str(job.id), "pack_id": str(job.id)}

    @api.post("/packs/{pack_id}/distribute", status_code=202)
    async def distribute(actor: writer, pack_id: UUID, body: Distribution) -> dict[str, Any]:
        async with told_in_http():
            job = await packing.distribute(
                services,
                pack_id,
                user=user_of(actor),
                method=body.distribution_method,
                recipients=[one.model_dump() for one in body.recipients],
                message=body.message,
                expires_in_days=body.expires_in_days,
            )
            return {"job_id": str(job.id)}

    @api.get("/audit-packs/{pack_id}/download")
    async def download(actor: reader, pack_id: UUID) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            path = await connection.fetchval(
                "SELECT storage_path FROM oblicore.audit_packs WHERE id = $1", pack_id
            )
        if path is None:
            raise not_found()
        return await file_response(services, path)

    @api.post("/packs/verify")
    async def verify(file: UploadFile) -> dict[str, Any]:
        return await verify_pack(services, await read_upload(file, most=50_000_000))
