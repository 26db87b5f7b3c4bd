"""`backstay db`: the tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.options import command
from backstay.cli.session import Session
from backstay.client.doctor.text import counted
from backstay.settings.settings import hide_password

if TYPE_CHECKING:
    from backstay.app import Backstay

db = typer.Typer(no_args_is_help=True, help="Make the tables, and see whether they are as they should be.")


@db.command()
@command
def migrate(
    session: Session,
    sql: Annotated[bool, typer.Option("--sql", help="Print the SQL instead of running it.")] = False,
) -> None:
    """Bring the tables up to this release; safe to run twice and while workers run.

    With --app also the application's own tables, its promoted fields and its views.
    """
    app = session.application(creates=True, only_named=not sql)

    async def script(app: Backstay) -> str:
        return app._connections.script(app.promoted.declared())

    if sql:
        text = session.run(script, app=app)
        session.show({"sql": text}, lambda: _write(text))
        return
    place = hide_password(app.url)
    applied = session.run(lambda app: app.migrate(), app=app)

    def view() -> None:
        for name in applied:
            printing.line(f"applied {name}")
        printing.line(f"The tables of {place} are up to date.", style="green")

    session.show({"applied": applied, "database": place}, view)


@db.command()
@command
def check(session: Session) -> None:
    """Compare the tables with those of this release; exit code 1 when they differ.

    With --app also with what the application's promoted fields need.
    """

    async def differences(app: Backstay) -> list[str]:
        return [*await app._connections.drift(), *await app.promoted.drift()]

    drift = session.run(differences)

    def view() -> None:
        for line in drift:
            printing.line(line, style="red")
        if not drift:
            printing.line("The tables are those of this release.", style="green")

    session.show({"drift": drift}, view)
    if drift:
        raise typer.Exit(1)


@db.command()
@command
def fill(
    session: Session,
    chunk: Annotated[int, typer.Option(min=1, max=10_000, help="How many jobs to look at at once.")] = 500,
) -> None:
    """Fill the promoted fields of jobs that were stored before; exit code 1 when some cannot be filled."""
    done = session.run(lambda app: app.promoted.fill(chunk=chunk))

    def view() -> None:
        for job_id, problem in done.problems.items():
            printing.line(f"{job_id}: {problem}", style="red")
        printing.line(f"Filled the promoted fields of {counted(done.filled, 'job')}.", style="green")

    session.show({"filled": done.filled, "problems": done.problems}, view)
    if done.problems:
        raise typer.Exit(1)


tenants = typer.Typer(no_args_is_help=True, help="Keep tenants apart inside PostgreSQL, by row security.")
db.add_typer(tenants, name="tenants")

EngineOption = Annotated[
    str,
    typer.Option("--engine", metavar="ROLE", help="The role of workers, dashboard and API: sees every row."),
]
ApplicationOption = Annotated[
    str,
    typer.Option(
        "--application", metavar="ROLE", help="The role of programs: sees the rows of its tenant alone."
    ),
]


@tenants.command()
@command
def enforce(session: Session, engine: EngineOption, application: ApplicationOption) -> None:
    """Let row security keep tenants apart; run it as the owner of the tables, and again after a migration."""
    session.run(lambda app: app.tenants.enforce(engine=engine, application=application))
    told = f"{application} sees the rows of its tenant alone: SET LOCAL backstay.tenant = '...'"
    session.show({"engine": engine, "application": application}, lambda: printing.line(told, style="green"))


@tenants.command()
@command
def relax(session: Session) -> None:
    """Take row security away again; the roles and their rights stay."""
    session.run(lambda app: app.tenants.relax())
    session.show({"relaxed": True}, lambda: printing.line("Row security is off."))


def _write(text: str) -> None:
    # Not through the console: it would break long lines.
    sys.stdout.write(text)
