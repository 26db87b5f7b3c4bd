"""`backstay jobs`: find jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.options import command
from backstay.cli.session import Session
from backstay.client.doctor.text import spoken
from backstay.model.states import State

if TYPE_CHECKING:
    from backstay.app import Backstay
    from backstay.model.job import Job
    from backstay.model.policy.profile import Profile
    from backstay.model.records import Page

WIDE = 100


ErrorClassOption = Annotated[
    str | None, typer.Option(help="Only jobs whose last error is of this class, such as timeout.")
]


@command
def jobs(
    session: Session,
    state: Annotated[
        list[str] | None,
        typer.Option(help="Only jobs in this state, in your application's words or ours; may be repeated."),
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Only jobs of this kind.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only jobs of this queue.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only jobs of this tenant.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only jobs with this tag.")] = None,
    worker: Annotated[str | None, typer.Option(help="Only jobs of the worker with this id.")] = None,
    created_by: Annotated[str | None, typer.Option(help="Only jobs that this one asked for.")] = None,
    error_class: ErrorClassOption = None,
    field: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Only jobs with this in a promoted field; may be repeated."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Go on where another list ended.")] = None,
) -> None:
    """List jobs, newest first."""
    from backstay.model.records import JobFilter

    filters = JobFilter(
        state=state or None,
        kind=kind,
        queue=queue,
        tenant=tenant,
        tag=tag,
        worker=worker,
        created_by=created_by,
        error_class=error_class,
        promoted=_promoted(field or []),
    )

    async def found(app: Backstay) -> tuple[Page, Profile]:
        return await app.jobs.search(filters, cursor=cursor, limit=limit), app.profile

    page, profile = session.run(found)
    session.show({"jobs": page.jobs, "cursor": page.cursor}, lambda: _show(page, profile))


def _show(page: Page, profile: Profile) -> None:
    if not page.jobs:
        printing.line("No jobs.", style="dim")
        return
    _table(page.jobs, profile)
    if page.cursor:
        printing.note(f"There are more: repeat the command with --cursor {page.cursor}")


def _promoted(fields: Sequence[str]) -> dict[str, str] | None:
    split = [text.partition("=") for text in fields]
    for name, equals, _ in split:
        if not (name and equals):
            raise typer.BadParameter(f"{name!r} must be NAME=VALUE", param_hint="--field")
    return {name: value for name, _, value in split} or None


def _table(jobs: Sequence[Job], profile: Profile) -> None:
    """Print jobs; on a narrow terminal without what can be read off the job itself."""
    columns: dict[str, Callable[[Job], printing.Cell]] = {
        "id": lambda job: str(job.id),
        "kind": lambda job: job.kind,
        "queue": lambda job: job.queue,
        "state": lambda job: printing.state(job.state, profile.word_for(job.state, job.attempt, job.reason)),
        "attempt": lambda job: f"{job.attempt}/{job.max_attempts}" if job.max_attempts else str(job.attempt),
        "when": when,
        "took": took,
        "worker": lambda job: job.worker or "",
    }
    if printing.console().width < WIDE:
        del columns["queue"], columns["took"]
    # Whose hands a job is in matters while it runs.
    if not any(job.state is State.RUNNING for job in jobs):
        del columns["worker"]
    printing.table(
        tuple(columns), [[cell(job) for cell in columns.values()] for job in jobs], right=("took",)
    )


def when(job: Job) -> str:
    """The time that matters in the job's state."""
    match job.state:
        case State.SCHEDULED:
            return f"due {printing.ago(job.run_at)}"
        case State.HELD:
            return f"held: {job.reason}"
        case State.AVAILABLE:
            return f"for {spoken(printing.now() - job.run_at)}"
        case State.RUNNING:
            return f"for {spoken(printing.now() - (job.started_at or job.updated_at))}"
        case _:
            return printing.ago(job.finished_at)


def took(job: Job) -> str:
    """How long the job ran, once it has ended."""
    # A job that runs again still carries the length of its last run.
    if job.duration_ms is None or not job.is_finished:
        return ""
    return spoken(timedelta(milliseconds=job.duration_ms))
