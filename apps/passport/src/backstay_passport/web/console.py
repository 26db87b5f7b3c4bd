"""The maker's console: inbox, readiness, batteries, rules, webhooks, jobs, chains."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, FastAPI, File, Form, Request, Response, UploadFile

from backstay.kit import Actor, Authentication, Pages
from backstay_passport.actions import audit
from backstay_passport.actions import documents as document_actions
from backstay_passport.actions import jobs as job_actions
from backstay_passport.actions import webhooks as webhook_actions
from backstay_passport.actions.readiness import readiness_board
from backstay_passport.domain.errors import PassportError
from backstay_passport.ingest.reading import MAX_BYTES
from backstay_passport.job_views import newest_jobs
from backstay_passport.services import Services
from backstay_passport.store import events, webhooks
from backstay_passport.web import battery_pages, partner_pages, rule_pages


def install(app: FastAPI, services: Services, pages: Pages, auth: Authentication) -> None:
    """Add the console's pages."""
    reader = Annotated[Actor, Depends(auth.require("passports.read"))]
    writer = Annotated[Actor, Depends(auth.require("passports.write"))]
    web = pages.router("/console")
    _inbox(web, services, pages, reader, writer)
    _readiness(web, services, pages, reader)
    battery_pages.install(web, services, pages, reader, writer)
    partner_pages.install(web, services, pages, reader, writer)
    _webhooks(web, services, pages, reader, writer)
    _operations(web, services, pages, reader, writer)
    rule_pages.install(web, services, pages, reader, writer)
    app.include_router(web)


def _inbox(web: APIRouter, services: Services, pages: Pages, reader: Any, writer: Any) -> None:
    @web.get("", response_model=None)
    def inbox(request: Request, actor: reader) -> Response:
        found = document_actions.inbox(services, actor.tenant)
        rows = [{**row, "reason": _reason(row["error"])} for row in found]
        return pages.render(request, "inbox.html", title="Documents", rows=rows)

    @web.post("/upload", response_model=None)
    def upload(
        request: Request,
        actor: writer,
        file: Annotated[UploadFile, File()],
        kind: Annotated[str, Form()] = "",
    ) -> Response:
        try:
            document_actions.upload(
                services,
                actor.tenant,
                name=file.filename or "document",
                content=file.file.read(MAX_BYTES + 1),
                mime_type=file.content_type or "application/octet-stream",
                kind=document_actions.read_kind(kind),
                actor=actor.name,
            )
        except PassportError as error:
            return pages.redirect(request, "/console", flash=error.message, tone="bad")
        return pages.redirect(request, "/console", flash=f"{file.filename} is being read.")


def _reason(error: dict[str, Any] | None) -> str:
    if not error:
        return ""
    return f"{error.get('pointer') or 'document'}: {error.get('problem') or error.get('code')}"


def _readiness(web: APIRouter, services: Services, pages: Pages, reader: Any) -> None:
    @web.get("/readiness", response_model=None)
    def board(request: Request, actor: reader) -> Response:
        rows = readiness_board(services, actor.tenant)
        return pages.render(request, "readiness.html", title="Readiness", rows=rows)


def _webhooks(web: APIRouter, services: Services, pages: Pages, reader: Any, writer: Any) -> None:
    @web.get("/webhooks", response_model=None)
    def hooks(request: Request, actor: reader) -> Response:
        with services.database.read() as connection:
            endpoints = [
                {
                    **row,
                    "state": "active" if row["active"] else "disabled",
                    "events": ", ".join(webhooks.subscriptions(connection, row["id"])) or "all",
                }
                for row in webhooks.endpoints(connection, actor.tenant)
            ]
            deliveries = webhooks.deliveries(connection, actor.tenant)
        return pages.render(
            request, "webhooks.html", title="Webhooks", endpoints=endpoints, deliveries=deliveries
        )

    @web.post("/webhooks", response_model=None)
    def add_hook(
        request: Request,
        actor: writer,
        url: Annotated[str, Form()] = "",
        event_types: Annotated[str, Form(max_length=2000)] = "",
    ) -> Response:
        try:
            wanted = event_types.replace(",", " ").split()
            added = webhook_actions.add(services, actor.tenant, url, wanted, actor.name)
        except PassportError as error:
            return pages.redirect(request, "/console/webhooks", flash=error.message, tone="bad")
        return pages.redirect(
            request, "/console/webhooks", flash=f"The secret, shown only now: {added['secret']}", tone="warn"
        )

    @web.post("/webhooks/{delivery_id}/redeliver", response_model=None)
    def redeliver(request: Request, actor: writer, delivery_id: str) -> Response:
        webhook_actions.redeliver(services, actor.tenant, delivery_id)
        return pages.redirect(request, "/console/webhooks", flash="It is delivered once more.")

    @web.post("/webhooks/{endpoint_id}/active", response_model=None)
    def set_active(
        request: Request, actor: writer, endpoint_id: str, active: Annotated[str, Form()] = ""
    ) -> Response:
        webhook_actions.set_active(services, actor.tenant, endpoint_id, active=bool(active), actor=actor.name)
        told = "It gets events again." if active else "It gets no more events."
        return pages.redirect(request, "/console/webhooks", flash=told)

    @web.post("/webhooks/{endpoint_id}/secret", response_model=None)
    def rotate(request: Request, actor: writer, endpoint_id: str) -> Response:
        secret = webhook_actions.rotate(services, actor.tenant, endpoint_id, actor.name)
        return pages.redirect(
            request, "/console/webhooks", flash=f"The new secret, shown only now: {secret}", tone="warn"
        )


def _operations(web: APIRouter, services: Services, pages: Pages, reader: Any, writer: Any) -> None:
    @web.get("/jobs", response_model=None)
    def jobs(request: Request, actor: reader) -> Response:
        rows = newest_jobs(services, actor.tenant)
        for row in rows:
            row["problem"] = (row["last_error"] or {}).get("message", "")
        return pages.render(request, "jobs.html", title="Jobs", rows=rows)

    @web.post("/jobs/{job_id}/retry", response_model=None)
    def retry(request: Request, actor: writer, job_id: UUID) -> Response:
        try:
            job_actions.retry(services, actor.tenant, job_id, by=actor.name)
        except PassportError as error:
            return pages.redirect(request, "/console/jobs", flash=error.message, tone="bad")
        return pages.redirect(request, "/console/jobs", flash="It runs again.")

    @web.get("/chains", response_model=None)
    def chains(request: Request, actor: reader) -> Response:
        count, problems = audit.verify_chains(services, actor.tenant)
        with services.database.read() as connection:
            newest = events.latest(connection, actor.tenant)
        return pages.render(
            request,
            "chains.html",
            title="Event chains",
            count=count,
            problems=problems,
            newest=newest,
            moment=datetime.fromisoformat,
        )
