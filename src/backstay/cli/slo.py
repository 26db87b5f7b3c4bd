"""`backstay slo`: the six service levels, and whether they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.options import command
from backstay.cli.session import Session

if TYPE_CHECKING:
    from backstay.model.service_levels import ServiceLevel

LastOption = Annotated[str, typer.Option("--last", metavar="LENGTH", help="Over which time: 24h, 7d.")]


@command
def slo(session: Session, last: LastOption = "24h") -> None:
    """Show the six service levels; exits with 1 when one does not hold."""
    levels = session.run(lambda app: app.metrics.service_levels(last))

    def view() -> None:
        printing.table(("level", "promise", "measured", "holds"), [_row(one) for one in levels])

    session.show({"last": last, "levels": levels}, view)
    if any(one.holds is False for one in levels):
        raise typer.Exit(1)


def _row(one: ServiceLevel) -> tuple[printing.Cell, ...]:
    measured = "nothing" if one.measured is None else f"{one.measured:,.1f} {one.unit}"
    words = {True: ("yes", "green"), False: ("no", "bold red"), None: ("unknown", "dim")}
    return (one.name, one.promise, measured, printing.plain(*words[one.holds]))
