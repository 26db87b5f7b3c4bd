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
    app.command()(facts)
    groups = typer.Typer(help="Snapshots of facts.", no_args_is_help=True)
    groups.command("list")(snapshots_list)
    groups.command("create")(snapshots_create)
    groups.command("add")(snapshots_add)
    groups.command("seal")(snapshots_seal)
    app.add_typer(groups, name="snapshots")
    hooks = typer.Typer(help="Webhooks.", no_args_is_help=True)
    hooks.command("add")(webhooks_add)
    hooks.command("list")(webhooks_list)
    hooks.command("disable")(webhooks_disable)
    hooks.command("enable")(webhooks_enable)
    hooks.command("rotate")(webhooks_rotate)
    hooks.command("deliveries")(webhooks_deliveries)
    hooks.command("redeliver")(webhooks_redeliver)
    app.add_typer(hooks, name="webhooks")


def ingest(
    file: str = typer.Argument(..., help="A file here, or file:///… or s3://bucket/key for the workers."),
    kind: str = typer.Option("", help="BOM, PCF or DUE_DILIGENCE; found out if it is not given."),
    wait: bool = typer.Option(False, help="Wait until the facts are read; exit 0 only if they are."),
    tenant: str = TENANT_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Upload a document, or let the workers fetch it from an address."""
    mime_type = mimetypes.guess_type(file)[0] or "application/octet-stream"
    with opened() as services:
        owner, chosen = tenant_id(services, tenant), actions.read_kind(kind)
        if file.startswith(("file://", "s3://")):
            uploaded = actions.ingest_address(
                services, owner, file_url=file, name="", mime_type=mime_type, kind=chosen
            )
        else:
            content = _content(Path(file))
            uploaded = actions.upload(
                services, owner, name=Path(file).name, content=content, mime_type=mime_type, kind=chosen
            )
        result = {"document_id": uploaded.document_id, "status": "UPLOADED", "error": None}
        if wait:
            result.update(_outcome(services, owner, uploaded))
    say(
        result,
        as_json=as_json,
        text=lambda: f"{file}: {result['status']} {result['error'] or ''}".rstrip(),
    )
    if wait and result["status"] != "VALIDATED":
        raise typer.Exit(1)


def _content(path: Path) -> bytes:
    if not path.is_file():
        fail(f"there is no file {path}")
    return path.read_bytes()


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
    """List the documents and what became of them, those that are still to be read first."""
    with opened() as services:
        rows = actions.inbox(services, tenant_id(services, tenant))
    say_table(rows, ["id", "name", "kind", "format", "status", "error"], as_json=as_json)


def facts(version: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """List the facts of a document version."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            documents.version(connection, owner, version)
            rows = documents.facts_of(connection, owner, version)
    say_table(rows, ["id", "fact_type", "fact_key"], as_json=as_json)


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
    document: list[str] = typer.Option([], help="The facts of this document version, not the newest of all."),
    tenant: str = TENANT_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Make a snapshot of the newest facts, or of those of the documents that are named."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        snapshot_id = snapshots.create(services, owner, name)
        count = sum(snapshots.add_document(services, owner, snapshot_id, one) for one in document)
        if not empty and not document:
            count = snapshots.add_newest(services, owner, snapshot_id)
    say({"id": snapshot_id, "facts": count}, as_json=as_json, text=f"{snapshot_id} with {count} facts")


def snapshots_add(
    snapshot_id: str,
    document: list[str] = typer.Option([], help="All facts of this document version."),
    fact: list[str] = typer.Option([], help="One fact by its id."),
    tenant: str = TENANT_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Add facts to a snapshot that is BUILDING."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        count = sum(snapshots.add_document(services, owner, snapshot_id, one) for one in document)
        count += snapshots.add_facts(services, owner, snapshot_id, fact)
    say({"id": snapshot_id, "added": count}, as_json=as_json, text=f"{count} facts added")


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
    """List the endpoints and what they subscribe to."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            rows = [
                {**row, "events": ", ".join(webhooks.subscriptions(connection, row["id"])) or "all"}
                for row in webhooks.endpoints(connection, owner)
            ]
    say_table(rows, ["id", "url", "events", "active"], as_json=as_json)


def webhooks_disable(endpoint_id: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Send an endpoint no events of the time to come."""
    with opened() as services:
        webhook_actions.set_active(services, tenant_id(services, tenant), endpoint_id, active=False)
    say({"id": endpoint_id, "active": False}, as_json=as_json, text=f"{endpoint_id} is disabled.")


def webhooks_enable(endpoint_id: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Send an endpoint events again."""
    with opened() as services:
        webhook_actions.set_active(services, tenant_id(services, tenant), endpoint_id, active=True)
    say({"id": endpoint_id, "active": True}, as_json=as_json, text=f"{endpoint_id} is enabled.")


def webhooks_rotate(endpoint_id: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Give an endpoint a new secret; it is shown once, in base64."""
    with opened() as services:
        secret = webhook_actions.rotate(services, tenant_id(services, tenant), endpoint_id)
    say({"id": endpoint_id, "secret": secret}, as_json=as_json, text=f"secret {secret}")


def webhooks_deliveries(tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
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
