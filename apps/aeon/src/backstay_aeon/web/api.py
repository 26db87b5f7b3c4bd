"""/api: jobs, imports, files, reports, dead letters, schedules, metrics."""

from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, File, Form, Header, Response, UploadFile
from pydantic import Field

from backstay.kit import Actor, Authentication, StrictModel, StrictRoute, not_found, read_upload
from backstay_aeon.actions import imports, schedules, submit, uploads, watch
from backstay_aeon.domain.errors import Missing
from backstay_aeon.domain.imports.columns import as_json, read_dataset
from backstay_aeon.handlers.report_gen import FORMATS
from backstay_aeon.services import Services
from backstay_aeon.store import files as file_store
from backstay_aeon.store import imports as import_store
from backstay_aeon.store import metrics
from backstay_aeon.web.prometheus import exposition

LIST = """
SELECT id, job_type, job_category, priority, status, progress_percent, progress_message, retry_count, max_retries,
       created_at, started_at, completed_at, failed_at, scheduled_for, created_by, worker_id
FROM public.jobs WHERE team_id = $1 AND ($2::text IS NULL OR status = $2) AND ($3::text IS NULL OR job_type = $3)
ORDER BY created_at DESC, id DESC LIMIT $4
"""


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


class NewSchedule(StrictModel):
    name: str = Field(min_length=1, max_length=255)
    job_type: str
    payload_template: dict[str, Any] = Field(default_factory=dict)
    schedule_type: Literal["cron", "interval", "once"]
    cron_expression: str | None = None
    interval_ms: int | None = None
    next_run_at: str | None = None
    enabled: bool = True
    max_runs: int | None = None
    expires_at: str | None = None


class Decision(StrictModel):
    notes: str = Field(min_length=1, max_length=2000)


def person(actor: Actor) -> UUID | None:
    """Whoever has logged in, by their id, or is behind a key, which has their id as its name."""
    for told in (actor.id, actor.name):
        with suppress(ValueError):
            return UUID(told)
    return None


def moment(text: str | None) -> datetime | None:
    """A moment as JSON has it."""
    return None if text is None else datetime.fromisoformat(text)


async def report_response(services: Services, report_id: UUID, team_id: UUID) -> Response:
    """A report as a file to keep."""
    row = await services.database.row(
        "SELECT kind, format, storage_key FROM aeon.reports WHERE id = $1 AND team_id = $2",
        report_id,
        team_id,
    )
    if row is None:
        raise not_found()
    name = f'attachment; filename="{row["kind"]}.{row["format"]}"'
    content = await services.files.get(row["storage_key"])
    return Response(content, media_type=FORMATS[row["format"]], headers={"Content-Disposition": name})


def router(services: Services, auth: Authentication) -> APIRouter:
    """Every path of the API."""
    api = APIRouter(prefix="/api", route_class=StrictRoute)
    for add in (_jobs, _acts, _imports, _files_and_letters, _schedules):
        add(api, services, auth)
    return api


async def _own(services: Services, actor: Actor, job_id: str) -> Any:
    try:
        return await submit.job_of(services, job_id, UUID(actor.tenant))
    except Missing:
        raise not_found() from None


def _jobs(api: APIRouter, services: Services, auth: Authentication) -> None:
    """Jobs are submitted, listed, counted and looked at."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]
    database = services.database

    @api.post("/jobs/create", status_code=202)
    async def create(
        actor: writer,
        body: NewJob,
        response: Response,
        idempotency_key: Annotated[str | None, Header()] = None,
    ) -> dict[str, Any]:
        given = body.model_dump(exclude_none=True)
        ties = [{**tie.model_dump(), "type": tie.dependency_type} for tie in body.depends_on or ()]
        given |= {"scheduled_for": moment(body.scheduled_for), "idempotency_key": idempotency_key}
        given["depends_on"] = ties
        made = await submit.create(services, UUID(actor.tenant), person(actor), given)
        response.headers["Location"] = f"/api/jobs/{made['job_id']}"
        return made

    @api.get("/jobs")
    async def listed(
        actor: reader, status: str | None = None, job_type: str | None = None, limit: int = 50
    ) -> Any:
        return await database.rows(LIST, UUID(actor.tenant), status, job_type, max(1, min(limit, 200)))

    @api.get("/jobs/metrics")
    @api.get("/metrics")
    async def figures(actor: reader) -> Any:
        return await metrics.collect(database)

    @api.get("/metrics/prometheus")
    async def prometheus(actor: reader) -> Response:
        return Response(exposition(await metrics.collect(database)), media_type="text/plain; version=0.0.4")

    @api.get("/jobs/{job_id}")
    async def one(actor: reader, job_id: str) -> Any:
        job = await _own(services, actor, job_id)
        row = await database.row("SELECT * FROM public.jobs WHERE id = $1", job.id)
        runs = await database.rows(
            "SELECT * FROM public.job_executions WHERE job_id = $1 ORDER BY attempt_number", job.id
        )
        ties = await database.rows("SELECT * FROM public.job_dependencies WHERE job_id = $1", job.id)
        why = None if job.is_finished else await submit.why(services, job, UUID(actor.tenant))
        return {**(row or {}), "executions": runs, "dependencies": ties, "why": why}


def _acts(api: APIRouter, services: Services, auth: Authentication) -> None:
    """What a team does with its jobs."""
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]

    @api.delete("/jobs/{job_id}")
    async def cancel(actor: writer, job_id: str) -> Any:
        job = await _own(services, actor, job_id)
        state = await services.app.jobs.cancel(job.id, reason="cancelled by its team", by=actor.name)
        return {"job_id": job_id, "status": state.value}

    @api.post("/jobs/{job_id}/pause")
    async def pause(actor: writer, job_id: str) -> Any:
        job = await _own(services, actor, job_id)
        await services.app.jobs.hold(job.id, reason="paused", by=actor.name)
        return {"job_id": job_id, "status": "paused"}

    @api.post("/jobs/{job_id}/resume")
    async def resume(actor: writer, job_id: str) -> Any:
        job = await _own(services, actor, job_id)
        await services.app.jobs.release(job.id, by=actor.name)
        return {"job_id": job_id, "status": "pending"}

    @api.post("/jobs/{job_id}/retry")
    async def retry(actor: writer, job_id: str) -> Any:
        job = await _own(services, actor, job_id)
        await services.app.dead_letters.retry(job.id, by=actor.name, reason="retried by its team")
        return {"job_id": job_id, "status": "pending"}


def _imports(api: APIRouter, services: Services, auth: Authentication) -> None:
    """Tables come in, are corrected, and go out again."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]
    database = services.database

    @api.post("/datasets/{name}", status_code=201)
    async def dataset(actor: writer, name: str, body: dict[str, Any]) -> Any:
        made = read_dataset(name, body)
        async with database.connection() as connection:
            await import_store.save_dataset(connection, UUID(actor.tenant), made)
        return as_json(made)

    @api.post("/imports", status_code=202)
    async def begin(
        actor: writer,
        file: Annotated[UploadFile, File()],
        dataset: Annotated[str, Form()],
        dry_run: Annotated[bool, Form()] = False,
    ) -> Any:
        content = await read_upload(file, most=services.settings.max_upload_mb * 1024 * 1024)
        team, user = UUID(actor.tenant), person(actor)
        made = await imports.begin(
            services, team, user, name=file.filename or "file", content=content, dataset=dataset
        )
        job = await imports.start(services, team, user, made, dry_run=dry_run)
        return {"import_id": str(made), "job_id": job}

    @api.get("/imports")
    async def listed(actor: reader) -> Any:
        return await import_store.of_team(database, UUID(actor.tenant))

    @api.get("/imports/{import_id}")
    async def shown(actor: reader, import_id: UUID) -> Any:
        return await imports.show(services, UUID(actor.tenant), import_id)

    @api.post("/imports/{import_id}/start", status_code=202)
    async def start(actor: writer, import_id: UUID) -> Any:
        return {"job_id": await imports.start(services, UUID(actor.tenant), person(actor), import_id)}

    @api.get("/imports/{import_id}/rejects")
    async def rejects(actor: reader, import_id: UUID) -> Response:
        content = await imports.rejects(services, UUID(actor.tenant), import_id)
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        name = f'attachment; filename="rejects-{import_id}.xlsx"'
        return Response(content, media_type=kind, headers={"Content-Disposition": name})

    @api.post("/imports/{import_id}/rejects", status_code=202)
    async def resubmit(actor: writer, import_id: UUID, file: Annotated[UploadFile, File()]) -> Any:
        content = await read_upload(file, most=services.settings.max_upload_mb * 1024 * 1024)
        job = await imports.resubmit(
            services, UUID(actor.tenant), person(actor), import_id, file.filename or "rejects.xlsx", content
        )
        return {"job_id": job}

    @api.post("/imports/{import_id}/undo", status_code=202)
    async def undo(actor: writer, import_id: UUID) -> Any:
        return {"job_id": await imports.undo(services, UUID(actor.tenant), person(actor), import_id)}

    @api.get("/imports/{import_id}/receipt")
    async def receipt(actor: reader, import_id: UUID) -> Any:
        return await imports.receipt(services, UUID(actor.tenant), import_id)


def _files_and_letters(api: APIRouter, services: Services, auth: Authentication) -> None:
    """Files, reports and dead letters."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]
    database = services.database

    @api.post("/files", status_code=202)
    async def upload(actor: writer, file: Annotated[UploadFile, File()]) -> Any:
        content = await read_upload(file, most=services.settings.max_upload_mb * 1024 * 1024)
        team, user = UUID(actor.tenant), person(actor)
        kept = await uploads.keep(services, team, user, file.filename or "file", content)
        given = {"job_type": "file_processing", "payload": {"file_id": str(kept["id"])}}
        return {"file_id": str(kept["id"]), **await submit.create(services, team, user, given)}

    @api.get("/files")
    async def files(actor: reader) -> Any:
        return await database.rows(
            "SELECT id, name, size, sha256, mime, facts - 'text' AS facts, job_id, created_at FROM aeon.files"
            " WHERE team_id = $1 ORDER BY created_at DESC LIMIT 100",
            UUID(actor.tenant),
        )

    @api.get("/files/{file_id}")
    async def file(actor: reader, file_id: UUID) -> Any:
        async with database.connection() as connection:
            return await file_store.get(connection, file_id, UUID(actor.tenant))

    @api.post("/reports", status_code=202)
    async def report(actor: writer, body: dict[str, Any]) -> Any:
        given = {"job_type": "report_gen", "payload": body}
        return await submit.create(services, UUID(actor.tenant), person(actor), given)

    @api.get("/reports/{report_id}/file")
    async def report_file(actor: reader, report_id: UUID) -> Response:
        return await report_response(services, report_id, UUID(actor.tenant))

    @api.get("/reports")
    async def reports(actor: reader) -> Any:
        return await database.rows(
            "SELECT id, kind, format, size, sha256, period_from, period_to, created_at FROM aeon.reports"
            " WHERE team_id = $1 ORDER BY created_at DESC LIMIT 100",
            UUID(actor.tenant),
        )

    @api.get("/dlq")
    async def letters(actor: reader) -> Any:
        return await database.rows(
            "SELECT id, original_job_id, job_type, failure_reason, final_error_message, total_attempts, status,"
            " created_at FROM public.dead_letter_jobs WHERE team_id = $1 ORDER BY created_at DESC LIMIT 100",
            UUID(actor.tenant),
        )

    @api.post("/dlq/{job_id}/{decision}")
    async def decide(
        actor: writer, job_id: str, decision: Literal["investigate", "resolve", "ignore"], body: Decision
    ) -> Any:
        job = await _own(services, actor, job_id)
        letters = services.app.dead_letters
        if decision == "investigate":
            await letters.investigate(job.id, by=actor.name, note=body.notes)
        elif decision == "resolve":
            await letters.resolve(job.id, by=actor.name, reason=body.notes)
        else:
            await letters.ignore(job.id, by=actor.name, reason=body.notes)
        return {"job_id": job_id, "decision": decision}


def _schedules(api: APIRouter, services: Services, auth: Authentication) -> None:
    """Schedules and promises."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]
    database = services.database

    @api.get("/schedules")
    async def schedules_of(actor: reader) -> Any:
        return await database.rows(
            "SELECT * FROM public.job_schedules WHERE team_id = $1 ORDER BY created_at", UUID(actor.tenant)
        )

    @api.post("/schedules", status_code=201)
    async def schedule(actor: writer, body: NewSchedule) -> Any:
        given = body.model_dump()
        given |= {"next_run_at": moment(body.next_run_at), "expires_at": moment(body.expires_at)}
        return await schedules.create(services, UUID(actor.tenant), person(actor), given)

    @api.delete("/schedules/{schedule_id}", status_code=204)
    async def unschedule(actor: writer, schedule_id: UUID) -> None:
        await schedules.remove(services, schedule_id, UUID(actor.tenant))

    @api.get("/alerts")
    async def alerts(actor: reader) -> Any:
        return await database.rows("SELECT * FROM aeon.alerts ORDER BY id DESC LIMIT 100")

    @api.get("/slo")
    async def slo(actor: reader) -> Any:
        return await watch.slos(services)
