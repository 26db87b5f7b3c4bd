"""compile, passport, verify, export, replay, activate, revoke."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from backstay_passport.actions import passports as actions
from backstay_passport.actions.exports import export_content
from backstay_passport.actions.verification import verify_content, verify_with_key
from backstay_passport.cli.output import JSON_OPTION, TENANT_OPTION, fail, opened, say, tenant_id
from backstay_passport.cli.waiting import wait_for
from backstay_passport.domain.bundle import read_zip
from backstay_passport.domain.errors import PassportError
from backstay_passport.domain.hashing import sha256
from backstay_passport.domain.replay import replay as replay_bundle
from backstay_passport.domain.verify import holds
from backstay_passport.export import ExportFormat
from backstay_passport.job_views import job_view
from backstay_passport.services import Services
from backstay_passport.store import batteries, passports

WAIT_SECONDS = 120.0
FORMATS = {"pdf": "PDF", "jsonld": "JSON_LD", "xml": "XML", "vc": "VC", "zip": "ZIP"}


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("compile")(compile_passports)
    app.command()(passport)
    app.command()(activate)
    app.command()(revoke)
    app.command()(verify)
    app.command("export")(export_version)
    app.command()(replay)


def compile_passports(
    unit: str = typer.Argument("", help="The battery's id; not needed with --model."),
    model: str = typer.Option("", help="The SKU of a model: its own passport, which has no serial number."),
    batteries_too: bool = typer.Option(False, "--batteries", help="With --model: all its batteries instead."),
    snapshot: str = typer.Option("", help="The newest sealed one if it is not given."),
    rules_id: str = typer.Option("", "--rules", help="The newest published version if it is not given."),
    wait: bool = typer.Option(False, help="Wait for the versions; exit 0 only if all were made."),
    tenant: str = TENANT_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Make a version of the passport of a battery, of a model, or of all batteries of a model."""
    if bool(unit) == bool(model):
        fail("give either the id of a battery, or a model with --model")
    with opened() as services:
        owner = tenant_id(services, tenant)
        inputs = actions.inputs(services, owner, snapshot or None, rules_id or None)
        asked = (
            _of_model(services, owner, model, inputs, batteries_too=batteries_too)
            if model
            else [_of_unit(services, owner, unit, inputs)]
        )
        views = [_view(services, one, wait=wait) for one in asked]
    shown = views if batteries_too else views[0]
    say(shown, as_json=as_json, text=lambda: "\n".join(_line(one) for one in views) or "no batteries yet")
    if wait and any(one["status"] != "SUCCEEDED" for one in views):
        raise typer.Exit(1)


def _of_unit(services: Services, owner: str, unit: str, inputs: tuple[str, str]) -> actions.Requested:
    with services.database.read() as connection:
        row = batteries.unit(connection, owner, unit)
    passport_id = actions.create(services, owner, row["product_id"], unit)
    return actions.Requested(
        unit, passport_id, actions.compile_version(services, owner, passport_id, *inputs)
    )


def _of_model(
    services: Services, owner: str, sku: str, inputs: tuple[str, str], *, batteries_too: bool
) -> list[actions.Requested]:
    with services.database.read() as connection:
        row = batteries.product_by_sku(connection, owner, sku)
    return actions.compile_model(
        services,
        owner,
        row["id"],
        snapshot_id=inputs[0],
        rules_id=inputs[1],
        batteries_too=batteries_too,
    )


def _view(services: Services, asked: actions.Requested, *, wait: bool) -> dict[str, Any]:
    view: dict[str, Any] = {
        "passport_id": asked.passport_id,
        "unit_id": asked.unit_id,
        "job_id": asked.job_id,
        "status": "QUEUED",
    }
    if wait:
        job = wait_for(services, asked.job_id, WAIT_SECONDS)
        view.update(job_view(services, job), version_id=job.result)
    return view


def _line(view: dict[str, Any]) -> str:
    return f"passport {view['passport_id']}: {view['status']}"


def passport(passport_id: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Show a passport and its versions."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            row = passports.get(connection, owner, passport_id)
            versions = passports.versions_of(connection, owner, passport_id)
    shown = [
        {name: one[name] for name in ("id", "status", "issued_at", "signing_key_id")} for one in versions
    ]
    value = {"id": passport_id, "active_version_id": row["active_version_id"], "versions": shown}
    lines = [f"{one['id']}  {one['status']:<10}  {one['issued_at']}" for one in shown]
    say(value, as_json=as_json, text=lambda: "\n".join(lines) or "no versions yet")


def activate(version: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Make a signed version the one that is shown."""
    with opened() as services:
        before = actions.activate(services, tenant_id(services, tenant), version)
    say({"id": version, "superseded": before}, as_json=as_json, text=f"{version} is active.")


def revoke(version: str, reason: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Revoke a version for a reason."""
    with opened() as services:
        actions.revoke(services, tenant_id(services, tenant), version, reason)
    say({"id": version}, as_json=as_json, text=f"{version} is revoked.")


def verify(
    text: str,
    key: str = typer.Option(
        "", help="The maker's public key in hexadecimal; a bundle then needs no database."
    ),
    as_json: bool = JSON_OPTION,
) -> None:
    """Verify a scanned text, a picture of a code, or an exported file; exit 0 only if everything holds."""
    content = b"" if text.startswith("BPC1|") else _content(text)
    if key and not content.startswith(b"PK"):
        fail("--key is for an exported bundle; a code alone is checked against the version that it names")
    if key:
        checks = verify_with_key(content, key)
    else:
        with opened() as services:
            checks = verify_content(services, text, content)[1]
    rows = [{"check": check.name, "ok": check.ok, "detail": check.detail} for check in checks]
    lines = [f"{'ok  ' if check.ok else 'FAIL'} {check.name}: {check.detail}" for check in checks]
    say({"ok": holds(checks), "checks": rows}, as_json=as_json, text="\n".join(lines))
    if not holds(checks):
        raise typer.Exit(1)


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError):
        fail(
            f"{path[:200]!r} is neither a file that can be read nor the text of a code, which begins with BPC1|"
        )


def export_version(
    version: str,
    format_name: str = typer.Option(..., "--format", help="pdf, jsonld, xml, vc or zip."),
    public: bool = typer.Option(False, "--public", help="Only what everybody may see."),
    output: Path = typer.Option(..., "-o", help="Where the file is written."),
    tenant: str = TENANT_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Write a version to a file."""
    if format_name not in FORMATS:
        fail(f"no format {format_name!r}; there are {', '.join(FORMATS)}")
    chosen = ExportFormat(FORMATS[format_name])
    with opened() as services:
        content = export_content(services, tenant_id(services, tenant), version, chosen, public=public)
        output.write_bytes(content)
    value = {"file": str(output), "bytes": len(content), "sha256": sha256(content).hex()}
    say(value, as_json=as_json, text=f"{len(content)} bytes in {output}")


def replay(bundle: Path, as_json: bool = JSON_OPTION) -> None:
    """Compile a bundle's version again, offline; exit 0 only if the three hashes are the same."""
    if not bundle.is_file():
        fail(f"there is no file {bundle}")
    try:
        read = read_zip(bundle.read_bytes())
        compared = replay_bundle(read)
        version = read.json("receipt.json")["passport_version_id"]
    except PassportError as error:
        fail(error.message)
    except OSError as error:
        fail(f"{bundle}: {error.strerror}")
    equal = all(one.equal for one in compared)
    rows = [{"name": one.name, "expected": one.expected, "computed": one.computed} for one in compared]
    lines = [f"{'equal' if one.equal else 'DIFFERENT'} {one.name} {one.computed}" for one in compared]
    value = {"equal": equal, "passport_version_id": version, "hashes": rows}
    say(value, as_json=as_json, text="\n".join(lines))
    if not equal:
        raise typer.Exit(1)
