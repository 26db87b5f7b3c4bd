"""The pages of imports: send, try out, map, import, correct, undo."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, File, Form, Request, Response, UploadFile

from backstay.kit import Actor, Authentication, Crumb, Pages, not_found, path_of, read_upload
from backstay_aeon.actions import imports
from backstay_aeon.domain.errors import AeonError, Missing
from backstay_aeon.services import Services
from backstay_aeon.store import imports as import_store
from backstay_aeon.web.callers import person


def add_import_pages(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    """What came in, and what is done with it."""
    for add in (_listed, _shown, _acts):
        add(web, services, pages, auth)


def _listed(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    """Tables that came in."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]

    @web.get("/imports")
    async def listed(request: Request, actor: reader) -> Response:
        rows = await import_store.of_team(services.database, UUID(actor.tenant))
        shown = [{**row, "href": path_of("imports", str(row["id"]))} for row in rows]
        return pages.render(request, "imports.html", title="Imports", rows=shown)

    @web.post("/imports")
    async def begin(
        request: Request,
        actor: writer,
        file: Annotated[UploadFile, File()],
        dataset: Annotated[str, Form()],
        on_error: Annotated[str, Form()] = "skip",
    ) -> Response:
        content = await read_upload(file, most=services.settings.max_upload_mb * 1024 * 1024)
        team, user = UUID(actor.tenant), person(actor)
        try:
            made = await imports.begin(
                services,
                team,
                user,
                name=file.filename or "file",
                content=content,
                dataset=dataset,
                on_error=on_error,
            )
            await imports.start(services, team, user, made, dry_run=True)
        except AeonError as error:
            return pages.redirect(request, "/imports", flash=error.message, tone="bad")
        return pages.redirect(request, path_of("imports", str(made)), flash="The dry run counts the rows.")


def _shown(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]

    @web.get("/imports/{import_id}")
    async def one(request: Request, actor: reader, import_id: UUID) -> Response:
        try:
            shown = await imports.show(services, UUID(actor.tenant), import_id)
        except Missing:
            raise not_found() from None
        crumbs = [Crumb("Imports", "/imports"), Crumb(shown["file_name"] or str(import_id))]
        return pages.render(
            request, "import.html", title=shown["file_name"] or "Import", crumbs=crumbs, one=shown
        )


async def _done(
    pages: Pages, request: Request, import_id: UUID, what: Callable[[], Awaitable[Any]], told: str
) -> Response:
    """Do it and go back to the import, with what came of it."""
    where = path_of("imports", str(import_id))
    try:
        await what()
    except AeonError as error:
        return pages.redirect(request, where, flash=error.message, tone="bad")
    return pages.redirect(request, where, flash=told)


def _acts(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]

    @web.post("/imports/{import_id}/mapping")
    async def remap(request: Request, actor: writer, import_id: UUID) -> Response:
        team, form = UUID(actor.tenant), await request.form()

        async def map_and_try() -> None:
            headers = (await imports.show(services, team, import_id))["form"].get("headers") or []
            chosen = {header: str(form.get(f"column-{place}") or "") for place, header in enumerate(headers)}
            mapping = {header: column for header, column in chosen.items() if column}
            await imports.remap(services, team, import_id, mapping)
            await imports.start(services, team, person(actor), import_id, dry_run=True)

        return await _done(pages, request, import_id, map_and_try, "The dry run counts the rows.")

    @web.post("/imports/{import_id}/rejects")
    async def resubmit(
        request: Request, actor: writer, import_id: UUID, file: Annotated[UploadFile, File()]
    ) -> Response:
        content = await read_upload(file, most=services.settings.max_upload_mb * 1024 * 1024)
        team, user, name = UUID(actor.tenant), person(actor), file.filename or "rejects.xlsx"

        async def send_back() -> None:
            await imports.resubmit(services, team, user, import_id, name, content)

        return await _done(pages, request, import_id, send_back, "The corrected rows are checked.")

    @web.post("/imports/{import_id}/{action}")
    async def act(
        request: Request, actor: writer, import_id: UUID, action: Literal["start", "undo"]
    ) -> Response:
        doing = imports.start if action == "start" else imports.undo

        async def start_or_undo() -> None:
            await doing(services, UUID(actor.tenant), person(actor), import_id)

        return await _done(pages, request, import_id, start_or_undo, "It is on its way.")
