"""`backstay alerts`: what holds now, and who is not to be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.acting import ByOption, ReasonOption, actor
from backstay.cli.defaults import with_default
from backstay.cli.options import command
from backstay.cli.session import Session

if TYPE_CHECKING:
    from backstay.model.alerts import Alert

RuleArgument = Annotated[str, typer.Argument(metavar="RULE", help="The rule's name.", show_default=False)]
LengthOption = Annotated[str, typer.Option("--for", metavar="LENGTH", help="How long: 2h, 30m.")]

alerts = typer.Typer(
    cls=with_default("list", nothing="list"), help="Show the alerts that hold, and mute them."
)


@alerts.command("list")
@command
def list_(session: Session) -> None:
    """Show the alerts that hold now."""
    found = session.run(lambda app: app.alerts.active())
    session.show({"alerts": found}, lambda: _table(found, nothing="No alert holds."))


@alerts.command()
@command
def check(session: Session) -> None:
    """Look at every rule now, and show those that hold."""
    found = session.run(lambda app: app.alerts.check())
    session.show(found, lambda: _table(found.active, nothing="No alert holds."))


@alerts.command()
@command
def history(session: Session) -> None:
    """Show what has fired, newest first."""
    found = session.run(lambda app: app.alerts.newest())
    session.show({"alerts": found}, lambda: _table(found, nothing="Nothing has fired."))


@alerts.command()
@command
def mute(
    session: Session,
    rule: RuleArgument,
    reason: ReasonOption,
    length: LengthOption = "1h",
    by: ByOption = None,
) -> None:
    """Mute a rule: until then it notifies nobody."""
    session.run(lambda app: app.alerts.mute(rule, length=length, reason=reason, by=actor(by)))
    session.tell(f"{rule}: muted for {length}", rule=rule, length=length)


@alerts.command()
@command
def unmute(session: Session, rule: RuleArgument, by: ByOption = None) -> None:
    """Let people be told again."""
    was_muted = session.run(lambda app: app.alerts.unmute(rule, by=actor(by)))
    done = "people are told again" if was_muted else "it was not muted"
    session.tell(f"{rule}: {done}", rule=rule, was_muted=was_muted)


def _table(found: list[Alert] | tuple[Alert, ...], *, nothing: str) -> None:
    if not found:
        printing.line(nothing, style="dim")
        return
    headings = ("rule", "severity", "message", "what to do", "fired", "cleared")
    printing.table(headings, [_row(one) for one in found])


def _row(one: Alert) -> tuple[printing.Cell, ...]:
    cleared = printing.ago(one.cleared_at)
    return (one.rule, one.severity, one.message, one.action, printing.ago(one.fired_at), cleared)
