"""`windlass jobs`: find jobs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from windlass.cli import printing
from windlass.cli.session import Session, command
from windlass.client.wording import spoken
from windlass.states import State

if TYPE_CHECKING:
    from windlass.job import Job

HEADINGS = ("id", "kind", "queue", "state", "attempt", "when", "worker")


@command
def jobs(
    session: Session,
    state: Annotated[State | None, typer.Option(help="Only jobs in this state.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only jobs of this kind.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only jobs of this queue.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only jobs of this tenant.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only jobs with this tag.")] = None,
    worker: Annotated[str | None, typer.Option(help="Only jobs of the worker with this id.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Go on where another list ended.")] = None,
) -> None:
    """List jobs, newest first."""
    from windlass.stores.contract import JobFilter

    filters = JobFilter(state=state, kind=kind, queue=queue, tenant=tenant, tag=tag, worker=worker)
    page = session.run(lambda app: app.jobs.search(filters, cursor=cursor, limit=limit))

    def view() -> None:
        if not page.jobs:
            printing.line("No jobs.", style="dim")
            return
        printing.table(HEADINGS, [row(job) for job in page.jobs])
        if page.cursor:
            printing.note(f"There are more: repeat the command with --cursor {page.cursor}")

    session.show({"jobs": page.jobs, "cursor": page.cursor}, view)


def row(job: Job) -> tuple[printing.Cell, ...]:
    """One job as a line of a table."""
    budget = f"{job.attempt}/{job.max_attempts}" if job.max_attempts else str(job.attempt)
    return (str(job.id), job.kind, job.queue, printing.state(job.state), budget, when(job), job.worker or "")


def when(job: Job) -> str:
    """The time that matters in the job's state."""
    match job.state:
        case State.SCHEDULED:
            return f"due {printing.ago(job.run_at)}"
        case State.HELD:
            return f"held: {job.reason}"
        case State.AVAILABLE:
            return f"since {printing.ago(job.run_at)}"
        case State.RUNNING:
            return f"started {printing.ago(job.started_at)}"
        case _:
            took = "" if job.duration_ms is None else f", took {spoken(timedelta(milliseconds=job.duration_ms))}"
            return f"{printing.ago(job.finished_at)}{took}"
