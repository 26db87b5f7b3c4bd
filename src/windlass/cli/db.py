"""`windlass db`: the tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from windlass.cli import printing
from windlass.cli.applications import migrated
from windlass.cli.options import command
from windlass.cli.session import Session
from windlass.client.wording import counted

if TYPE_CHECKING:
    from windlass.app import Windlass

db = typer.Typer(no_args_is_help=True, help="Make the tables, and see whether they are as they should be.")


@db.command()
@command
def migrate(
    session: Session,
    sql: Annotated[bool, typer.Option("--sql", help="Print the SQL instead of running it.")] = False,
) -> None:
    """Bring the tables up to this release; safe to run twice and while workers run.

    With --app also what the application's promoted fields need.
    """
    app = session.application(creates=True)

    async def script(app: Windlass) -> str:
        return app.connections.script(app.promoted.declared())

    if sql:
        text = session.run(script, app=app)
        session.show({"sql": text}, lambda: _write(text))
        return
    applied = session.run(migrated, app=app)

    def view() -> None:
        for name in applied:
            printing.line(f"applied {name}")
        printing.line("The tables are up to date.", style="green")

    session.show({"applied": applied}, view)


@db.command()
@command
def check(session: Session) -> None:
    """Compare the tables with those of this release; exit code 1 when they differ.

    With --app also with what the application's promoted fields need.
    """

    async def differences(app: Windlass) -> list[str]:
        return [*await app.connections.drift(), *await app.promoted.drift()]

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


def _write(text: str) -> None:
    # Not through the console: it would break long lines.
    sys.stdout.write(text)
