"""`backstay config`: every setting, its value here, and where that comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.options import command
from backstay.cli.session import Session

if TYPE_CHECKING:
    from backstay.settings.sources import Chosen, Settings

AllOption = Annotated[bool, typer.Option("--all", help="Also settings that nobody has changed.")]


@command
def config(session: Session, everything: AllOption = False) -> None:
    """Show the settings as they count here and where each comes from; connects to nothing."""
    settings = (
        session.application(creates=True).settings if session.url or session.app else session.settings()
    )
    shown = [one for one in settings.chosen.values() if everything or one.source != "default"]

    def view() -> None:
        if not shown:
            printing.line("Every setting has its default; --all lists them.", style="dim")
        else:
            printing.table(
                ("setting", "value", "from"), [(one.name, one.text, _origin(one)) for one in shown]
            )
        for name in settings.unknown:
            meant = f"; did you mean {name.meant}?" if name.meant else ""
            printing.note(f"{name.variable} is no setting{meant}")

    session.show(_document(settings), view)


def _origin(one: Chosen) -> str:
    return one.source + (f", not {' or '.join(one.passed_over)}" if one.passed_over else "")


def _document(settings: Settings) -> dict[str, object]:
    from backstay.settings.settings import catalogue, shown

    known = catalogue()
    return {
        "settings": [
            {
                "name": one.name,
                "value": one.text,
                "source": one.source,
                "passed_over": list(one.passed_over),
                "variable": known[one.name].variable,
                "default": shown(one.name, known[one.name].default),
                "allowed": known[one.name].allowed,
            }
            for one in settings.chosen.values()
        ],
        "unknown": [{"variable": name.variable, "meant": name.meant} for name in settings.unknown],
    }
