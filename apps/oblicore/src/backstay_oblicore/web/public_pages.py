"""Pages for inspectors, who have no account: a shared pack, and checking one."""

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request, Response

from backstay.kit import Problem, not_found
from backstay_oblicore.services import Services
from backstay_oblicore.store import packs as pack_store
from backstay_oblicore.web.access import Access
from backstay_oblicore.web.api_bodies import file_response
from backstay_oblicore.web.shared import uploaded
from backstay_oblicore.web.verifying import verify_pack


def public_pages(web: APIRouter, services: Services, access: Access) -> None:
    async def shared(token: str) -> Any:
        async with services.database.as_service() as connection:
            row = await pack_store.opened(connection, token, now=datetime.now(UTC))
        if row is None:
            raise not_found()
        if row["is_expired"]:
            raise Problem(410, "link_expired", "This link has expired. Ask the sender for a new one.")
        return row

    @web.get("/share/{token}")
    async def share(request: Request, token: str) -> Response:
        row = await shared(token)
        return access.pages.render(request, "share.html", title="Shared pack", pack=row, token=token)

    @web.get("/share/{token}/download")
    async def download(token: str) -> Response:
        return await file_response(services, (await shared(token))["storage_path"])

    @web.get("/verify")
    async def verify(request: Request) -> Response:
        return access.pages.render(request, "verify.html", title="Check a pack", result=None)

    @web.post("/verify")
    async def verified(request: Request) -> Response:
        form = await request.form()
        _, content = await uploaded(form, most=50_000_000)
        result = await verify_pack(services, content)
        return access.pages.render(request, "verify.html", title="Check a pack", result=result)
