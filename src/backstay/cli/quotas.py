"""`backstay quotas`: how many jobs of a tenant may wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.acting import ByOption, ReasonOption, actor
from backstay.cli.defaults import with_default
from backstay.cli.options import command
from backstay.cli.session import Session

if TYPE_CHECKING:
    from backstay.model.pauses import Quota

TenantOption = Annotated[
    str | None, typer.Option("--tenant", metavar="TENANT", help="One tenant; otherwise each.")
]
QueueOption = Annotated[
    str | None, typer.Option("--queue", metavar="QUEUE", help="One queue; otherwise all together.")
]
MostArgument = Annotated[
    int, typer.Argument(metavar="MOST", help="So many jobs may wait.", show_default=False)
]

quotas = typer.Typer(
    cls=with_default("list", nothing="list"), help="Show how many jobs of a tenant may wait, or change it."
)


@quotas.command("list")
@command
def list_(session: Session) -> None:
    """Show every quota, with who set it and why."""
    found = session.run(lambda app: app.quotas.all())

    def view() -> None:
        if not found:
            printing.line("No quotas: any number of jobs may wait.", style="dim")
        else:
            headings = ("tenant", "queue", "most", "set", "by", "reason")
            printing.table(headings, [_row(one) for one in found], right=("most",))

    session.show({"quotas": found}, view)


@quotas.command("set")
@command
def set_(
    session: Session,
    most: MostArgument,
    reason: ReasonOption,
    tenant: TenantOption = None,
    queue: QueueOption = None,
    by: ByOption = None,
) -> None:
    """Limit how many jobs may wait; enqueueing more is refused."""
    session.run(lambda app: app.quotas.set(most, tenant=tenant, queue=queue, reason=reason, by=actor(by)))
    session.tell(f"{_whose(tenant, queue)}: at most {most:,}", tenant=tenant, queue=queue, most=most)


@quotas.command()
@command
def remove(
    session: Session, tenant: TenantOption = None, queue: QueueOption = None, by: ByOption = None
) -> None:
    """Let any number of jobs wait again."""
    was_set = session.run(lambda app: app.quotas.unset(tenant=tenant, queue=queue, by=actor(by)))
    done = "any number again" if was_set else "there was no such quota"
    session.tell(f"{_whose(tenant, queue)}: {done}", tenant=tenant, queue=queue, was_set=was_set)


def _whose(tenant: str | None, queue: str | None) -> str:
    return f"waiting jobs of {tenant or 'each tenant'} in {queue or 'all queues'}"


def _row(one: Quota) -> tuple[printing.Cell, ...]:
    set_at = printing.ago(one.set_at)
    return (one.tenant or "each", one.queue or "all", f"{one.most:,}", set_at, one.set_by, one.reason)
