"""`backstay overrides`: numbers that operators change while everything runs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from backstay.cli import printing
from backstay.cli.acting import ByOption, ReasonOption, actor
from backstay.cli.defaults import with_default
from backstay.cli.options import command
from backstay.cli.session import Session

overrides = typer.Typer(
    help="Numbers of kinds and queues that operators have changed.", cls=with_default("list", nothing="list")
)


class Scope(StrEnum):
    """What a number belongs to."""

    KIND = "kind"
    QUEUE = "queue"


ScopeArgument = Annotated[Scope, typer.Argument(metavar="kind|queue", show_default=False)]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]
FieldArgument = Annotated[str, typer.Argument(metavar="FIELD", help="A policy field.", show_default=False)]
ValueArgument = Annotated[str, typer.Argument(metavar="VALUE", show_default=False)]


@overrides.command("list")
@command
def list_(session: Session) -> None:
    """List what is overridden, by whom and why."""
    found = session.run(lambda app: app.overrides.all())

    def view() -> None:
        if not found:
            printing.line("Nothing is overridden: the code's own numbers count.", style="dim")
        else:
            rows = [
                (one.scope, one.name, one.field, one.change, one.set_by, one.reason, printing.ago(one.set_at))
                for one in found
            ]
            printing.table(("scope", "name", "field", "change", "by", "reason", "since"), rows)

    session.show({"overrides": found}, view)


@overrides.command("set")
@command
def set_(
    session: Session,
    scope: ScopeArgument,
    name: NameArgument,
    field: FieldArgument,
    value: ValueArgument,
    reason: ReasonOption,
    by: ByOption = None,
) -> None:
    """Change a number of a kind or a queue, for every worker, from their next claim on."""
    meant = _meant(field, value)
    session.run(
        lambda app: app.overrides.set(field, meant, **_about(scope, name), reason=reason, by=actor(by))
    )
    session.tell(f"{field} of {scope} {name} is {value} now: {reason}", **_about(scope, name), field=field)


@overrides.command("remove")
@command
def remove(
    session: Session, scope: ScopeArgument, name: NameArgument, field: FieldArgument, by: ByOption = None
) -> None:
    """Let the code's own number count again."""
    was_set = session.run(lambda app: app.overrides.unset(field, **_about(scope, name), by=actor(by)))
    done = "is the code's own again" if was_set else "was not overridden"
    session.tell(f"{field} of {scope} {name} {done}", **_about(scope, name), field=field, was_set=was_set)


def _about(scope: Scope, name: str) -> dict[str, Any]:
    return {scope.value: name}


def _meant(field: str, text: str) -> Any:
    """The value as the policy has it: settings of the same name know how text is to be read."""
    from backstay.settings.settings import catalogue

    setting = catalogue().get(field)
    return text if setting is None else setting.read(field, text)
