"""The pages of a team: its files, its reports, its schedules."""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, File, Form, Request, Response, UploadFile

from backstay.kit import Actor, Authentication, Pages, path_of, read_upload
from backstay_aeon.actions import schedules, submit, uploads
from backstay_aeon.domain.errors import AeonError
from backstay_aeon.handlers.report_gen import FORMATS
from backstay_aeon.services import Services
from backstay_aeon.store.reports import FIGURES
from backstay_aeon.web.api.reports import report_response
from backstay_aeon.web.callers import person

SCHEDULES = """
SELECT id, name, job_type, schedule_type, enabled, coalesce(cron_expression, interval_ms || ' ms') AS rhythm,
       run_count, max_runs, last_run_at, next_run_at, metadata ->> 'problem' AS problem
FROM public.job_schedules WHERE team_id = $1 ORDER BY created_at
"""


def add_team_pages(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    """Files, reports and schedules."""
    for add in (_files, _reports, _new_reports, _schedules):
        add(web, services, pages, auth)


def _files(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]

    @web.get("/files")
    async def listed(request: Request, actor: reader) -> Response:
        rows = await services.database.rows(
            "SELECT name, size, mime, sha256, job_id, facts ->> 'pages' AS pages, left(facts ->> 'text', 80) AS text,"
            " created_at FROM aeon.files WHERE team_id = $1 ORDER BY created_at DESC LIMIT 100",
            UUID(actor.tenant),
        )
        shown = [{**row, "href": row["job_id"] and path_of("jobs", str(row["job_id"]))} for row in rows]
        return pages.render(request, "files.html", title="Files", rows=shown)

    @web.post("/files")
    async def upload(request: Request, actor: writer, file: Annotated[UploadFile, File()]) -> Response:
        content = await read_upload(file, most=services.settings.max_upload_mb * 1024 * 1024)
        team, user = UUID(actor.tenant), person(actor)
        kept = await uploads.keep(services, team, user, file.filename or "file", content)
        given = {"job_type": "file_processing", "payload": {"file_id": str(kept["id"])}}
        await submit.create(services, team, user, given)
        return pages.redirect(request, "/files", flash="The file is looked into.")


def _reports(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]

    @web.get("/reports")
    async def listed(request: Request, actor: reader) -> Response:
        rows = await services.database.rows(
            "SELECT id, kind, format, size, period_from, period_to, created_at FROM aeon.reports WHERE team_id = $1"
            " ORDER BY created_at DESC LIMIT 100",
            UUID(actor.tenant),
        )
        shown = [{**row, "href": path_of("reports", str(row["id"]), "file")} for row in rows]
        return pages.render(
            request, "reports.html", title="Reports", rows=shown, kinds=list(FIGURES), formats=list(FORMATS)
        )

    @web.get("/reports/{report_id}/file")
    async def download(actor: reader, report_id: UUID) -> Response:
        return await report_response(services, report_id, UUID(actor.tenant))


def _new_reports(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]

    @web.post("/reports")
    async def make(
        request: Request,
        actor: writer,
        report: Annotated[str, Form()],
        form: Annotated[str, Form()],
        days: Annotated[int, Form()] = 30,
        every: Annotated[str, Form()] = "",
    ) -> Response:
        payload: dict[str, Any] = {"report": report, "format": form, "period": {"days": days}}
        team, user = UUID(actor.tenant), person(actor)
        try:
            if every:
                given = {
                    "name": f"{report} as {form}",
                    "job_type": "report_gen",
                    "payload_template": payload,
                    "schedule_type": "cron",
                    "cron_expression": every,
                    "enabled": True,
                }
                await schedules.create(services, team, user, given)
                return pages.redirect(request, "/schedules", flash="The report will be made by itself.")
            await submit.create(services, team, user, {"job_type": "report_gen", "payload": payload})
        except AeonError as error:
            return pages.redirect(request, "/reports", flash=error.message, tone="bad")
        return pages.redirect(request, "/reports", flash="The report is on its way.")


def _schedules(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]

    @web.get("/schedules")
    async def listed(request: Request, actor: reader) -> Response:
        rows = await services.database.rows(SCHEDULES, UUID(actor.tenant))
        return pages.render(request, "schedules.html", title="Schedules", rows=rows)

    @web.post("/schedules/{schedule_id}/{action}")
    async def act(
        request: Request, actor: writer, schedule_id: UUID, action: Literal["on", "off", "remove"]
    ) -> Response:
        team = UUID(actor.tenant)
        if action == "remove":
            await schedules.remove(services, schedule_id, team)
            return pages.redirect(request, "/schedules", flash="It will not fire any more.")
        await schedules.change(services, schedule_id, team, {"enabled": action == "on"})
        return pages.redirect(request, "/schedules", flash=f"It is {action}.")
