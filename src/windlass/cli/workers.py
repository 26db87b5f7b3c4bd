"""`windlass workers`: who works, and on what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from windlass.cli import printing
from windlass.cli.session import Session, command
from windlass.client.wording import listed, spoken

if TYPE_CHECKING:
    from windlass.records import WorkerRecord

HEADINGS = ("id", "state", "busy", "host", "pid", "version", "queues", "kinds", "heard of")


@command
def workers(
    session: Session, limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 50
) -> None:
    """List workers, the living first."""
    found = session.run(lambda app: app.workers.all(limit=limit))

    def view() -> None:
        if found:
            printing.table(HEADINGS, [_row(worker) for worker in found], right=("busy", "pid"))
        else:
            printing.line("No workers: start one with 'windlass worker module:app'.", style="dim")

    session.show({"workers": [_document(worker) for worker in found]}, view)


def _row(worker: WorkerRecord) -> tuple[printing.Cell, ...]:
    from windlass.client.diagnosis import is_living

    silent = worker.state == "alive" and not is_living(worker)
    state, style = ("silent", "bold red") if silent else (worker.state, "")
    if is_living(worker):
        style = "green"
    return (
        worker.id,
        printing.plain(state, style or "dim"),
        f"{worker.running}/{worker.concurrency}",
        worker.host,
        str(worker.pid),
        worker.version,
        listed(worker.queues, most=3),
        listed(worker.kinds, most=3),
        f"{spoken(worker.silent_for)} ago",
    )


def _document(worker: WorkerRecord) -> dict[str, object]:
    from dataclasses import asdict

    facts = asdict(worker)
    return {**facts, "silent_for": facts.pop("silent_for").total_seconds()}
