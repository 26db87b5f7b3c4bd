"""The maker's console: inbox, readiness, batteries, rules, webhooks, jobs, chains."""

import json
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, File, Form, Request, Response, UploadFile

from backstay.kit import Actor, Authentication, Crumb, Entry, Pages, path_of
from backstay_passport.actions import audit
from backstay_passport.actions import documents as document_actions
from backstay_passport.actions import passports as passport_actions
from backstay_passport.actions import webhooks as webhook_actions
from backstay_passport.actions.readiness import readiness_board
from backstay_passport.domain.canonical import parse
from backstay_passport.domain.errors import PassportError
from backstay_passport.ingest.reading import MAX_BYTES
from backstay_passport.job_views import newest_jobs
from backstay_passport.services import Services
from backstay_passport.store import batteries, documents, events, passports, webhooks
from backstay_passport.web import rule_pages
from backstay_passport.web.lookup import shown
from backstay_passport.web.views import difference, sections


def install(app: FastAPI, services: Services, pages: Pages, auth: Authentication) -> None:
    """Add the console's pages."""
    reader = Annotated[Actor, Depends(auth.require("passports.read"))]
    writer = Annotated[Actor, Depends(auth.require("passports.write"))]
    web = pages.router("/console")
    _inbox(web, services, pages, reader, writer)
    _readiness(web, services, pages, reader)
    _batteries(web, services, pages, reader, writer)
    _operations(web, services, pages, reader, writer)
    rule_pages.install(web, services, pages, reader, writer)
    app.include_router(web)


def _inbox(web: APIRouter, services: Services, pages: Pages, reader: Any, writer: Any) -> None:
    @web.get("", response_model=None)
    def inbox(request: Request, actor: reader) -> Response:
        with services.database.read() as connection:
            found = documents.inbox(connection, actor.tenant)
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


def _reason(error: str | None) -> str:
    if not error:
        return ""
    details = json.loads(error)
    return f"{details.get('pointer') or 'document'}: {details.get('problem', details.get('code'))}"


def _readiness(web: APIRouter, services: Services, pages: Pages, reader: Any) -> None:
    @web.get("/readiness", response_model=None)
    def board(request: Request, actor: reader) -> Response:
        rows = readiness_board(services, actor.tenant)
        return pages.render(request, "readiness.html", title="Readiness", rows=rows)


def _batteries(web: APIRouter, services: Services, pages: Pages, reader: Any, writer: Any) -> None:
    @web.get("/batteries", response_model=None)
    def listed(request: Request, actor: reader) -> Response:
        rows = []
        with services.database.read() as connection:
            for model in batteries.products(connection, actor.tenant):
                for unit in batteries.units_of(connection, actor.tenant, model["id"]):
                    rows.append(
                        {**unit, "sku": model["sku"], "href": path_of("console", "batteries", unit["id"])}
                    )
        return pages.render(request, "batteries.html", title="Batteries", rows=rows)

    @web.get("/batteries/{unit_id}", response_model=None)
    def one(request: Request, actor: reader, unit_id: str, old: str = "") -> Response:
        with services.database.read() as connection:
            unit = batteries.unit(connection, actor.tenant, unit_id)
            passport = passports.of_unit(connection, unit_id)
            versions = (
                [] if passport is None else passports.versions_of(connection, actor.tenant, passport["id"])
            )
            newest = shown(connection, versions[0]) if versions else None
            changes = []
            if newest is not None and len(versions) > 1:
                other = next((row for row in versions if row["id"] == old), versions[1])
                before = parse(bytes(other["payload_canonical"]))["submodels"]
                changes = difference(before, newest.payload["submodels"])
            told = [] if newest is None else events.history(connection, actor.tenant, newest.row["id"])
            lineage = batteries.lineage(connection, actor.tenant, unit_id)
        return pages.render(
            request,
            "battery.html",
            title=f"Battery {unit['serial']}",
            crumbs=[Crumb("Batteries", "/console/batteries"), Crumb(unit["serial"])],
            unit=unit,
            versions=[
                {**row, "short": row["id"][:8], "issued": datetime.fromisoformat(row["issued_at"])}
                for row in versions
            ],
            changes=changes,
            lineage=lineage,
            history=[Entry(one.event_type, datetime.fromisoformat(one.occurred_at)) for one in told],
            sections=[]
            if newest is None
            else sections(
                newest.payload,
                newest.proof,
                passport_actions.ALL_TIERS,
                rules_source=newest.rules_source,
                documents=newest.documents,
            ),
        )

    @web.post("/versions/{version_id}/activate", response_model=None)
    def activate(request: Request, actor: writer, version_id: str) -> Response:
        passport_actions.activate(services, actor.tenant, version_id, actor.name)
        return pages.redirect(request, _battery_of(services, actor.tenant, version_id), flash="It is active.")

    @web.post("/versions/{version_id}/revoke", response_model=None)
    def revoke(request: Request, actor: writer, version_id: str) -> Response:
        passport_actions.revoke(services, actor.tenant, version_id, "revoked in the console", actor.name)
        return pages.redirect(
            request, _battery_of(services, actor.tenant, version_id), flash="It is revoked."
        )


def _battery_of(services: Services, tenant_id: str, version_id: str) -> str:
    with services.database.read() as connection:
        row = passports.version(connection, tenant_id, version_id)
        passport = passports.get(connection, tenant_id, row["passport_id"])
    return path_of("console", "batteries", passport["battery_unit_id"] or "")


def _operations(web: APIRouter, services: Services, pages: Pages, reader: Any, writer: Any) -> None:
    @web.get("/webhooks", response_model=None)
    def hooks(request: Request, actor: reader) -> Response:
        with services.database.read() as connection:
            endpoints = webhooks.endpoints(connection, actor.tenant)
            deliveries = webhooks.deliveries(connection, actor.tenant)
        return pages.render(
            request, "webhooks.html", title="Webhooks", endpoints=endpoints, deliveries=deliveries
        )

    @web.post("/webhooks", response_model=None)
    def add_hook(request: Request, actor: writer, url: Annotated[str, Form()] = "") -> Response:
        try:
            added = webhook_actions.add(services, actor.tenant, url, [], actor.name)
        except PassportError as error:
            return pages.redirect(request, "/console/webhooks", flash=error.message, tone="bad")
        return pages.redirect(
            request, "/console/webhooks", flash=f"The secret, shown only now: {added['secret']}", tone="warn"
        )

    @web.post("/webhooks/{delivery_id}/redeliver", response_model=None)
    def redeliver(request: Request, actor: writer, delivery_id: str) -> Response:
        webhook_actions.redeliver(services, actor.tenant, delivery_id)
        return pages.redirect(request, "/console/webhooks", flash="It is delivered once more.")

    @web.get("/jobs", response_model=None)
    def jobs(request: Request, actor: reader) -> Response:
        rows = newest_jobs(services, actor.tenant)
        for row in rows:
            row["problem"] = (row["last_error"] or {}).get("message", "")
        return pages.render(request, "jobs.html", title="Jobs", rows=rows)

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
