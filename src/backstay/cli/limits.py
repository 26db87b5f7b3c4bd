"""`backstay limits`: how much of each limit is used, who holds the permits, and what operators change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from backstay.cli import printing
from backstay.cli.acting import ByOption, ReasonOption, actor
from backstay.cli.defaults import with_default
from backstay.cli.options import command
from backstay.cli.overrides import NameArgument, Scope, ScopeArgument, ValueArgument
from backstay.cli.session import Session
from backstay.model.text.durations import written

if TYPE_CHECKING:
    from backstay.app import Backstay
    from backstay.model.limits.admission import LimitRecord
    from backstay.model.records import Override

limits = typer.Typer(
    help="How many jobs run at the same time, and how many start per period.",
    cls=with_default("list", nothing="list"),
)

KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="As `limits` lists it.", show_default=False)]
FieldArgument = Annotated[
    str,
    typer.Argument(
        metavar="FIELD",
        help="limit, rate, key_limit or key_rate of a kind; limit, rate or per_worker of a queue.",
        show_default=False,
    ),
]
BurstOption = Annotated[
    int | None, typer.Option("--burst", metavar="N", help="How many tokens of a rate are kept.")
]


@limits.command("list")
@command
def list_(session: Session) -> None:
    """List every limit that was asked for: in use, waiting, tokens; and what operators have changed."""

    async def look(app: Backstay) -> tuple[list[LimitRecord], list[Override]]:
        return await app.limits.all(), await app.limits.changes()

    found, changes = session.run(look)

    def view() -> None:
        if not found:
            printing.line("No limits: no job under one was ever claimed here.", style="dim")
        else:
            rows = [_row(one) for one in found]
            printing.table(("limit", "most", "in use", "tokens", "waiting"), rows, right=("most", "waiting"))
        for one in changes:
            printing.line(
                f"{one.field} of {one.scope} {one.name} was changed to {one.change} by {one.set_by}: {one.reason}",
                style="yellow",
            )

    session.show({"limits": found, "changes": changes}, view)


@limits.command("holders")
@command
def holders(session: Session, key: KeyArgument) -> None:
    """Show which jobs hold the permits of a limit now, and which worker runs each."""
    found = session.run(lambda app: app.limits.holders(key))

    def view() -> None:
        if not found:
            printing.line(f"Nobody holds a permit of {key}.", style="dim")
        else:
            rows = [
                (str(one.job_id), one.kind, one.worker or "", printing.ago(one.started_at)) for one in found
            ]
            printing.table(("job", "kind", "worker", "since"), rows)

    session.show({"holders": found}, view)


@limits.command("set")
@command
def set_(
    session: Session,
    scope: ScopeArgument,
    name: NameArgument,
    field: FieldArgument,
    value: ValueArgument,
    reason: ReasonOption,
    burst: BurstOption = None,
    by: ByOption = None,
) -> None:
    """Change a limit for every worker; the queue '*' stands for all jobs together. Running jobs finish."""
    meant: int | str = int(value) if value.lstrip("-").isdigit() else value
    about: dict[str, Any] = {scope.value: name}
    session.run(lambda app: app.limits.set(field, meant, **about, burst=burst, reason=reason, by=actor(by)))
    session.tell(f"{field} of {_what(scope, name)} is {value} now: {reason}", **about, field=field)


@limits.command("unset")
@command
def unset(
    session: Session, scope: ScopeArgument, name: NameArgument, field: FieldArgument, by: ByOption = None
) -> None:
    """Restore the limit that the code declares."""
    about: dict[str, Any] = {scope.value: name}
    was_set = session.run(lambda app: app.limits.unset(field, **about, by=actor(by)))
    done = "is the code's own again" if was_set else "was not changed"
    session.tell(f"{field} of {_what(scope, name)} {done}", **about, field=field, was_set=was_set)


def _what(scope: Scope, name: str) -> str:
    return "all jobs" if (scope, name) == (Scope.QUEUE, "*") else f"{scope} {name}"


def _row(one: LimitRecord) -> tuple[printing.Cell, ...]:
    waiting = f"{one.waiting:,}" + ("+" if one.is_capped else "")
    if one.every is not None:
        return one.key, f"{one.most}", "", f"{one.tokens}, one every {written(one.every)}", waiting
    is_full = one.in_use >= one.most
    in_use = printing.plain(f"{one.in_use}", "yellow") if is_full else f"{one.in_use}"
    return one.key, f"{one.most}", in_use, "", waiting
