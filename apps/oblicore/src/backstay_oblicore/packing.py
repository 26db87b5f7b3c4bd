"""Asking for packs and sending them: checked with the rights of whoever asks, then handed to a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from backstay import JobHandle
from backstay_oblicore.domain.errors import AccessDenied, InvalidRequest
from backstay_oblicore.domain.packs import PackRequest, check_request
from backstay_oblicore.domain.words import PackType
from backstay_oblicore.services import Services
from backstay_oblicore.store import people


async def generate(services: Services, request: Mapping[str, Any], *, user: UUID) -> JobHandle[Any]:
    """Hand a pack to its job; the pack's id will be the job's."""
    company, site, document = (request.get(key) for key in ("company_id", "site_id", "document_id"))
    wanted = PackRequest(
        pack_type=PackType(request["pack_type"]),
        company_id=str(company) if company else None,
        site_id=str(site) if site else None,
        document_id=str(document) if document else None,
        start=request["date_range_start"],
        end=request["date_range_end"],
        output_format=request.get("output_format", "PDF"),
        recipient_type=request.get("recipient_type"),
    )
    async with services.database.as_user(user) as connection:
        check_request(wanted, roles=await people.roles_of(connection, user, UUID(str(company))))
        if not await connection.fetchval("SELECT oblicore.may_change($1, $2)", company, site):
            raise AccessDenied("you may not make packs there")
    handle: JobHandle[Any] = (
        await services.handlers["AUDIT_PACK_GENERATION"]
        .options(tenant=str(company), created_by=str(user))
        .enqueue(requested_by=user, **request)
    )
    return handle


async def distribute(
    services: Services,
    pack: UUID,
    *,
    user: UUID,
    method: str,
    recipients: Sequence[Mapping[str, Any]] = (),
    message: str | None = None,
    expires_in_days: int = 30,
) -> JobHandle[Any]:
    """Hand the sending of a pack to its job."""
    async with services.database.as_user(user) as connection:
        row = await connection.fetchrow(
            "SELECT company_id, oblicore.may_change(company_id, site_id) AS may_change FROM oblicore.audit_packs"
            " WHERE id = $1",
            pack,
        )
    if row is None or not row["may_change"]:
        raise AccessDenied("there is no such pack, or you may not send it")
    if method == "EMAIL" and not recipients:
        raise InvalidRequest("EMAIL needs at least one recipient")
    handle: JobHandle[Any] = (
        await services.handlers["PACK_DISTRIBUTION"]
        .options(tenant=str(row["company_id"]), created_by=str(user))
        .enqueue(
            pack_id=pack,
            distribution_method=method,
            requested_by=user,
            recipients=[dict(one) for one in recipients],
            message=message,
            expires_in_days=expires_in_days,
        )
    )
    return handle
