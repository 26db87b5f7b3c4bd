"""`backstay audit`: who did what, and whether the trail is whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.defaults import with_default
from backstay.cli.options import command
from backstay.cli.session import Session

if TYPE_CHECKING:
    from backstay.model.audit_chain import ChainReport
    from backstay.model.records import AuditEntry

ActorOption = Annotated[str | None, typer.Option("--actor", metavar="NAME", help="Only what they did.")]
ActionOption = Annotated[
    str | None, typer.Option("--action", metavar="ACTION", help="Only this: job.cancel.")
]
TenantOption = Annotated[str | None, typer.Option("--tenant", metavar="TENANT", help="Only of this tenant.")]
LimitOption = Annotated[int, typer.Option("--limit", metavar="N", help="At most this many lines.")]
CheckpointOption = Annotated[
    Path | None,
    typer.Option("--checkpoint", metavar="FILE", help="Heads that 'backstay audit checkpoint' has printed."),
]

KeyOption = Annotated[
    Path | None,
    typer.Option(
        "--key", metavar="FILE", help="Sign it with this Ed25519 key, which the database must not have."
    ),
]
PublicKeyOption = Annotated[
    Path | None,
    typer.Option("--public-key", metavar="FILE", help="Only take a checkpoint that it has signed."),
]

audit = typer.Typer(
    cls=with_default("list", nothing="list"), help="Show who did what, and verify that the trail is whole."
)


@audit.command("list")
@command
def list_(
    session: Session,
    actor: ActorOption = None,
    action: ActionOption = None,
    tenant: TenantOption = None,
    limit: LimitOption = 50,
) -> None:
    """Show who did what, newest first."""
    from backstay.model.records import AuditFilter

    filters = AuditFilter(actor=actor, action=action, tenant=tenant)
    found = session.run(lambda app: app.audit.search(filters, limit=limit))

    def view() -> None:
        headings = ("when", "who", "what", "tenant", "job", "reason")
        printing.table(headings, [_row(one) for one in found])

    session.show({"audit": found}, view)


@audit.command()
@command
def chain(session: Session) -> None:
    """Add every line that no chain has yet; a running worker does so by itself."""
    added = session.run(lambda app: app.audit_chain.extend())
    session.tell(f"{added:,} lines chained", added=added)


@audit.command()
@command
def checkpoint(session: Session, key: KeyOption = None) -> None:
    """Print the last link of every chain as JSON: keep it elsewhere, and verify with it later."""
    from backstay.cli.checkpoints import checkpoint_of

    printing.document(checkpoint_of(session.run(lambda app: app.audit_chain.heads()), key))


@audit.command()
@command
def verify(session: Session, checkpoint: CheckpointOption = None, public_key: PublicKeyOption = None) -> None:
    """Find the first link of each chain that does not hold; exits with 1 if there is one."""
    from backstay.cli.checkpoints import heads_of

    known = [] if checkpoint is None else heads_of(checkpoint, public_key)
    report = session.run(lambda app: app.audit_chain.verify(known))
    session.show({"is_whole": report.is_whole, "report": report}, lambda: _view(report))
    if not report.is_whole:
        raise typer.Exit(1)


def _view(report: ChainReport) -> None:
    for one in report.broken:
        printing.line(
            f"tenant {one.tenant or '(none)'}, link {one.sequence:,}: {one.problem}", style="bold red"
        )
    if report.is_whole:
        printing.line(f"{report.links:,} links hold in {len(report.heads):,} chains", style="green")
    if report.unchained:
        printing.line(
            f"{report.unchained:,} lines are in no chain yet: 'backstay audit chain' adds them", style="dim"
        )


def _row(one: AuditEntry) -> tuple[printing.Cell, ...]:
    job = "" if one.job_id is None else str(one.job_id)
    return (printing.ago(one.at), one.actor, one.action, one.tenant, job, one.reason or "")
