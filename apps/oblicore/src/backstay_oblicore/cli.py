"""The command line: everything that people do in the pages, for scripts and for a first look."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import asyncpg
import typer
import uvicorn

from backstay.errors import BackstayError
from backstay_oblicore import intake, packing
from backstay_oblicore.cli_common import As, Json, Site, Wait, do, finish, user_named
from backstay_oblicore.cli_people import users
from backstay_oblicore.cli_records import (
    evidence,
    fuel,
    generators,
    incidents,
    parameters,
    results,
    run_hours,
    stack_tests,
)
from backstay_oblicore.domain.errors import DocumentMissing, OblicoreError
from backstay_oblicore.domain.register.headers import read_mapping
from backstay_oblicore.domain.words import PackType
from backstay_oblicore.jobs import build
from backstay_oblicore.services import Services
from backstay_oblicore.settings import BadSettings, Settings
from backstay_oblicore.store import people
from backstay_oblicore.web import queries
from backstay_oblicore.web.app import build_web
from backstay_oblicore.web.verifying import verify_pack

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Environmental-permit compliance.")
GROUPS = {
    "users": users,
    "evidence": evidence,
    "run-hours": run_hours,
    "results": results,
    "generators": generators,
    "stack-tests": stack_tests,
    "fuel": fuel,
    "incidents": incidents,
    "parameters": parameters,
}
for name, group in GROUPS.items():
    app.add_typer(group, name=name)


def main() -> None:
    """Run the command line; what goes wrong is said in one line, with exit code 1."""
    try:
        app()
    except (OblicoreError, BadSettings, BackstayError) as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
    except FileNotFoundError as error:
        typer.echo(f"there is no file {error.filename}", err=True)
    except (OSError, asyncpg.PostgresError) as error:
        # Tables, or the roles that they are read with.
        is_bare = "oblicore" in str(error) and "does not exist" in str(error)
        hint = "the database has no tables of this version: run `backstay-oblicore migrate`"
        typer.echo(hint if is_bare else f"the database or a file cannot be used: {error}", err=True)
    else:
        return
    sys.exit(1)


@app.command()
def migrate(as_json: Json = False) -> None:
    """Make or bring up to date every table."""

    async def act(services: Services) -> Any:
        return {"applied": await services.prepare()}

    do(act, as_json=as_json)


@app.command()
def serve(host: str = "127.0.0.1", port: int = 8000, worker: Wait = True) -> None:
    """Serve pages and API; a worker runs in the same process unless told otherwise."""
    services = build(Settings.from_environment())
    server = uvicorn.Server(uvicorn.Config(build_web(services), host=host, port=port, log_level="warning"))

    async def whole() -> None:
        if worker:
            async with services.app.working(concurrency=5):
                await server.serve()
        else:
            await server.serve()
        await services.close()

    asyncio.run(whole())


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def demo(ctx: typer.Context) -> None:
    """Show a year at one company in minutes; ends by itself, exit 0 only if its sums held."""
    from backstay_oblicore.demo.story import run

    sys.exit(run(ctx.args))


@app.command()
def companies(add: str | None = None, zone: str = "Europe/London", as_json: Json = False) -> None:
    """List companies, or add one."""

    async def act(services: Services) -> Any:
        async with services.database.as_service() as connection:
            if add:
                return {"company_id": str(await people.add_company(connection, add, zone=zone))}
            return [
                {"id": str(one.id), "name": one.name, "zone": one.zone}
                for one in await people.companies(connection)
            ]

    do(act, as_json=as_json)


@app.command()
def sites(
    company: UUID,
    add: str | None = None,
    regulator: str = "EA",
    working_days: Annotated[
        bool, typer.Option("--working-days", help="Dates move back to the working day before.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the sites of a company, or add one."""

    async def act(services: Services) -> Any:
        async with services.database.as_service() as connection:
            if add:
                site = await people.add_site(
                    connection, company, add, regulator=regulator, working_days_only=working_days
                )
                return {"site_id": str(site)}
            rows = await connection.fetch(
                "SELECT id, name, regulator FROM oblicore.sites WHERE company_id = $1", company
            )
            return [
                {"id": str(row["id"]), "name": row["name"], "regulator": row["regulator"]} for row in rows
            ]

    do(act, as_json=as_json)


@app.command()
def ingest(
    file: Path,
    site: Site,
    acting: As,
    title: str = "",
    kind: str = "ENVIRONMENTAL_PERMIT",
    issued: datetime | None = None,
    expires: datetime | None = None,
    number: Annotated[str | None, typer.Option(help="The permit's number.")] = None,
    varies: Annotated[UUID | None, typer.Option(help="Id of the document that this one varies.")] = None,
    wait: Wait = False,
    as_json: Json = False,
) -> None:
    """Upload a document and let it be read."""
    content = file.read_bytes()

    async def act(services: Services) -> Any:
        user = await user_named(services, acting)
        document = await intake.add_document(
            services,
            content,
            user=user,
            site=site,
            title=title or file.stem,
            document_type=kind,
            permit_number=number,
            issue_date=issued.date() if issued else None,
            expiry_date=expires.date() if expires else None,
            parent=varies,
        )
        handle = await intake.extract(services, document, user=user)
        return {"document_id": str(document), **await finish(services, handle, wait=wait)}

    do(act, as_json=as_json)


async def _known_document(connection: Any, document: UUID) -> None:
    if not await connection.fetchval("SELECT TRUE FROM oblicore.documents WHERE id = $1", document):
        raise DocumentMissing("there is no such document, or you may not see it")


@app.command()
def obligations(document: UUID, acting: As, as_json: Json = False) -> None:
    """List the obligations of a document."""

    async def act(services: Services) -> Any:
        async with services.database.as_user(await user_named(services, acting)) as connection:
            await _known_document(connection, document)
            return await queries.register(connection, document=document)

    do(act, as_json=as_json)


@app.command()
def coverage(document: UUID, acting: As, as_json: Json = False) -> None:
    """Show how every binding sentence of a document is accounted for."""

    async def act(services: Services) -> Any:
        async with services.database.as_user(await user_named(services, acting)) as connection:
            await _known_document(connection, document)
            return await queries.coverage(connection, document)

    do(act, as_json=as_json)


@app.command("import")
def import_register(
    file: Path,
    site: Site,
    acting: As,
    create_missing_permits: bool = False,
    column: Annotated[
        list[str] | None, typer.Option(help="A column's name in the file, as field=name; may be repeated.")
    ] = None,
    wait: Wait = False,
    as_json: Json = False,
) -> None:
    """Upload a register and let it be checked."""
    content = file.read_bytes()
    mapping = read_mapping(column or [])

    async def act(services: Services) -> Any:
        found, handle = await intake.add_import(
            services,
            content,
            user=await user_named(services, acting),
            site=site,
            file_name=file.name,
            options={"create_missing_permits": create_missing_permits, "column_mapping": mapping},
        )
        return {"import_id": str(found), **await finish(services, handle, wait=wait)}

    do(act, as_json=as_json)


@app.command()
def confirm(import_id: UUID, acting: As, wait: Wait = False, as_json: Json = False) -> None:
    """Let a checked register be created."""

    async def act(services: Services) -> Any:
        handle = await intake.confirm_import(services, import_id, user=await user_named(services, acting))
        return await finish(services, handle, wait=wait)

    do(act, as_json=as_json)


@app.command()
def cancel(import_id: UUID, acting: As, as_json: Json = False) -> None:
    """Give up a register that was not created yet."""

    async def act(services: Services) -> Any:
        await intake.cancel_import(services, import_id, user=await user_named(services, acting))
        return {"cancelled": True}

    do(act, as_json=as_json)


@app.command("run")
def run_kind(
    kind: str,
    at: datetime | None = None,
    company: UUID | None = None,
    args: str = "{}",
    as_json: Json = False,
) -> None:
    """Run one kind now, as if it were `--at`, and wait for it."""

    async def act(services: Services) -> Any:
        if kind not in services.handlers:
            raise BadSettings(f"there is no kind {kind}; there are {', '.join(sorted(services.handlers))}")
        given = {**json.loads(args), **({"company_id": company} if company else {})}
        if at is not None:
            given["reference_time"] = at.replace(tzinfo=at.tzinfo or UTC)
        handle = await services.handlers[kind].enqueue(**given)
        return await finish(services, handle, wait=True)

    do(act, as_json=as_json)


@app.command()
def pack(
    pack_type: PackType,
    company: UUID,
    acting: As,
    site: UUID | None = None,
    document: UUID | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    wait: Wait = True,
    as_json: Json = False,
) -> None:
    """Put a pack together; its id is the job's id."""

    async def act(services: Services) -> Any:
        today = datetime.now(UTC).date()
        request: dict[str, Any] = {
            "pack_type": pack_type,
            "company_id": company,
            "site_id": site,
            "document_id": document,
            "date_range_start": start.date() if start else date(today.year, 1, 1),
            "date_range_end": end.date() if end else today + timedelta(days=365),
        }
        handle = await packing.generate(services, request, user=await user_named(services, acting))
        return await finish(services, handle, wait=wait)

    do(act, as_json=as_json)


@app.command()
def distribute(
    pack_id: UUID,
    acting: As,
    to: Annotated[list[str] | None, typer.Option()] = None,
    link: bool = False,
    wait: Wait = True,
    as_json: Json = False,
) -> None:
    """Send a pack by mail, or share a link to it."""

    async def act(services: Services) -> Any:
        handle = await packing.distribute(
            services,
            pack_id,
            user=await user_named(services, acting),
            method="SHARED_LINK" if link else "EMAIL",
            recipients=[{"email": one} for one in to or []],
        )
        return await finish(services, handle, wait=wait)

    do(act, as_json=as_json)


@app.command()
def verify(file: Path, as_json: Json = False) -> None:
    """Check a pack; exit code 1 unless every byte is as it was made."""
    content = file.read_bytes()

    async def act(services: Services) -> Any:
        return await verify_pack(services, content)

    found = do(act, as_json=as_json)
    raise typer.Exit(0 if found["verdict"] == "unchanged" else 1)


@app.command()
def outbox(company: UUID, as_json: Json = False) -> None:
    """List every message with what became of it."""

    async def act(services: Services) -> Any:
        async with services.database.as_service() as connection:
            return queries.plain(await connection.fetch(queries.LEDGER, [company], None))

    do(act, as_json=as_json)


@app.command()
def explain(obligation: UUID, acting: As, as_json: Json = False) -> None:
    """Tell why an obligation is due when it is."""

    async def act(services: Services) -> Any:
        async with services.database.as_user(await user_named(services, acting)) as connection:
            found = await queries.obligation(connection, obligation)
        if found is None:
            raise BadSettings("there is no such obligation, or you may not see it")
        return found["date_explanation"] or []

    do(act, as_json=as_json)
