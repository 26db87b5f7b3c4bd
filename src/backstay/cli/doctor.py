"""`backstay doctor`: what is wrong, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from backstay.cli import printing
from backstay.cli.options import command
from backstay.cli.session import Session

if TYPE_CHECKING:
    from backstay.client.doctor.diagnosis import Finding

STYLES = {"error": "bold red", "warning": "yellow", "info": "blue"}


@command
def doctor(session: Session) -> None:
    """Look for problems; exit code 1 when there is a warning or an error."""
    findings = session.run(lambda app: app.doctor.check())
    serious = [finding for finding in findings if finding.severity != "info"]

    def view() -> None:
        for finding in findings:
            _show(finding)
        if not findings:
            printing.line("Nothing to report.", style="green")
        elif not serious:
            printing.line("No problems.", style="green")

    session.show({"findings": findings, "is_healthy": not serious}, view)
    if serious:
        raise typer.Exit(1)


def _show(finding: Finding) -> None:
    from rich.text import Text

    severity = finding.severity.value
    title = Text.assemble((f"{severity:<8}", STYLES[severity]), printing.plain(finding.title, "bold"))
    title.append(f"  [{finding.code}]", "dim")
    printing.console().print(title)
    indented = [("", printing.plain(finding.detail)), ("", printing.plain(f"→ {finding.advice}", "italic"))]
    printing.fields(((" " * 6), text) for _, text in indented)
    printing.line("")
