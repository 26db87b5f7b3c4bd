"""`backstay health`: one verdict on the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from backstay.cli import printing
from backstay.cli.options import command
from backstay.cli.session import Session

if TYPE_CHECKING:
    from backstay.model.health import HealthReport

STYLES = {"healthy": "green", "degraded": "yellow", "unhealthy": "bold red"}


@command
def health(session: Session) -> None:
    """Say whether everything is well; exits with 1 when it is not. `backstay doctor` says what to do."""
    report = session.run(lambda app: app.health.check())
    session.show(report, lambda: _view(report))
    if report.status == "unhealthy":
        raise typer.Exit(1)


def _view(report: HealthReport) -> None:
    printing.line(report.status.value, style=STYLES[report.status.value])
    printing.fields(
        [
            ("stale jobs", f"{report.stale_jobs:,}"),
            ("open dead letters", f"{report.unresolved_dead_letters:,}"),
            ("failures in the last hour", f"{report.recent_failures:,}"),
        ]
    )
