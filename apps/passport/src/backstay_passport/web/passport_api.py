"""The HTTP API: passports, verification, exports, webhooks."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, FastAPI, File, Response, UploadFile

from backstay.kit import Actor, Authentication, StrictRoute, not_found
from backstay_passport.actions import audit
from backstay_passport.actions import passports as actions
from backstay_passport.actions import webhooks as webhook_actions
from backstay_passport.actions.passports import verify_text
from backstay_passport.actions.verification import MAX_UPLOAD, verify_content
from backstay_passport.domain.verify import Check, holds
from backstay_passport.export import ENDINGS, MEDIA_TYPES, ExportFormat
from backstay_passport.services import Services
from backstay_passport.store import passports, webhooks
from backstay_passport.store.rows import find
from backstay_passport.store.tables import passport_exports
from backstay_passport.web.bodies import (
    CompileRequest,
    ExportRequest,
    NewPassport,
    NewWebhook,
    Revocation,
    VerifyRequest,
)
from backstay_passport.web.routing import ANSWERS, PREFIX, Limit, Offset
from backstay_passport.web.rows import plain_row


def install(app: FastAPI, services: Services, auth: Authentication) -> None:
    """Add the routes about passports."""
    reader = Annotated[Actor, Depends(auth.require("passports.read"))]
    writer = Annotated[Actor, Depends(auth.require("passports.write"))]
    api = APIRouter(prefix=PREFIX, route_class=StrictRoute, responses=ANSWERS)
    _passports(api, services, reader, writer)
    _versions(api, services, reader, writer)
    _webhooks(api, services, reader, writer)

    @api.post("/verify", tags=["public"])
    def verify(body: VerifyRequest) -> dict[str, Any]:
        """Check a scanned text; anybody may ask."""
        version_id, checks = verify_text(services, body.text)
        return _checked(version_id, checks)

    @api.post("/verify/file", tags=["public"])
    def verify_file(file: Annotated[UploadFile, File()]) -> dict[str, Any]:
        """Check an export, the public JSON, or a picture of a code; anybody may ask."""
        version_id, checks = verify_content(services, "", file.file.read(MAX_UPLOAD + 1))
        return _checked(version_id, checks)

    @api.get("/audit", tags=["audit"])
    def chains(actor: reader) -> dict[str, Any]:
        """Check every event chain of the tenant."""
        count, problems = audit.verify_chains(services, actor.tenant)
        return {"events": count, "problems": problems, "ok": not problems}

    app.include_router(api)


def _checked(version_id: str | None, checks: list[Check]) -> dict[str, Any]:
    listed = [{"check": one.name, "ok": one.ok, "detail": one.detail} for one in checks]
    return {"ok": holds(checks), "passport_version_id": version_id, "checks": listed}


def _passports(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/passports", status_code=201, tags=["passports"])
    def create(actor: writer, body: NewPassport) -> dict[str, Any]:
        """Return the passport of a battery or a model, made if it is new."""
        unit_id = None if body.unit_id is None else str(body.unit_id)
        return {"id": actions.create(services, actor.tenant, str(body.product_id), unit_id, actor.name)}

    @api.get("/passports", tags=["passports"])
    def listed(actor: reader, limit: Limit = 100, offset: Offset = 0) -> list[dict[str, Any]]:
        """List the passports, newest first, a page at a time."""
        with services.database.read() as connection:
            return [plain_row(row) for row in passports.all_of(connection, actor.tenant, limit, offset)]

    @api.post("/passports/{passport_id}/compile", status_code=202, tags=["passports"])
    def compile_version(actor: writer, passport_id: UUID, body: CompileRequest) -> dict[str, Any]:
        """Ask for a version."""
        job_id = actions.compile_version(
            services,
            actor.tenant,
            str(passport_id),
            str(body.snapshot_id),
            str(body.rule_package_version_id),
        )
        return {"job_id": job_id}

    @api.get("/passports/{passport_id}", tags=["passports"])
    def show(actor: reader, passport_id: UUID) -> dict[str, Any]:
        """Show a passport and its versions."""
        with services.database.read() as connection:
            row = passports.get(connection, actor.tenant, str(passport_id))
            versions = passports.versions_of(connection, actor.tenant, str(passport_id))
        return {**plain_row(row), "versions": [plain_row(one) for one in versions]}


def _versions(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.get("/versions/{version_id}", tags=["passports"])
    def show(actor: reader, version_id: UUID) -> dict[str, Any]:
        """Show a version."""
        with services.database.read() as connection:
            return plain_row(passports.version(connection, actor.tenant, str(version_id)))

    @api.get("/versions/{version_id}/artifacts/{name}", tags=["passports"], response_model=None)
    def artifact(actor: reader, version_id: UUID, name: str) -> Response:
        """Return the stored bytes of payload, proof or receipt."""
        if name not in ("payload", "proof", "receipt"):
            raise not_found()
        with services.database.read() as connection:
            row = passports.version(connection, actor.tenant, str(version_id))
        return Response(bytes(row[f"{name}_canonical"]), media_type="application/json")

    @api.post("/versions/{version_id}/activate", tags=["passports"])
    def activate(actor: writer, version_id: UUID) -> dict[str, Any]:
        """Make a signed version the one that is shown."""
        before = actions.activate(services, actor.tenant, str(version_id), actor.name)
        return {"id": str(version_id), "status": "ACTIVE", "superseded": before}

    @api.post("/versions/{version_id}/revoke", tags=["passports"])
    def revoke(actor: writer, version_id: UUID, body: Revocation) -> dict[str, Any]:
        """Revoke a version."""
        actions.revoke(services, actor.tenant, str(version_id), body.reason, actor.name)
        return {"id": str(version_id), "status": "REVOKED"}

    @api.post("/versions/{version_id}/exports", status_code=202, tags=["exports"])
    def export(actor: writer, version_id: UUID, body: ExportRequest) -> dict[str, Any]:
        """Ask for an export."""
        job_id = actions.export_version(
            services,
            actor.tenant,
            str(version_id),
            body.format,
            public=body.public,
            destination=body.destination,
        )
        return {"job_id": job_id}

    @api.get("/versions/{version_id}/exports", tags=["exports"])
    def exports(actor: reader, version_id: UUID) -> list[dict[str, Any]]:
        """List the exports of a version."""
        with services.database.read() as connection:
            return [plain_row(row) for row in passports.exports_of(connection, actor.tenant, str(version_id))]

    @api.get("/exports/{export_id}/file", tags=["exports"], response_model=None)
    def file(actor: writer, export_id: UUID) -> Response:
        """Return the bytes of an export; the holder's bundle needs the maker's right."""
        with services.database.read() as connection:
            row = find(connection, passport_exports, actor.tenant, str(export_id), "export")
        chosen = ExportFormat(row["format"])
        headers = {"Content-Disposition": f'attachment; filename="passport.{ENDINGS[chosen]}"'}
        return Response(bytes(row["content"]), media_type=MEDIA_TYPES[chosen], headers=headers)


def _webhooks(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/webhooks", status_code=201, tags=["webhooks"])
    def add(actor: writer, body: NewWebhook) -> dict[str, Any]:
        """Add an endpoint; its secret is shown only now."""
        return webhook_actions.add(services, actor.tenant, body.url, body.event_types, actor.name)

    @api.get("/webhooks", tags=["webhooks"])
    def endpoints(actor: reader) -> list[dict[str, Any]]:
        """List the endpoints with what they subscribe to; no event type means all."""
        with services.database.read() as connection:
            return [
                {**plain_row(row), "event_types": webhooks.subscriptions(connection, row["id"])}
                for row in webhooks.endpoints(connection, actor.tenant)
            ]

    @api.post("/webhooks/{endpoint_id}/disable", tags=["webhooks"])
    def disable(actor: writer, endpoint_id: UUID) -> dict[str, Any]:
        """Send an endpoint no events of the time to come."""
        webhook_actions.set_active(services, actor.tenant, str(endpoint_id), active=False, actor=actor.name)
        return {"id": str(endpoint_id), "active": False}

    @api.post("/webhooks/{endpoint_id}/enable", tags=["webhooks"])
    def enable(actor: writer, endpoint_id: UUID) -> dict[str, Any]:
        """Send an endpoint events again."""
        webhook_actions.set_active(services, actor.tenant, str(endpoint_id), active=True, actor=actor.name)
        return {"id": str(endpoint_id), "active": True}

    @api.post("/webhooks/{endpoint_id}/secret", status_code=201, tags=["webhooks"])
    def rotate(actor: writer, endpoint_id: UUID) -> dict[str, Any]:
        """Give an endpoint a new secret; it is shown only now."""
        return {"secret": webhook_actions.rotate(services, actor.tenant, str(endpoint_id), actor.name)}

    @api.get("/webhooks/deliveries", tags=["webhooks"])
    def deliveries(actor: reader) -> list[dict[str, Any]]:
        """List the newest deliveries."""
        with services.database.read() as connection:
            return [plain_row(row) for row in webhooks.deliveries(connection, actor.tenant)]

    @api.post("/webhooks/deliveries/{delivery_id}/redeliver", status_code=202, tags=["webhooks"])
    def redeliver(actor: writer, delivery_id: UUID) -> dict[str, Any]:
        """Deliver an event once more."""
        return {"job_id": webhook_actions.redeliver(services, actor.tenant, str(delivery_id))}
