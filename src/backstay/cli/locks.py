"""`backstay locks`: what is locked, by whom, and until when."""

from __future__ import annotations

from typing import Annotated

import typer

from backstay.cli import printing
from backstay.cli.acting import ByOption, ReasonOption, actor
from backstay.cli.defaults import with_default
from backstay.cli.options import command
from backstay.cli.session import Session

locks = typer.Typer(help="Locks that jobs and programs hold.", cls=with_default("list", nothing="list"))

LockArgument = Annotated[str, typer.Argument(metavar="LOCK", help="The lock's id.", show_default=False)]
TenantOption = Annotated[str | None, typer.Option("--tenant", metavar="TENANT", help="Whose lock it is.")]


@locks.command("list")
@command
def list_(session: Session, tenant: TenantOption = None) -> None:
    """List the locks that are held, the next to run out first."""
    found = session.run(lambda app: app.locks.all(tenant=tenant))

    def view() -> None:
        if not found:
            printing.line("No locks are held.", style="dim")
            return
        rows = [
            (
                one.id,
                one.holder,
                str(one.job_id or ""),
                printing.ago(one.locked_at),
                printing.ago(one.expires_at),
            )
            for one in found
        ]
        printing.table(("lock", "holder", "job", "taken", "runs out"), rows)

    session.show({"locks": found}, view)


@locks.command("break")
@command
def break_(
    session: Session,
    lock: LockArgument,
    reason: ReasonOption,
    by: ByOption = None,
    tenant: TenantOption = None,
) -> None:
    """Take a lock away from its holder; the holder is not stopped by this."""
    was_held = session.run(
        lambda app: app.locks.break_lock(lock, reason=reason, by=actor(by), tenant=tenant or "")
    )
    done = "is free now" if was_held else "was not held"
    session.tell(f"{lock} {done}", lock=lock, was_held=was_held)
