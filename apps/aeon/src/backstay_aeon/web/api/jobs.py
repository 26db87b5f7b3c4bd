"""Jobs are submitted, listed and looked at, followed as they go on, and stopped, paused or tried again."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Response
from pydantic import Field

from backstay.kit import Actor, Authentication, Event, StrictModel, event_stream
from backstay_aeon.actions import explain, submit
from backstay_aeon.services import Services
from backstay_aeon.web.callers import moment, own_job, person

LOOK_SECONDS = 0.5
LIST = """
SELECT id, job_type, job_category, priority, status, progress_percent, progress_message, retry_count, max_retries,
       created_at, started_at, completed_at, failed_at, scheduled_for, created_by, worker_id
FROM public.jobs WHERE team_id = $1 AND ($2::text IS NULL OR status = $2) AND ($3::text IS NULL OR job_type = $3)
ORDER BY created_at DESC, id DESC LIMIT $4
"""
ONE = """
SELECT id, status, progress_percent, progress_message, retry_count, result, error_details FROM public.jobs WHERE id = $1
"""
ENDED = ("completed", "cancelled", "failed", "dead_letter")


class DependsOn(StrictModel):
    job_id: str
    dependency_type: Literal["completion", "success", "data", "conditional"] = "completion"
    into: str | None = None
    condition: dict[str, Any] | None = None


class NewJob(StrictModel):
    job_type: str = Field(max_length=100)
    job_category: str | None = None
    priority: int | None = None
    payload: dict[str, Any] = Field(default_factory=dict)
    max_retries: int | None = None
    retry_delay_ms: int | None = None
    backoff_multiplier: float | None = None
    timeout_ms: int | None = None
    scheduled_for: str | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    depends_on: list[DependsOn] | None = None
    parent_job_id: str | None = None


def add_routes(api: APIRouter, services: Services, auth: Authentication) -> None:
    """What a team reads of its jobs, and what it does with them."""
    _submit(api, services, auth)
    _read(api, services, auth)
    _acts(api, services, auth)


async def job_changes(services: Services, job_id: UUID) -> AsyncIterator[Event]:
    """The state of a job, and again whenever it changes, until it has ended."""
    seen: dict[str, Any] | None = None
    number = 0
    while True:
        found = await services.database.row(ONE, job_id)
        if found is None:
            return
        if found != seen:
            seen, number = found, number + 1
            yield Event({**found, "id": str(job_id)}, name="job", id=str(number))
        if found["status"] in ENDED:
            return
        await asyncio.sleep(LOOK_SECONDS)


def _submit(api: APIRouter, services: Services, auth: Authentication) -> None:
    """Jobs are submitted."""
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]

    @api.post("/jobs/create", status_code=202)
    async def create(
        actor: writer,
        body: NewJob,
        response: Response,
        idempotency_key: Annotated[str | None, Header()] = None,
    ) -> dict[str, Any]:
        given = body.model_dump(exclude_none=True)
        ties = [{**tie.model_dump(), "type": tie.dependency_type} for tie in body.depends_on or ()]
        given |= {
            "scheduled_for": moment(body.scheduled_for, "scheduled_for"),
            "idempotency_key": idempotency_key,
        }
        given["depends_on"] = ties
        made = await submit.create(services, UUID(actor.tenant), person(actor), given)
        response.headers["Location"] = f"/api/jobs/{made['job_id']}"
        return made


def _read(api: APIRouter, services: Services, auth: Authentication) -> None:
    """Jobs are listed, looked at and followed."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    database = services.database

    @api.get("/jobs")
    async def listed(
        actor: reader, status: str | None = None, job_type: str | None = None, limit: int = 50
    ) -> Any:
        return await database.rows(LIST, UUID(actor.tenant), status, job_type, max(1, min(limit, 200)))

    @api.get("/jobs/{job_id}")
    async def one(actor: reader, job_id: str) -> Any:
        job = await own_job(services, actor, job_id)
        row = await database.row("SELECT * FROM public.jobs WHERE id = $1", job.id)
        runs = await database.rows(
            "SELECT * FROM public.job_executions WHERE job_id = $1 ORDER BY attempt_number", job.id
        )
        ties = await database.rows("SELECT * FROM public.job_dependencies WHERE job_id = $1", job.id)
        shown = {**(row or {}), "executions": runs, "dependencies": ties, "why": None}
        if not job.is_finished:
            shown["why"] = await explain.why(services, job)
            if actor.may("operate"):
                shown["diagnosis"] = await services.app.doctor.why(job.id)
        return shown

    @api.get("/jobs/{job_id}/events")
    async def events(actor: reader, job_id: str) -> Response:
        job = await own_job(services, actor, job_id)
        return event_stream(job_changes(services, job.id))


def _acts(api: APIRouter, services: Services, auth: Authentication) -> None:
    """What a team does with its jobs."""
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]

    @api.delete("/jobs/{job_id}")
    async def cancel(actor: writer, job_id: str) -> Any:
        job = await own_job(services, actor, job_id)
        return {"job_id": job_id, "status": await submit.cancel(services, job.id, actor.name)}

    @api.post("/jobs/{job_id}/pause")
    async def pause(actor: writer, job_id: str) -> Any:
        job = await own_job(services, actor, job_id)
        await submit.pause(services, job.id, actor.name)
        return {"job_id": job_id, "status": "paused"}

    @api.post("/jobs/{job_id}/resume")
    async def resume(actor: writer, job_id: str) -> Any:
        job = await own_job(services, actor, job_id)
        await submit.resume(services, job.id, actor.name)
        return {"job_id": job_id, "status": "pending"}

    @api.post("/jobs/{job_id}/retry")
    async def retry(actor: writer, job_id: str) -> Any:
        job = await own_job(services, actor, job_id)
        await services.app.dead_letters.retry(job.id, by=actor.name, reason="retried by its team")
        return {"job_id": job_id, "status": "pending"}
