"""The pages of jobs and of those that died: look, pause, cancel, decide."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Request, Response

from backstay import Job
from backstay.errors import BackstayError
from backstay.kit import Actor, Authentication, Crumb, Pages, path_of
from backstay_aeon.actions import explain, letters, submit
from backstay_aeon.services import Services
from backstay_aeon.web.api.jobs import LIST
from backstay_aeon.web.callers import own_job

RUNS = "SELECT * FROM public.job_executions WHERE job_id = $1 ORDER BY attempt_number"
LETTER = """
SELECT status, resolution_notes, created_at FROM public.dead_letter_jobs WHERE original_job_id = $1
ORDER BY created_at DESC LIMIT 1
"""


def add_job_pages(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    """What a team has sent, and what it decides about it."""
    _shown(web, services, pages, auth)
    _acts(web, services, pages, auth)


def _shown(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    database = services.database

    @web.get("/jobs")
    async def jobs(request: Request, actor: reader, status: str = "") -> Response:
        rows = await database.rows(LIST, UUID(actor.tenant), status or None, None, 100)
        shown = [{**row, "href": path_of("jobs", str(row["id"]))} for row in rows]
        return pages.render(request, "jobs.html", title="Jobs", rows=shown)

    @web.get("/jobs/{job_id}")
    async def job(request: Request, actor: reader, job_id: str) -> Response:
        found = await own_job(services, actor, job_id)
        return pages.render(
            request,
            "job.html",
            title=found.kind,
            crumbs=[Crumb("Jobs", "/jobs"), Crumb(job_id)],
            job=await database.row("SELECT * FROM public.jobs WHERE id = $1", found.id),
            runs=await database.rows(RUNS, found.id),
            letter=await database.row(LETTER, found.id),
            may_write=actor.may("jobs.write"),
            why="" if found.is_finished else await explain.why(services, found),
        )

    @web.get("/dead-letters")
    async def dead_letters(request: Request, actor: reader) -> Response:
        rows = await letters.of_team(services, UUID(actor.tenant))
        shown = [{**row, "href": path_of("jobs", str(row["original_job_id"]))} for row in rows]
        return pages.render(request, "letters.html", title="Dead letters", rows=shown)


def _acts(web: APIRouter, services: Services, pages: Pages, auth: Authentication) -> None:
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]

    @web.post("/jobs/{job_id}/decide")
    async def decide(
        request: Request,
        actor: writer,
        job_id: str,
        decision: Annotated[letters.Decision, Form()],
        notes: Annotated[str, Form(min_length=1, max_length=2000)],
    ) -> Response:
        job = await own_job(services, actor, job_id)
        try:
            await letters.decide(services, job.id, decision, by=actor.id or actor.name, notes=notes)
        except BackstayError as error:
            return pages.redirect(request, path_of("jobs", job_id), flash=str(error), tone="bad")
        return pages.redirect(request, path_of("jobs", job_id), flash="Your decision is kept.")

    @web.post("/jobs/{job_id}/{action}")
    async def act(
        request: Request, actor: writer, job_id: str, action: Literal["cancel", "pause", "resume"]
    ) -> Response:
        job = await own_job(services, actor, job_id)
        try:
            told = await TOLD[action](services, job, actor.name)
        except BackstayError as error:
            return pages.redirect(request, path_of("jobs", job_id), flash=str(error), tone="bad")
        return pages.redirect(request, path_of("jobs", job_id), flash=told)


async def _cancel(services: Services, job: Job, by: str) -> str:
    state = await submit.cancel(services, job.id, by)
    return "It is asked to stop." if state == "running" else "It is cancelled."


async def _pause(services: Services, job: Job, by: str) -> str:
    await submit.pause(services, job.id, by)
    return "It is paused."


async def _resume(services: Services, job: Job, by: str) -> str:
    await submit.resume(services, job.id, by)
    return "It goes on."


TOLD = {"cancel": _cancel, "pause": _pause, "resume": _resume}
