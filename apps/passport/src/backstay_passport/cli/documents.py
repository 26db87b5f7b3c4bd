"""ingest, snapshots, jobs, webhooks."""

from __future__ import annotations

import mimetypes
import time
from pathlib import Path

import typer

from backstay import State
from backstay_passport.actions import documents as actions
from backstay_passport.actions import snapshots
from backstay_passport.actions import webhooks as webhook_actions
from backstay_passport.cli.output import JSON_OPTION, TENANT_OPTION, fail, opened, say, say_table, tenant_id
from backstay_passport.cli.waiting import wait_for
from backstay_passport.services import Services
from backstay_passport.store import documents, webhooks
from backstay_passport.store.rows import of_tenant
from backstay_passport.store.tables import data_snapshots

WAIT_SECONDS = 120.0


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(ingest)
    app.command()(inbox)
    groups = typer.Typer(help="Snapshots of facts.", no_args_is_help=True)
    groups.command("list")(snapshots_list)
    groups.command("create")(snapshots_create)
    groups.command("seal")(snapshots_seal)
    app.add_typer(groups, name="snapshots")
    hooks = typer.Typer(help="Webhooks.", no_args_is_help=True)
    hooks.command("add")(webhooks_add)
    hooks.command("list")(webhooks_list)
    hooks.command("redeliver")(webhooks_redeliver)
    app.add_typer(hooks, name="webhooks")


def ingest(
    file: Path,
    kind: str = typer.Option("", help="BOM, PCF or DUE_DILIGENCE; found out if it is not given."),
    wait: bool = typer.Option(False, help="Wait until the facts are read; exit 0 only if they are."),
    tenant: str = TENANT_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Upload a document."""
    if not file.is_file():
        fail(f"there is no file {file}")
    mime_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    with opened() as services:
        owner = tenant_id(services, tenant)
        uploaded = actions.upload(
            services,
            owner,
            name=file.name,
            content=file.read_bytes(),
            mime_type=mime_type,
            kind=actions.read_kind(kind),
        )
        result = {"document_id": uploaded.document_id, "status": "UPLOADED", "error": None}
        if wait:
            result.update(_outcome(services, owner, uploaded))
    say(
        result,
        as_json=as_json,
        text=lambda: f"{file.name}: {result['status']} {result['error'] or ''}".rstrip(),
    )
    if wait and result["status"] != "VALIDATED":
        raise typer.Exit(1)


def _outcome(services: Services, owner: str, uploaded: actions.Uploaded) -> dict[str, str | None]:
    """Wait until the document's version is validated or rejected, or is of a kind without facts."""
    job = wait_for(services, uploaded.job_id, WAIT_SECONDS)
    end = time.monotonic() + WAIT_SECONDS
    while True:
        with services.database.read() as connection:
            row = documents.newest_version(connection, owner, uploaded.document_id)
        if row is not None and (row["status"] != "UPLOADED" or row["kind"] == "OTHER"):
            return {"status": row["status"], "error": row["error"]}
        if job.state is State.DEAD and row is None:
            return {"status": "FAILED", "error": (job.error or {}).get("message")}
        if time.monotonic() > end:
            return {"status": "UPLOADED", "error": "not read yet: is a worker running?"}
        time.sleep(0.1)


def inbox(tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """List the documents and what became of them."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            rows = documents.inbox(connection, owner)
    say_table(rows, ["id", "name", "kind", "format", "status", "error"], as_json=as_json)


def snapshots_list(tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """List the snapshots."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            rows = of_tenant(connection, data_snapshots, owner)
    say_table(rows, ["id", "name", "status", "sealed_at"], as_json=as_json)


def snapshots_create(
    name: str,
    empty: bool = typer.Option(False, help="Add no facts yet."),
    tenant: str = TENANT_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Make a snapshot of the newest facts."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        snapshot_id = snapshots.create(services, owner, name)
        count = 0 if empty else snapshots.add_newest(services, owner, snapshot_id)
    say({"id": snapshot_id, "facts": count}, as_json=as_json, text=f"{snapshot_id} with {count} facts")


def snapshots_seal(snapshot_id: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Seal a snapshot: its facts never change again."""
    with opened() as services:
        fixed = snapshots.seal(services, tenant_id(services, tenant), snapshot_id)
    say({"id": snapshot_id, "snapshot_hash": fixed.hex()}, as_json=as_json, text=f"Sealed: {fixed.hex()}")


def webhooks_add(
    url: str,
    event: list[str] = typer.Option([], help="An event type; all if none is given."),
    tenant: str = TENANT_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Add an endpoint; its secret is shown once, in base64."""
    with opened() as services:
        added = webhook_actions.add(services, tenant_id(services, tenant), url, event)
    say(added, as_json=as_json, text=f"{added['id']}\nsecret {added['secret']}")


def webhooks_list(tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """List the newest deliveries."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            rows = webhooks.deliveries(connection, owner)
    say_table(rows, ["id", "event_type", "status", "attempts", "http_status", "error"], as_json=as_json)


def webhooks_redeliver(delivery_id: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Deliver an event once more."""
    with opened() as services:
        job_id = webhook_actions.redeliver(services, tenant_id(services, tenant), delivery_id)
    say({"job_id": job_id}, as_json=as_json, text=f"job {job_id}")
