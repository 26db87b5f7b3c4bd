"""The HTTP API: documents, snapshots, rules, batteries."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, FastAPI, File, Form, UploadFile

from backstay.kit import Actor, Authentication, StrictRoute, not_found
from backstay_passport.actions import documents as document_actions
from backstay_passport.actions import jobs as job_actions
from backstay_passport.actions import rules as rule_actions
from backstay_passport.actions import snapshots as snapshot_actions
from backstay_passport.ingest.reading import MAX_BYTES
from backstay_passport.job_views import job_of, newest_jobs
from backstay_passport.services import Services
from backstay_passport.store import documents, rules, snapshots
from backstay_passport.store.rows import of_tenant
from backstay_passport.store.tables import data_snapshots
from backstay_passport.web.bodies import (
    FileAddress,
    NewRules,
    NewSnapshot,
    SnapshotItems,
    TestRun,
)
from backstay_passport.web.routing import ANSWERS, PREFIX, Limit
from backstay_passport.web.rows import plain_row


def install(app: FastAPI, services: Services, auth: Authentication) -> None:
    """Add the routes that feed passports."""
    reader = Annotated[Actor, Depends(auth.require("passports.read"))]
    writer = Annotated[Actor, Depends(auth.require("passports.write"))]
    api = APIRouter(prefix=PREFIX, route_class=StrictRoute, responses=ANSWERS)

    _documents(api, services, reader, writer)
    _jobs(api, services, reader, writer)
    _snapshots(api, services, reader, writer)
    _rules(api, services, reader, writer)
    app.include_router(api)


def _documents(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/documents", status_code=202, tags=["documents"])
    def upload(
        actor: writer, file: Annotated[UploadFile, File()], kind: Annotated[str, Form()] = ""
    ) -> dict[str, Any]:
        """Upload a document; its facts are read by a job."""
        done = document_actions.upload(
            services,
            actor.tenant,
            name=file.filename or "document",
            content=file.file.read(MAX_BYTES + 1),
            mime_type=file.content_type or "application/octet-stream",
            kind=document_actions.read_kind(kind),
            actor=actor.name,
        )
        return _uploaded(done)

    @api.post("/documents/from-address", status_code=202, tags=["documents"])
    def fetch(actor: writer, body: FileAddress) -> dict[str, Any]:
        """Read a document that lies in the files' folder or in an S3 bucket."""
        done = document_actions.ingest_address(
            services,
            actor.tenant,
            file_url=body.file_url,
            name=body.name,
            mime_type=body.mime_type,
            kind=document_actions.read_kind(body.kind),
            actor=actor.name,
        )
        return _uploaded(done)

    @api.get("/documents", tags=["documents"])
    def inbox(actor: reader) -> list[dict[str, Any]]:
        """List the newest documents, those that are still to be read first; a version with what became of it."""
        return document_actions.inbox(services, actor.tenant)

    @api.get("/documents/versions/{version_id}/facts", tags=["documents"])
    def facts(actor: reader, version_id: UUID) -> list[dict[str, Any]]:
        """List the facts of a document version."""
        with services.database.read() as connection:
            documents.version(connection, actor.tenant, str(version_id))
            return [plain_row(row) for row in documents.facts_of(connection, actor.tenant, str(version_id))]


def _uploaded(done: document_actions.Uploaded) -> dict[str, Any]:
    return {
        "document_id": done.document_id,
        "document_version_id": done.version_id,
        "job_id": done.job_id,
    }


def _jobs(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.get("/jobs", tags=["jobs"])
    def jobs(actor: reader) -> list[dict[str, Any]]:
        """List the newest jobs in the application's own words."""
        return newest_jobs(services, actor.tenant)

    @api.get("/jobs/{job_id}", tags=["jobs"])
    def job(actor: reader, job_id: UUID) -> dict[str, Any]:
        """Show a job: its status, its attempts and its last error."""
        found = job_of(services, actor.tenant, job_id)
        if found is None:
            raise not_found()
        return found

    @api.post("/jobs/{job_id}/retry", status_code=202, tags=["jobs"])
    def retry(actor: writer, job_id: UUID) -> dict[str, Any]:
        """Run a job again that has FAILED or is a DEAD_LETTER."""
        job_actions.retry(services, actor.tenant, job_id, by=actor.name)
        return {"job_id": str(job_id)}


def _snapshots(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/snapshots", status_code=201, tags=["snapshots"])
    def create(actor: writer, body: NewSnapshot) -> dict[str, Any]:
        """Make a snapshot."""
        made = snapshot_actions.create(services, actor.tenant, body.name, actor.name)
        count = snapshot_actions.add_newest(services, actor.tenant, made) if body.newest else 0
        return {"id": made, "facts": count}

    @api.get("/snapshots", tags=["snapshots"])
    def listed(actor: reader, limit: Limit = 100) -> list[dict[str, Any]]:
        """List the newest snapshots."""
        with services.database.read() as connection:
            rows = of_tenant(connection, data_snapshots, actor.tenant, limit=limit)
            return [plain_row(row) for row in rows]

    @api.post("/snapshots/{snapshot_id}/items", tags=["snapshots"])
    def items(actor: writer, snapshot_id: UUID, body: SnapshotItems) -> dict[str, Any]:
        """Add facts to a snapshot that is BUILDING."""
        count = snapshot_actions.add_facts(services, actor.tenant, str(snapshot_id), body.fact_ids)
        for version_id in body.document_version_ids:
            count += snapshot_actions.add_document(services, actor.tenant, str(snapshot_id), version_id)
        return {"added": count}

    @api.post("/snapshots/{snapshot_id}/build", status_code=202, tags=["snapshots"])
    def build(actor: writer, snapshot_id: UUID) -> dict[str, Any]:
        """Ask for a snapshot to become READY."""
        return {"job_id": snapshot_actions.build(services, actor.tenant, str(snapshot_id))}

    @api.post("/snapshots/{snapshot_id}/seal", tags=["snapshots"])
    def seal(actor: writer, snapshot_id: UUID) -> dict[str, Any]:
        """Seal a snapshot; its facts never change again."""
        fixed = snapshot_actions.seal(services, actor.tenant, str(snapshot_id), actor.name)
        return {"snapshot_hash": fixed.hex()}

    @api.get("/snapshots/{snapshot_id}", tags=["snapshots"])
    def show(actor: reader, snapshot_id: UUID) -> dict[str, Any]:
        """Show a snapshot and its facts."""
        with services.database.read() as connection:
            row = snapshots.get(connection, actor.tenant, str(snapshot_id))
            found = snapshots.items(connection, actor.tenant, str(snapshot_id))
        listed = [
            {"type": one.fact_type, "key": one.fact_key, "hash": one.payload_hash.hex()} for one in found
        ]
        return {**plain_row(row), "facts": listed}


def _rules(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/rules", status_code=201, tags=["rules"])
    def add(actor: writer, body: NewRules) -> dict[str, Any]:
        """Store rules and tests as a draft; errors have line and column."""
        made = rule_actions.add_version(
            services, actor.tenant, body.rules_source, body.tests_source, actor.name
        )
        return {"id": made, "status": "DRAFT"}

    @api.get("/rules", tags=["rules"])
    def listed(actor: reader) -> list[dict[str, Any]]:
        """List the rule package versions."""
        with services.database.read() as connection:
            return [plain_row(row) for row in rules.versions(connection, actor.tenant)]

    @api.post("/rules/{version_id}/test", status_code=202, tags=["rules"])
    def test(actor: writer, version_id: UUID, body: TestRun) -> dict[str, Any]:
        """Ask for a test run."""
        return {"job_id": rule_actions.run_tests(services, actor.tenant, str(version_id), body.seed)}

    @api.get("/rules/{version_id}/runs", tags=["rules"])
    def runs(actor: reader, version_id: UUID) -> list[dict[str, Any]]:
        """List the test runs of a version."""
        with services.database.read() as connection:
            return [plain_row(row) for row in rules.runs(connection, actor.tenant, str(version_id))]

    @api.post("/rules/{version_id}/publish", tags=["rules"])
    def publish(actor: writer, version_id: UUID) -> dict[str, Any]:
        """Publish a validated version."""
        rule_actions.publish(services, actor.tenant, str(version_id), actor.name)
        return {"id": str(version_id), "status": "PUBLISHED"}

    @api.get("/rules/{version_id}", tags=["rules"])
    def show(actor: reader, version_id: UUID) -> dict[str, Any]:
        """Show a version with its sources."""
        with services.database.read() as connection:
            return plain_row(rules.version(connection, actor.tenant, str(version_id)))

    @api.put("/rules/{version_id}", tags=["rules"])
    def rewrite(actor: writer, version_id: UUID, body: NewRules) -> dict[str, Any]:
        """Write a draft anew; other versions never change."""
        rule_actions.rewrite_draft(
            services, actor.tenant, str(version_id), body.rules_source, body.tests_source, actor.name
        )
        return {"id": str(version_id), "status": "DRAFT"}

    @api.post("/rules/{version_id}/deprecate", tags=["rules"])
    def deprecate(actor: writer, version_id: UUID) -> dict[str, Any]:
        """Let a published version make no more passports; those that it made stay."""
        rule_actions.deprecate(services, actor.tenant, str(version_id), actor.name)
        return {"id": str(version_id), "status": "DEPRECATED"}

    @api.post("/rules/{version_id}/retire", tags=["rules"])
    def retire(actor: writer, version_id: UUID) -> dict[str, Any]:
        """Put a deprecated version away for good."""
        rule_actions.retire(services, actor.tenant, str(version_id), actor.name)
        return {"id": str(version_id), "status": "RETIRED"}
