"""migrate, serve, worker, demo, tenants, keys, audit."""

from __future__ import annotations

import base64
import os
import secrets
import sys
from pathlib import Path

import typer

from backstay_passport.actions import audit
from backstay_passport.cli.output import JSON_OPTION, TENANT_OPTION, opened, say, say_table, tenant_id
from backstay_passport.domain.errors import PassportError
from backstay_passport.domain.signing import KEY_VARIABLE, key_from_seed
from backstay_passport.settings import Settings
from backstay_passport.store import access


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(migrate)
    app.command()(serve)
    app.command()(worker)
    app.command()(demo)
    tenants = typer.Typer(help="Who makes batteries here.", invoke_without_command=True)
    tenants.callback()(tenants_list)
    tenants.command("add")(tenants_add)
    app.add_typer(tenants, name="tenants")
    keys = typer.Typer(help="Signing keys.", invoke_without_command=True)
    keys.callback()(keys_list)
    keys.command("rotate")(keys_rotate)
    app.add_typer(keys, name="keys")
    chains = typer.Typer(help="The event chains.", no_args_is_help=True)
    chains.command("verify")(audit_verify)
    chains.command("sign")(audit_sign)
    app.add_typer(chains, name="audit")


def migrate(as_json: bool = JSON_OPTION) -> None:
    """Bring the tables of jobs and passports up to this release."""
    with opened() as services:
        applied = services.migrate()
    say(
        {"applied": applied}, as_json=as_json, text=lambda: ", ".join(applied) or "The tables are up to date."
    )


def serve(host: str = "127.0.0.1", port: int = 8800, work: int = 0) -> None:
    """Serve pages and API; with --work N also run jobs, N at a time."""
    from backstay_passport.web.server import serve as serve_pages

    with opened() as services:
        if work:
            warn_of_key(services.settings)
        serve_pages(services, host, port, work)


def worker(concurrency: int = 5) -> None:
    """Run jobs until told to stop."""
    settings = Settings.from_environment()
    warn_of_key(settings)
    command = [sys.executable, "-m", "backstay", "worker", "backstay_passport.worker:app"]
    command += ["--concurrency", str(concurrency), "--worker-id", settings.worker_id]
    os.execv(sys.executable, command)  # noqa: S606 - becomes the worker, so that signals reach it


def warn_of_key(settings: Settings) -> None:
    """Say at the start that versions cannot be signed; the key may still be set before one is made."""
    try:
        settings.signing_key()
    except PassportError as error:
        sys.stderr.write(f"backstay-passport: nothing can be signed yet: {error.message}\n")


def demo(keep: bool = False, units: int = 20, port: int = 8800, postgres: bool = False) -> None:
    """Make passports for three models, break things on purpose, and check that everything holds."""
    from backstay_passport.demo.play import play

    raise typer.Exit(play(keep=keep, units=units, port=port, postgres=postgres))


def tenants_list(context: typer.Context, as_json: bool = JSON_OPTION) -> None:
    """List the tenants."""
    if context.invoked_subcommand is None:
        with opened() as services, services.database.read() as connection:
            say_table(access.all_tenants(connection), ["id", "name"], as_json=as_json)


def tenants_add(name: str, as_json: bool = JSON_OPTION) -> None:
    """Add a tenant."""
    with opened() as services, services.database.begin() as connection:
        identifier = access.add_tenant(connection, name)
    say({"id": identifier, "name": name}, as_json=as_json, text=f"Added {name}: {identifier}")


def keys_list(context: typer.Context, as_json: bool = JSON_OPTION) -> None:
    """List the public halves of the keys that have signed."""
    if context.invoked_subcommand is not None:
        return
    with opened() as services, services.database.read() as connection:
        rows = access.public_keys(connection)
    shown = [{"key_id": row["key_id"], "public_key": bytes(row["public_key"]).hex()} for row in rows]
    say_table(shown, ["key_id", "public_key"], as_json=as_json)


def keys_rotate(
    key_id: str,
    output: Path = typer.Option(..., "-o", help="Where the new key is written."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Draw a new signing key and write its settings to a file that only you can read."""
    seed = secrets.token_bytes(32)
    key = key_from_seed(seed, key_id)
    with opened() as services, services.database.begin() as connection:
        access.remember_key(connection, key_id, key.public)
        # Inside of the transaction: a key that could not be written down is not remembered either.
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"BPC_SIGNING_KEY_ID={key_id}\n{KEY_VARIABLE}={base64.b64encode(seed).decode()}\n")
    say(
        {"key_id": key_id, "public_key": key.public.hex(), "file": str(output)},
        as_json=as_json,
        text=f"{key_id} ({key.public.hex()}): set what is in {output} and start the workers anew.",
    )


def audit_verify(
    key: list[str] = typer.Option(
        [], help="A public key in hexadecimal that you know from elsewhere; heads of others count as altered."
    ),
    tenant: str = TENANT_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Check every event chain, against every signed head; exit 0 only if all hold."""
    with opened() as services:
        trusted = [audit.read_public_key(one) for one in key] or None
        count, problems = audit.verify_chains(services, tenant_id(services, tenant), trusted)
    say(
        {"events": count, "problems": problems},
        as_json=as_json,
        text=lambda: "\n".join(problems) or f"{count} events, every chain holds.",
    )
    if problems:
        raise typer.Exit(1)


def audit_sign(tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Sign the present ends of all chains."""
    with opened() as services:
        root = audit.sign_head(services, tenant_id(services, tenant))
    say({"root": root.hex()}, as_json=as_json, text=f"Signed {root.hex()}")
