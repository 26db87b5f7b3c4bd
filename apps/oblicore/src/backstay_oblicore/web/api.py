"""The HTTP interface below /api/v1."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse

from backstay.kit import Actor, Event, event_stream, not_found, problem_responses
from backstay_oblicore.domain import health
from backstay_oblicore.services import Services
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import Access, user_of
from backstay_oblicore.web.api_bodies import told_in_http
from backstay_oblicore.web.api_documents import document_routes, evidence_routes
from backstay_oblicore.web.api_duties import duty_routes, reader_routes
from backstay_oblicore.web.api_imports import import_routes
from backstay_oblicore.web.api_measured import measured_routes, record_routes, report_routes
from backstay_oblicore.web.api_packs import pack_routes
from backstay_oblicore.web.extracting import ExtractRequest, extract_text

OWN_JOB = """
    SELECT TRUE FROM oblicore.background_jobs
    WHERE id = $1
      AND (
          created_by = $2
          OR company_id IN (
              SELECT company_id FROM oblicore.user_roles WHERE user_id = $2 AND role IN ('OWNER', 'ADMIN')
          )
      )
"""


def api_router(services: Services, access: Access) -> APIRouter:
    """Build the routes."""
    api = APIRouter(prefix="/api/v1", responses=problem_responses(401, 403, 404, 422))
    reader = Annotated[Actor, Depends(access.auth.require("read"))]
    writer = Annotated[Actor, Depends(access.auth.require("write"))]
    _job_routes(api, services, reader)
    duty_routes(api, services, reader, writer)
    reader_routes(api, services, reader)
    document_routes(api, services, reader, writer)
    evidence_routes(api, services, writer)
    import_routes(api, services, reader, writer)
    measured_routes(api, services, writer)
    record_routes(api, services, writer)
    report_routes(api, services, reader, writer)
    pack_routes(api, services, reader, writer)

    @api.post("/ai/extract")
    async def ai_extract(actor: writer, body: ExtractRequest) -> dict[str, Any]:
        async with told_in_http():
            return await extract_text(services, body, user=user_of(actor))

    return api


def _job_routes(api: APIRouter, services: Services, reader: Any) -> None:
    @api.get("/health/jobs")
    async def job_health() -> Response:
        async with services.database.connection() as connection:
            details = await queries.job_health(connection)
        status = health.status(
            stale=details["stale_jobs"],
            unresolved=details["unresolved_dlq"],
            failures=details["recent_failures"],
        )
        code = 503 if status == "unhealthy" else 200
        return JSONResponse({"status": status, "details": details}, code)

    @api.get("/jobs/{job_id}/events")
    async def events(actor: reader, job_id: UUID) -> Response:
        async with services.database.connection() as connection:
            is_own = await connection.fetchval(OWN_JOB, job_id, user_of(actor))
        if not is_own:
            raise not_found()
        return event_stream(job_events(services, job_id))


async def job_events(services: Services, job_id: UUID) -> AsyncIterator[Event]:
    """Tell of a job's status and progress at every change that commits, until it has ended."""
    last = None
    follow = services.app.live.follow(f"job:{job_id}")
    async with aclosing(follow) as changes:
        async for _ in changes:
            job = await services.app.jobs.get(job_id)
            progress = job.progress.message if job.progress else None
            word = services.app.profile.word_for(job.state)
            if (word, progress) != last:
                last = (word, progress)
                data = {"channel": f"job:{job_id}", "status": word, "progress": progress}
                yield Event(data, name="job_status")
            if word in ("COMPLETED", "FAILED", "CANCELLED"):
                return
