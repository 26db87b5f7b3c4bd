"""`windlass db`: the tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from windlass.cli import printing
from windlass.cli.session import Session, command

if TYPE_CHECKING:
    from windlass.app import Windlass

db = typer.Typer(no_args_is_help=True, help="Make the tables, and see whether they are as they should be.")


@db.command()
@command
def migrate(
    session: Session,
    sql: Annotated[bool, typer.Option("--sql", help="Print the SQL instead of running it.")] = False,
) -> None:
    """Bring the tables up to this release; safe to run twice and while workers run."""
    app = session.application(creates=True)

    async def script(app: Windlass) -> str:
        return app.connections.script()

    if sql:
        text = session.run(script, app=app)
        session.show({"sql": text}, lambda: _write(text))
        return
    applied = session.run(lambda app: app.connections.migrate(), app=app)

    def view() -> None:
        for name in applied:
            printing.line(f"applied {name}")
        printing.line("The tables are up to date.", style="green")

    session.show({"applied": applied}, view)


@db.command()
@command
def check(session: Session) -> None:
    """Compare the tables with those of this release; exit code 1 when they differ."""
    drift = session.run(lambda app: app.connections.drift())

    def view() -> None:
        for line in drift:
            printing.line(line, style="red")
        if not drift:
            printing.line("The tables are those of this release.", style="green")

    session.show({"drift": drift}, view)
    if drift:
        raise typer.Exit(1)


def _write(text: str) -> None:
    # Not through the console: it would break long lines.
    sys.stdout.write(text)
