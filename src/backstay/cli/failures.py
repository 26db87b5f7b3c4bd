"""`backstay failures`: what jobs die of, over time."""

from __future__ import annotations

from typing import Annotated

import typer

from backstay.cli import printing
from backstay.cli.acting import ByOption, ReasonOption, actor
from backstay.cli.defaults import with_default
from backstay.cli.many_dead import KindOption, QueueOption, TenantOption
from backstay.cli.options import command
from backstay.cli.session import Session

CauseArgument = Annotated[
    str, typer.Argument(metavar="CAUSE", help="The fingerprint that the list shows.", show_default=False)
]
OwnerArgument = Annotated[str, typer.Argument(metavar="NAME", help="Who looks after it.", show_default=False)]
LastOption = Annotated[str, typer.Option("--last", metavar="LENGTH", help="Of how long: 1h, 24h, 7d.")]

failures = typer.Typer(cls=with_default("list", nothing="list"), help="See what jobs die of, over time.")


@failures.command("list")
@command
def list_(
    session: Session,
    last: LastOption = "24h",
    kind: KindOption = None,
    queue: QueueOption = None,
    tenant: TenantOption = None,
) -> None:
    """Show the causes of the last while: how often, whether new or come back, and who looks after them."""
    found = session.run(lambda app: app.failures.all(last, kind=kind, queue=queue, tenant=tenant))

    def view() -> None:
        if not found:
            printing.line(f"No job died in the last {last}.", style="dim")
            return
        rows = [
            (
                one.fingerprint,
                one.kind,
                one.message.split("\n")[0][:60],
                f"{one.deaths:,}",
                "regressed" if one.is_regressed else "new" if one.is_new else "",
                one.owner or "",
            )
            for one in found
        ]
        printing.table(("cause", "kind", "message", "deaths", "", "owner"), rows)

    session.show({"failures": found}, view)


@failures.command()
@command
def assign(session: Session, cause: CauseArgument, owner: OwnerArgument, by: ByOption = None) -> None:
    """Say who looks after a cause."""
    session.run(lambda app: app.failures.assign(cause, owner, by=actor(by)))
    session.show({"assigned": cause, "owner": owner}, lambda: printing.line(f"{owner} looks after {cause}."))


@failures.command()
@command
def close(session: Session, cause: CauseArgument, reason: ReasonOption, by: ByOption = None) -> None:
    """Say that a cause was dealt with: if it strikes again, it has regressed."""
    session.run(lambda app: app.failures.close(cause, reason=reason, by=actor(by)))
    session.show({"closed": cause}, lambda: printing.line(f"{cause} is closed."))
