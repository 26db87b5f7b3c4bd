"""Registers: upload, preview, confirmation."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from starlette.datastructures import FormData

from backstay.kit import Actor, Crumb, not_found, path_of
from backstay_oblicore import intake
from backstay_oblicore.domain.errors import AccessDenied, OblicoreError
from backstay_oblicore.domain.register.headers import read_mapping
from backstay_oblicore.services import Services
from backstay_oblicore.store.database import from_json
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import Access, user_of
from backstay_oblicore.web.shared import upload_page, uploaded


def import_pages(web: APIRouter, services: Services, access: Access) -> None:
    """Add the pages."""
    _upload_page(web, services, access)
    _preview_page(web, services, access)
    _decision(web, services, access)


def _upload_page(web: APIRouter, services: Services, access: Access) -> None:
    writer = Annotated[Actor, Depends(access.auth.require("write"))]

    @web.get("/imports/new")
    async def new(request: Request, actor: writer) -> Response:
        return await upload_page(request, services, access, actor, "Import a register", with_title=False)

    @web.post("/imports/new")
    async def add(request: Request, actor: writer) -> Response:
        form = await request.form()
        try:
            name, content = await uploaded(form, most=10_000_001)
            found, _ = await intake.add_import(
                services,
                content,
                user=user_of(actor),
                site=UUID(str(form["site_id"])),
                file_name=name,
                options=options_of(form),
            )
        except (OblicoreError, ValueError, KeyError) as error:
            return await upload_page(
                request,
                services,
                access,
                actor,
                "Import a register",
                with_title=False,
                problem=str(error),
                sent=form,
            )
        return access.pages.redirect(
            request, path_of("obligations", "import", str(found), "preview"), flash="It is being checked."
        )


def options_of(form: FormData) -> dict[str, Any]:
    """Read how a register is to be understood: what may be made, and which column means what."""
    columns = [line for line in str(form.get("columns", "")).splitlines() if line.strip()]
    return {
        "create_missing_permits": bool(form.get("create_missing_permits")),
        "create_missing_sites": bool(form.get("create_missing_sites")),
        "skip_duplicates": bool(form.get("skip_duplicates")),
        "column_mapping": read_mapping(columns),
    }


def _preview_page(web: APIRouter, services: Services, access: Access) -> None:
    reader = Annotated[Actor, Depends(access.auth.require("read"))]

    @web.get("/obligations/import/{import_id}/preview")
    async def preview(request: Request, actor: reader, import_id: UUID) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            found = await queries.import_row(connection, import_id)
        if found is None:
            raise not_found()
        errors = [
            {"row_number": one["row_number"], "text": "; ".join(one["errors"])}
            for one in from_json(found["error_rows"])
        ]
        valid = [
            {
                "row_number": one["row_number"],
                "title": one["data"]["obligation_title"],
                "frequency": one["data"]["frequency"],
                "due": one["data"]["deadline_date"],
                "warnings": "; ".join(one["warnings"]),
            }
            for one in from_json(found["valid_rows"])[:500]
        ]
        crumbs = [Crumb("Imports", "/imports"), Crumb(found["file_name"] or "Import")]
        return access.pages.render(
            request,
            "preview.html",
            title="Import preview",
            crumbs=crumbs,
            found=found,
            errors=errors,
            valid=valid,
        )


def _decision(web: APIRouter, services: Services, access: Access) -> None:
    writer = Annotated[Actor, Depends(access.auth.require("write"))]

    @web.post("/obligations/import/{import_id}/confirm")
    async def confirm(request: Request, actor: writer, import_id: UUID) -> Response:
        target = path_of("obligations", "import", str(import_id), "preview")
        try:
            await intake.confirm_import(services, import_id, user=user_of(actor))
        except OblicoreError as error:
            return access.pages.redirect(request, target, flash=str(error), tone="bad")
        return access.pages.redirect(request, target, flash="The duties are being created.", tone="good")

    @web.post("/obligations/import/{import_id}/cancel")
    async def cancel(request: Request, actor: writer, import_id: UUID) -> Response:
        try:
            await intake.cancel_import(services, import_id, user=user_of(actor))
        except AccessDenied:
            raise not_found() from None
        return access.pages.redirect(request, "/imports", flash="The import was given up.")
