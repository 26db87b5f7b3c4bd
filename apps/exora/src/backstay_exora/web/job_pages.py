"""The pages for admins: jobs, dead letters, the doctor."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from backstay.errors import WrongState
from backstay.kit import Actor, Authentication, Pages, not_found
from backstay_exora import doctor
from backstay_exora.app import app as jobs
from backstay_exora.app import settings
from backstay_exora.store.connections import connect
from backstay_exora.store.documents import dead_letters_of, jobs_of, may_see_job


def add_job_pages(web: APIRouter, pages: Pages, auth: Authentication) -> None:
    """Jobs of the practice's documents, and those of the whole service, which are about nobody."""
    admin = Annotated[Actor, Depends(auth.require("jobs.read"))]

    @web.get("/jobs")
    async def listed(request: Request, actor: admin, patient: UUID | None = None) -> Response:
        async with connect(settings.database_url) as connection:
            rows = await jobs_of(connection, actor.tenant, patient=patient)
            dead = [] if patient else await dead_letters_of(connection, actor.tenant)
        title = "Jobs about a patient" if patient else "Jobs"
        return pages.render(request, "jobs.html", title=title, rows=rows, dead=dead, is_all=patient is None)

    @web.post("/jobs/{job_id}/retry")
    async def retry(request: Request, actor: admin, job_id: UUID) -> Response:
        async with connect(settings.database_url) as connection:
            if not await may_see_job(connection, actor.tenant, job_id):
                raise not_found()
        try:
            await jobs.dead_letters.retry(job_id, by=actor.name, reason="retried on the page")
        except WrongState as error:
            return pages.redirect(request, "/jobs", flash=str(error), tone="bad")
        return pages.redirect(request, "/jobs", flash="It runs again.", tone="good")

    @web.get("/doctor")
    async def health(request: Request, actor: admin) -> Response:
        found = await doctor.examine()
        rows = [
            {
                "number": item.number,
                "rule": item.rule,
                "state": "held" if item.is_held else "broken",
                "rows": item.broken,
            }
            for item in found
        ]
        return pages.render(request, "doctor.html", title="Doctor", rows=rows)
