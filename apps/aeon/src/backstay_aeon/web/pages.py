"""The pages: operations, imports, jobs, dead letters."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, File, Form, Request, Response, UploadFile

from backstay.kit import Actor, Authentication, Crumb, Pages, not_found, path_of, read_upload
from backstay_aeon.actions import explain, imports, submit, watch
from backstay_aeon.domain.errors import AeonError, Missing
from backstay_aeon.services import Services
from backstay_aeon.store import imports as import_store
from backstay_aeon.store import metrics
from backstay_aeon.web.api.jobs import LIST
from backstay_aeon.web.callers import person, team_shown
from backstay_aeon.web.team_pages import add_team_pages


def router(services: Services, pages: Pages, auth: Authentication) -> APIRouter:
    """Every page."""
    web = pages.router()
    for add in (_operations, _imports, _jobs, add_team_pages):
        add(web, services, pages, auth)
    return web


def _operations(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    """How the service does."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    database = services.database

    @web.get("/")
    async def operations(request: Request, actor: reader) -> Response:
        figures = await metrics.collect(database, team_shown(actor))
        done, lost = figures["performance"]["successful"], figures["performance"]["failed"]
        share = 100 * done / (done + lost) if done + lost else None
        alerts = await database.rows("SELECT * FROM aeon.alerts ORDER BY id DESC LIMIT 20")
        return pages.render(
            request,
            "operations.html",
            title="Operations",
            metrics=figures,
            success=share,
            slos=await watch.slos(services),
            alerts=alerts,
        )


def _imports(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    """Tables that came in."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]
    database = services.database

    @web.get("/imports")
    async def listed(request: Request, actor: reader) -> Response:
        rows = await import_store.of_team(database, UUID(actor.tenant))
        shown = [{**row, "href": path_of("imports", str(row["id"]))} for row in rows]
        return pages.render(request, "imports.html", title="Imports", rows=shown)

    @web.post("/imports")
    async def begin(
        request: Request,
        actor: writer,
        file: Annotated[UploadFile, File()],
        dataset: Annotated[str, Form()],
    ) -> Response:
        content = await read_upload(file, most=services.settings.max_upload_mb * 1024 * 1024)
        team, user = UUID(actor.tenant), person(actor)
        try:
            made = await imports.begin(
                services, team, user, name=file.filename or "file", content=content, dataset=dataset
            )
            await imports.start(services, team, user, made, dry_run=True)
        except AeonError as error:
            return pages.redirect(request, "/imports", flash=error.message, tone="bad")
        return pages.redirect(request, path_of("imports", str(made)), flash="The dry run counts the rows.")

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

    @web.post("/imports/{import_id}/{action}")
    async def act(request: Request, actor: writer, import_id: UUID, action: str) -> Response:
        doing: Any = {"start": imports.start, "undo": imports.undo}.get(action)
        if doing is None:
            raise not_found()
        where = path_of("imports", str(import_id))
        try:
            await doing(services, UUID(actor.tenant), person(actor), import_id)
        except AeonError as error:
            return pages.redirect(request, where, flash=error.message, tone="bad")
        return pages.redirect(request, where, flash="It is on its way.")


def _jobs(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    """Jobs, and those that died."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    database = services.database

    @web.get("/jobs")
    async def jobs(request: Request, actor: reader, status: str = "") -> Response:
        rows = await database.rows(LIST, UUID(actor.tenant), status or None, None, 100)
        shown = [{**row, "href": path_of("jobs", str(row["id"]))} for row in rows]
        return pages.render(request, "jobs.html", title="Jobs", rows=shown)

    @web.get("/jobs/{job_id}")
    async def job(request: Request, actor: reader, job_id: str) -> Response:
        try:
            found = await submit.job_of(services, job_id, UUID(actor.tenant))
        except Missing:
            raise not_found() from None
        row = await database.row("SELECT * FROM public.jobs WHERE id = $1", found.id)
        runs = await database.rows(
            "SELECT * FROM public.job_executions WHERE job_id = $1 ORDER BY attempt_number", found.id
        )
        why = "" if found.is_finished else await explain.why(services, found)
        crumbs = [Crumb("Jobs", "/jobs"), Crumb(job_id)]
        return pages.render(request, "job.html", title=found.kind, crumbs=crumbs, job=row, runs=runs, why=why)

    @web.get("/dead-letters")
    async def letters(request: Request, actor: reader) -> Response:
        rows = await database.rows(
            "SELECT original_job_id, job_type, failure_reason, final_error_message, total_attempts, status, created_at"
            " FROM public.dead_letter_jobs WHERE team_id = $1 ORDER BY created_at DESC LIMIT 100",
            UUID(actor.tenant),
        )
        shown = [{**row, "href": path_of("jobs", str(row["original_job_id"]))} for row in rows]
        return pages.render(request, "letters.html", title="Dead letters", rows=shown)
