"""The HTTP interface below /api/v1."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse

from backstay.kit import (
    Actor,
    Event,
    event_stream,
    not_found,
    problem_responses,
)
from backstay_oblicore import measuring, reporting
from backstay_oblicore.domain import health
from backstay_oblicore.domain.errors import OblicoreError
from backstay_oblicore.domain.preferences import Preferences
from backstay_oblicore.services import Services
from backstay_oblicore.store import notifications, obligations
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import Access, user_of
from backstay_oblicore.web.api_bodies import (
    AerRequest,
    HoursBody,
    PreferencesBody,
    ResultBody,
    problem_of,
    report_file,
)
from backstay_oblicore.web.api_files import document_routes, import_routes, pack_routes
from backstay_oblicore.web.api_records import record_routes
from backstay_oblicore.web.extracting import ExtractRequest, extract_text


def api_router(services: Services, access: Access) -> APIRouter:
    """Build the routes."""
    api = APIRouter(prefix="/api/v1", responses=problem_responses(401, 403, 404, 422))
    reader = Annotated[Actor, Depends(access.auth.require("read"))]
    writer = Annotated[Actor, Depends(access.auth.require("write"))]
    _general_routes(api, services, reader, writer)
    document_routes(api, services, reader, writer)
    import_routes(api, services, reader, writer)
    pack_routes(api, services, reader, writer)
    record_routes(api, services, writer)
    return api


def _general_routes(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    _general_routes_job_health(api, services, reader, writer)
    _general_routes_listed(api, services, reader, writer)
    _general_routes_one(api, services, reader, writer)
    _general_routes_complete(api, services, reader, writer)
    _general_routes_inbox(api, services, reader, writer)
    _general_routes_events(api, services, reader, writer)
    _general_routes_generate_aer(api, services, reader, writer)
    _general_routes_ai_extract(api, services, reader, writer)
    _general_routes_measured(api, services, reader, writer)
    _general_routes_preferences(api, services, reader, writer)


def _general_routes_measured(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/parameters/{parameter_id}/results", status_code=201)
    async def add_result(actor: writer, parameter_id: UUID, body: ResultBody) -> dict[str, Any]:
        try:
            stands = await measuring.record_result(
                services, parameter_id, day=body.sample_date, value=body.value, user=user_of(actor)
            )
        except OblicoreError as error:
            raise problem_of(error) from error
        return {"standing": stands}

    @api.post("/generators/{generator_id}/run-hours", status_code=201)
    async def add_hours(actor: writer, generator_id: UUID, body: HoursBody) -> dict[str, Any]:
        try:
            await measuring.record_hours(
                services,
                generator_id,
                day=body.recording_date,
                hours=body.hours,
                purpose=body.purpose,
                user=user_of(actor),
            )
        except OblicoreError as error:
            raise problem_of(error) from error
        return {"recorded": True}


def _general_routes_preferences(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.get("/preferences")
    async def preferences(actor: reader) -> dict[str, Any]:
        user = user_of(actor)
        async with services.database.as_user(user) as connection:
            chosen = (await notifications.preferences_of(connection, [user])).get(user)
        if chosen is None:
            raise not_found()
        return chosen.to_json()

    @api.put("/preferences")
    async def choose(actor: reader, body: PreferencesBody) -> dict[str, Any]:
        try:
            chosen = Preferences(frozenset(body.muted), body.text_messages, body.quiet_from, body.quiet_until)
        except OblicoreError as error:
            raise problem_of(error) from error
        async with services.database.as_user(user_of(actor)) as connection:
            await notifications.save_preferences(connection, user_of(actor), chosen)
        return chosen.to_json()


def _general_routes_job_health(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    database = services.database

    @api.get("/health/jobs")
    async def job_health() -> Response:
        async with database.connection() as connection:
            details = await queries.job_health(connection)
        status = health.status(
            stale=details["stale_jobs"],
            unresolved=details["unresolved_dlq"],
            failures=details["recent_failures"],
        )
        code = 503 if status == "unhealthy" else 200
        return JSONResponse({"status": status, "details": details}, code)


def _general_routes_listed(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    database = services.database

    @api.get("/obligations")
    async def listed(
        actor: reader, status: str | None = None, site_id: UUID | None = None
    ) -> list[dict[str, Any]]:
        async with database.as_user(user_of(actor)) as connection:
            return await queries.register(connection, status=status, site=site_id)


def _general_routes_one(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    database = services.database

    @api.get("/obligations/{obligation_id}")
    async def one(actor: reader, obligation_id: UUID) -> dict[str, Any]:
        async with database.as_user(user_of(actor)) as connection:
            found = await queries.obligation(connection, obligation_id)
        if found is None:
            raise not_found()
        return found


def _general_routes_complete(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    database = services.database

    @api.post("/obligations/{obligation_id}/complete")
    async def complete(actor: writer, obligation_id: UUID) -> dict[str, Any]:
        today = datetime.now(UTC).date()
        async with database.as_user(user_of(actor)) as connection:
            if not await obligations.complete(connection, obligation_id, on=today, user=user_of(actor)):
                raise not_found()
        return {"completed_on": today.isoformat()}


def _general_routes_inbox(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    database = services.database

    @api.get("/notifications")
    async def inbox(actor: reader) -> list[dict[str, Any]]:
        async with database.as_user(user_of(actor)) as connection:
            return await queries.inbox(connection, user_of(actor))


def _general_routes_events(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    database = services.database

    @api.get("/jobs/{job_id}/events")
    async def events(actor: reader, job_id: UUID) -> Response:
        async with database.connection() as connection:
            owner = await connection.fetchval(
                "SELECT TRUE FROM oblicore.background_jobs WHERE id = $1 AND (created_by = $2 OR company_id IN"
                " (SELECT company_id FROM oblicore.user_roles WHERE user_id = $2 AND role IN ('OWNER', 'ADMIN')))",
                job_id,
                user_of(actor),
            )
        if not owner:
            raise not_found()
        return event_stream(job_events(services, job_id))


def _general_routes_generate_aer(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/module-3/aer/generate", status_code=202)
    async def generate_aer(actor: writer, body: AerRequest) -> dict[str, Any]:
        try:
            job = await reporting.generate(services, body.model_dump(), user=user_of(actor))
        except OblicoreError as error:
            raise problem_of(error) from error
        return {"job_id": str(job.id)}

    @api.get("/module-3/aer/{aer_id}")
    async def aer(actor: reader, aer_id: UUID, form: Literal["pdf", "csv", "json"] = "json") -> Response:
        return await report_file(services, aer_id, form, user=user_of(actor))


def _general_routes_ai_extract(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/ai/extract")
    async def ai_extract(actor: writer, body: ExtractRequest) -> dict[str, Any]:
        try:
            return await extract_text(services, body, user=user_of(actor))
        except OblicoreError as error:
            raise problem_of(error) from error


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
