"""The commands; each prints JSON with --json, and exits with 0 only if what was asked holds."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import typer
from rich.console import Console
from rich.table import Table

from backstay.errors import BackstayError
from backstay.kit import hash_password
from backstay_aeon import worker as workers
from backstay_aeon.actions import check as checks
from backstay_aeon.actions import explain, imports, submit, watch
from backstay_aeon.domain.errors import AeonError
from backstay_aeon.services import Services, here
from backstay_aeon.store import people
from backstay_aeon.web.access import ROLES

app = typer.Typer(help="A job service for teams.", no_args_is_help=True)
teams = typer.Typer(help="Teams.", invoke_without_command=True)
keys = typer.Typer(help="Keys of programs.", no_args_is_help=True)
receipts = typer.Typer(help="Receipts of imports.", no_args_is_help=True)
app.add_typer(teams, name="teams")
app.add_typer(keys, name="keys")
app.add_typer(receipts, name="receipt")
JSON = typer.Option(False, "--json", help="Print JSON for programs.")
TEAM = typer.Option(..., "--team", envvar="AEON_TEAM", help="The team's name or id.")


def main() -> None:
    """Run the command line."""
    try:
        app()
    except (AeonError, BackstayError) as error:
        sys.stderr.write(f"backstay-aeon: {error}\n")
        sys.exit(1)


def run(act: Callable[[Services], Awaitable[Any]]) -> Any:
    """Do something with the services, and close them."""

    async def whole() -> Any:
        services = here()
        try:
            return await act(services)
        finally:
            await services.close()

    return asyncio.run(whole())


def json_object(text: str, what: str) -> dict[str, Any]:
    """A JSON object that somebody wrote; anything else is refused in a line."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise AeonError(f"{what} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise AeonError(f"{what} is not a JSON object")
    return found


def say(value: Any, as_json: bool) -> None:
    """Print a result: a table of rows, or lines."""
    if as_json:
        sys.stdout.write(json.dumps(value, default=str) + "\n")
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        table = Table(*value[0])
        for row in value:
            table.add_row(*("" if cell is None else str(cell) for cell in row.values()))
        Console().print(table)
    elif isinstance(value, dict):
        sys.stdout.write("".join(f"{name}: {one}\n" for name, one in value.items()))
    else:
        sys.stdout.write(f"{value}\n")


@app.command()
def migrate(as_json: bool = JSON) -> None:
    """Bring every table, view and function up to this release."""
    done = run(lambda services: services.migrate())
    say({"applied": done}, as_json)


@app.command()
def serve(host: str = "127.0.0.1", port: int = 8300) -> None:
    """Serve the API and the pages."""
    from backstay_aeon.web.server import serve as serve_pages

    serve_pages(here(), host, port)


@app.command()
def worker() -> None:
    """Run jobs until told to stop; WORKER_TYPE, JOB_TYPES and others say which."""
    workers.main()


@app.command()
def demo(keep: bool = False, rows: int = 200_000) -> None:
    """Show everything at once on private servers; exit 0 only if its sums held."""
    from backstay_aeon.demo.story import main as play

    raise typer.Exit(play(rows=rows, keep=keep))


@app.command()
def check(as_json: bool = JSON) -> None:
    """The ten points of the validation list; exit 0 only if all hold."""
    points = run(checks.points)
    say(points, as_json)
    raise typer.Exit(0 if all(point["holds"] for point in points) else 1)


@teams.callback()
def teams_list(context: typer.Context, as_json: bool = JSON) -> None:
    """List the teams."""
    if context.invoked_subcommand is None:
        say(
            run(lambda services: services.database.rows("SELECT id, name FROM public.teams ORDER BY name")),
            as_json,
        )


@teams.command("add")
def teams_add(name: str, as_json: bool = JSON) -> None:
    """Add a team."""
    say({"id": run(lambda services: people.add_team(services.database, name)), "name": name}, as_json)


@keys.command("list")
def keys_list(team: str = TEAM, as_json: bool = JSON) -> None:
    """The keys of a team, by their first letters."""

    async def find(services: Services) -> Any:
        return await people.keys(services.database, await people.team(services.database, team))

    say(run(find), as_json)


@keys.command("revoke")
def keys_revoke(prefix: str, as_json: bool = JSON) -> None:
    """Let a key open nothing any more."""
    run(lambda services: people.revoke_key(services.database, prefix))
    say({"prefix": prefix, "revoked": True}, as_json)


@keys.command("create")
def keys_create(
    team: str = TEAM, email: str = "service@localhost", role: str = "member", as_json: bool = JSON
) -> None:
    """Make a key; it is shown once."""

    async def make(services: Services) -> str:
        team_id = await people.team(services.database, team)
        user = await people.add_user(services.database, team_id, email)
        return await people.add_key(services.database, team_id, user, email, role)

    say({"key": run(make)}, as_json)


@app.command()
def password(
    email: str,
    team: str = TEAM,
    role: str = "member",
    word: str = typer.Option(..., "--password", envvar="AEON_PASSWORD", prompt=True, hide_input=True),
    as_json: bool = JSON,
) -> None:
    """Let a person of a team into the pages, by a password that is asked for."""
    if role not in ROLES.names:
        raise AeonError(f"the role is one of {', '.join(ROLES.names)}, not {role!r}")
    if len(word) < 10:
        raise AeonError("a password has at least 10 characters")

    async def make(services: Services) -> None:
        user = await people.add_user(services.database, await people.team(services.database, team), email)
        await people.set_login(services.database, user, hash_password(word), role)

    run(make)
    say({"email": email, "role": role}, as_json)


@app.command("submit")
def submit_job(
    job_type: str, payload: str, team: str = TEAM, priority: int = 5, as_json: bool = JSON
) -> None:
    """Submit a job with a JSON payload."""

    async def make(services: Services) -> Any:
        team_id = await people.team(services.database, team)
        given = {"job_type": job_type, "payload": json_object(payload, "the payload"), "priority": priority}
        return await submit.create(services, team_id, None, given)

    say(run(make), as_json)


@app.command()
def jobs(team: str = TEAM, as_json: bool = JSON) -> None:
    """The newest jobs of a team."""

    async def find(services: Services) -> Any:
        return await services.database.rows(
            "SELECT id, job_type, status, priority, progress_percent, created_at FROM public.jobs WHERE team_id = $1"
            " ORDER BY created_at DESC LIMIT 50",
            await people.team(services.database, team),
        )

    say(run(find), as_json)


@app.command()
def job(job_id: str, as_json: bool = JSON) -> None:
    """One job, and why it waits."""

    async def find(services: Services) -> Any:
        found = await services.app.jobs.get(job_id)
        row = await services.database.row("SELECT * FROM public.jobs WHERE id = $1", found.id) or {}
        why = None if found.is_finished else await explain.why(services, found)
        return {**row, "why": why}

    say(run(find), as_json)


@app.command("import")
def import_file(
    file: Path,
    dataset: str = typer.Option(...),
    team: str = TEAM,
    dry_run: bool = False,
    mapping: str = typer.Option(
        "{}", help='Columns as {"in the file": "in the dataset"}; guessed if left out.'
    ),
    on_error: str = typer.Option("skip", help="skip refused rows, or fail and write nothing."),
    batch_size: int = typer.Option(1000, help="Rows that are written together."),
    as_json: bool = JSON,
) -> None:
    """Import a table, or only count what would become of its rows."""
    content, columns = file.read_bytes(), json_object(mapping, "the mapping")

    async def make(services: Services) -> Any:
        team_id = await people.team(services.database, team)
        made = await imports.begin(
            services,
            team_id,
            None,
            name=file.name,
            content=content,
            dataset=dataset,
            mapping=columns,
            on_error=on_error,
            batch_size=batch_size,
        )
        job = await imports.start(services, team_id, None, made, dry_run=dry_run)
        return {"import_id": str(made), "job_id": job}

    say(run(make), as_json)


async def _team_of(services: Services, import_id: UUID) -> UUID:
    found = await services.database.value("SELECT team_id FROM aeon.imports WHERE id = $1", import_id)
    if found is None:
        raise AeonError(f"there is no import {import_id}")
    return UUID(str(found))


@app.command()
def rejects(import_id: UUID, output: Path = typer.Option(..., "-o"), as_json: bool = JSON) -> None:
    """Write the workbook of refused rows."""

    async def make(services: Services) -> bytes:
        return await imports.rejects(services, await _team_of(services, import_id), import_id)

    content = run(make)
    output.write_bytes(content)
    say({"file": str(output), "bytes": len(content)}, as_json)


@app.command()
def resubmit(import_id: UUID, file: Path, as_json: bool = JSON) -> None:
    """Send corrected rows back into the same import."""
    content = file.read_bytes()

    async def make(services: Services) -> Any:
        team_id = await _team_of(services, import_id)
        return {"job_id": await imports.resubmit(services, team_id, None, import_id, file.name, content)}

    say(run(make), as_json)


@app.command()
def undo(import_id: UUID, as_json: bool = JSON) -> None:
    """Take an import back."""

    async def make(services: Services) -> Any:
        return {"job_id": await imports.undo(services, await _team_of(services, import_id), None, import_id)}

    say(run(make), as_json)


@receipts.command("show")
def receipt_show(import_id: UUID) -> None:
    """Print the receipt of an import."""

    async def make(services: Services) -> Any:
        return await imports.receipt(services, await _team_of(services, import_id), import_id)

    say(run(make), True)


@receipts.command("verify")
def receipt_verify(file: Path, as_json: bool = JSON) -> None:
    """Check a receipt; exit 0 only if all of it holds."""
    problems = run(lambda services: imports.verify(services, json_object(file.read_text(), str(file))))
    say({"holds": not problems, "problems": problems}, as_json)
    raise typer.Exit(1 if problems else 0)


@app.command()
def rows(dataset: str, team: str = TEAM, limit: int = 20, as_json: bool = JSON) -> None:
    """The records of a dataset."""

    async def find(services: Services) -> Any:
        return await services.database.rows(
            "SELECT external_key, data FROM aeon.imported_records WHERE team_id = $1 AND dataset = $2"
            " ORDER BY external_key LIMIT $3",
            await people.team(services.database, team),
            dataset,
            limit,
        )

    say(run(find), as_json)


@app.command()
def datasets(team: str = TEAM, as_json: bool = JSON) -> None:
    """The datasets of a team, with their key and how many records each has."""

    async def find(services: Services) -> Any:
        return await services.database.rows(
            "SELECT d.name, d.key_column, (SELECT count(*) FROM aeon.imported_records r WHERE r.team_id = d.team_id"
            " AND r.dataset = d.name) AS records FROM aeon.datasets d WHERE d.team_id = $1 ORDER BY d.name",
            await people.team(services.database, team),
        )

    say(run(find), as_json)


@app.command()
def reports(team: str = TEAM, as_json: bool = JSON) -> None:
    """The newest reports of a team."""

    async def find(services: Services) -> Any:
        return await services.database.rows(
            "SELECT id, kind, format, size, sha256, created_at FROM aeon.reports WHERE team_id = $1"
            " ORDER BY created_at DESC LIMIT 50",
            await people.team(services.database, team),
        )

    say(run(find), as_json)


@app.command()
def rebuild(as_json: bool = JSON) -> None:
    """Make the lists in Redis anew from PostgreSQL, which is the truth."""
    made = run(lambda services: services.app.rebuild_dispatch())
    say({"waiting": made.waiting, "later": made.later, "running": made.running, "dead": made.dead}, as_json)


@app.command()
def slo(as_json: bool = JSON) -> None:
    """The six promises and whether they were kept."""
    say(run(watch.slos), as_json)


@app.command()
def scale(least: int = 1, most: int = 10, as_json: bool = JSON) -> None:
    """How many workers there should be."""
    say(run(lambda services: watch.scale(services, least=least, most=most)), as_json)
