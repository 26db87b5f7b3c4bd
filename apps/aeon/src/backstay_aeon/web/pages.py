"""The pages: operations here, the others in modules of their own."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from backstay.kit import Actor, Authentication, Pages, path_of
from backstay_aeon.actions import watch
from backstay_aeon.services import Services
from backstay_aeon.store import metrics
from backstay_aeon.web.callers import team_shown
from backstay_aeon.web.import_pages import add_import_pages
from backstay_aeon.web.job_pages import add_job_pages
from backstay_aeon.web.team_pages import add_team_pages


def router(services: Services, pages: Pages, auth: Authentication) -> APIRouter:
    """Every page."""
    web = pages.router()
    for add in (_operations, add_import_pages, add_job_pages, add_team_pages):
        add(web, services, pages, auth)
    return web


def _operations(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    """How the service does."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    database = services.database

    @web.get("/")
    async def operations(request: Request, actor: reader) -> Response:
        own = UUID(actor.tenant)
        figures = await metrics.collect(database, team_shown(actor))
        done, lost = figures["performance"]["successful"], figures["performance"]["failed"]
        share = 100 * done / (done + lost) if done + lost else None
        letters = [
            {**row, "href": path_of("jobs", str(row["original_job_id"])) if row["team_id"] == own else None}
            for row in figures["dlq"]
        ]
        alerts = await database.rows("SELECT * FROM aeon.alerts ORDER BY id DESC LIMIT 20")
        return pages.render(
            request,
            "operations.html",
            title="Operations",
            metrics={**figures, "dlq": letters},
            sees_all=actor.may("operate"),
            success=share,
            slos=await watch.slos(services),
            alerts=alerts,
        )
