"""`backstay redis`: the lists of jobs in Redis, made anew from the database."""

from __future__ import annotations

import typer

from backstay.cli.options import command
from backstay.cli.session import Session

redis = typer.Typer(help="The Redis that suggests jobs to workers.", no_args_is_help=True)


@redis.command("rebuild")
@command
def rebuild(session: Session) -> None:
    """Make the lists in Redis anew from PostgreSQL, which is the truth; safe at any time, while workers run too."""
    made = session.run(lambda app: app.rebuild_dispatch())
    session.tell(
        f"{made.waiting} jobs are in line, {made.later} are due later, {made.running} run, {made.dead} are dead",
        waiting=made.waiting,
        later=made.later,
        running=made.running,
        dead=made.dead,
    )
