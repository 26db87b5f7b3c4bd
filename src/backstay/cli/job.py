"""`backstay job`: one job as a whole, and what can be done with it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from backstay.cli import printing
from backstay.cli.acting import (
    ByOption,
    DelayOption,
    JobArgument,
    MaybeReasonOption,
    ReasonOption,
    RunAtOption,
    actor,
    moment,
)
from backstay.cli.defaults import with_default
from backstay.cli.jobs import took
from backstay.cli.options import command
from backstay.cli.session import Session
from backstay.client.doctor.text import spoken

if TYPE_CHECKING:
    from backstay.app import Backstay
    from backstay.model.job import Attempt, Job, Progress, Step
    from backstay.model.records import AuditEntry
    from backstay.model.signals import Signal


job = typer.Typer(
    cls=with_default("show"), no_args_is_help=True, help="Show one job ('backstay job ID'), or act on it."
)


@job.command()
@command
def show(session: Session, job_id: JobArgument) -> None:
    """Show everything about a job: why it does not run, its data, its attempts and its history."""

    async def look(app: Backstay) -> _Seen:
        return _Seen(
            await app.jobs.get(job_id),
            await app.doctor.why(job_id),
            await app.jobs.steps(job_id),
            await app.signals.of_job(job_id),
            await app.jobs.runs(job_id),
            await app.jobs.history(job_id),
        )

    seen = session.run(look)

    def view() -> None:
        _summary(seen.job, seen.why)
        _data(seen.job)
        _steps(seen.steps)
        _signals(seen.signals)
        _runs(seen.runs)
        _history(seen.history)

    attempts = [run for run in seen.runs if run.status not in ("started", "completed")]
    session.show({**seen._asdict(), "attempts": attempts}, view)


class _Seen(NamedTuple):
    job: Job
    why: list[str]
    steps: list[Step]
    signals: list[Signal]
    runs: list[Attempt]
    history: list[AuditEntry]


@job.command()
@command
def cancel(
    session: Session, job_id: JobArgument, reason: ReasonOption = "cancelled", by: ByOption = None
) -> None:
    """Cancel a waiting job, or ask a running one to stop."""
    state = session.run(lambda app: app.jobs.cancel(job_id, reason=reason, by=actor(by)))
    done = "cancelled" if state == "cancelled" else "asked to stop; it runs until its handler notices"
    session.tell(f"job {job_id} {done}", job_id=job_id, state=state)


@job.command()
@command
def retry(
    session: Session,
    job_id: JobArgument,
    reason: ReasonOption,
    by: ByOption = None,
    delay: DelayOption = None,
) -> None:
    """Run a dead job again, with a fresh budget of attempts."""
    session.run(lambda app: app.dead_letters.retry(job_id, reason=reason, by=actor(by), delay=delay or 0))
    session.tell(f"job {job_id} runs again{f' in {delay}' if delay else ''}", job_id=job_id)


@job.command()
@command
def hold(session: Session, job_id: JobArgument, reason: ReasonOption, by: ByOption = None) -> None:
    """Put a waiting job aside until it is released."""
    session.run(lambda app: app.jobs.hold(job_id, reason=reason, by=actor(by)))
    session.tell(f"job {job_id} is held: {reason}", job_id=job_id)


@job.command()
@command
def release(session: Session, job_id: JobArgument, by: ByOption = None) -> None:
    """Let a held job go on."""
    session.run(lambda app: app.jobs.release(job_id, by=actor(by)))
    session.tell(f"job {job_id} is released", job_id=job_id)


@job.command()
@command
def reschedule(
    session: Session,
    job_id: JobArgument,
    run_at: RunAtOption = None,
    delay: DelayOption = None,
    by: ByOption = None,
) -> None:
    """Move a waiting job to another time."""
    from backstay.model.text.durations import duration

    if (run_at is None) == (delay is None):
        raise typer.BadParameter("say when: either --run-at or --delay")
    at = moment(run_at, option="--run-at") or printing.now() + duration(delay, field="delay")
    session.run(lambda app: app.jobs.reschedule(job_id, at, by=actor(by)))
    session.tell(f"job {job_id} runs at {printing.exactly(at)}", job_id=job_id, run_at=at)


@job.command("run-now")
@command
def run_now(session: Session, job_id: JobArgument, by: ByOption = None) -> None:
    """Let a job that is scheduled for later run as soon as a worker is free."""
    session.run(lambda app: app.jobs.run_now(job_id, by=actor(by)))
    session.tell(f"job {job_id} runs as soon as a worker is free", job_id=job_id)


@job.command()
@command
def priority(
    session: Session,
    job_id: JobArgument,
    priority: Annotated[
        str, typer.Argument(metavar="PRIORITY", help="1 to 10, lower first, or a word of the application.")
    ],
    reason: MaybeReasonOption = None,
    by: ByOption = None,
) -> None:
    """Give a waiting job another priority."""
    asked = int(priority) if priority.lstrip("-").isdigit() else priority
    session.run(lambda app: app.jobs.set_priority(job_id, asked, reason=reason, by=actor(by)))
    session.tell(f"job {job_id} has priority {priority}", job_id=job_id, priority=asked)


@job.command()
@command
def clone(
    session: Session,
    job_id: JobArgument,
    delay: DelayOption = None,
    reason: MaybeReasonOption = None,
    by: ByOption = None,
) -> None:
    """Run a job again as a new one, whatever has become of it."""
    new = session.run(lambda app: app.jobs.clone(job_id, delay=delay, reason=reason, by=actor(by)))
    session.tell(f"job {new} was made from {job_id}", job_id=new, cloned_from=job_id)


def _summary(job: Job, reasons: list[str]) -> None:
    printing.line(f"{job.kind} {job.id}", style="bold")
    for reason in reasons:
        printing.line(reason)
    printing.line("")
    budget = f"{job.attempt} of {job.max_attempts}" if job.max_attempts else str(job.attempt)
    printing.fields(
        [
            ("state", printing.state(job.state)),
            ("reason", job.reason),
            ("queue", job.queue),
            ("priority", str(job.priority)),
            ("attempt", budget),
            ("crashes", str(job.crashes) if job.crashes else None),
            ("tenant", job.tenant),
            ("tags", ", ".join(job.tags)),
            ("key", job.idempotency_key),
            ("correlation", job.correlation_id),
            ("parent", str(job.parent_id) if job.parent_id else None),
            ("progress", _progress(job.progress)),
            ("worker", job.worker),
            ("created", printing.exactly(job.created_at)),
            ("runs at", printing.exactly(job.run_at) if not job.started_at or job.is_retrying else None),
            ("started", printing.exactly(job.started_at)),
            ("finished", printing.exactly(job.finished_at)),
            ("took", took(job)),
            ("expires", printing.exactly(job.expires_at)),
            ("deadline", printing.exactly(job.deadline)),
        ]
    )


def _data(job: Job) -> None:
    parts = (
        ("Arguments", job.args),
        ("Result", job.result),
        ("Metadata", job.metadata),
    )
    for title, value in parts:
        if value or (title == "Result" and value is not None):
            printing.heading(title)
            printing.code(printing.json_text(value))
    if job.error:
        printing.heading("Last error")
        printing.error(job.error)


def _progress(progress: Progress | None) -> str | None:
    if progress is None:
        return None
    told = f"{progress.current:g}"
    if progress.total is not None:
        told += f" of {progress.total:g} ({progress.percent:.0f} %)"
    return f"{told}, {progress.message}" if progress.message else told


def _steps(steps: list[Step]) -> None:
    if steps:
        printing.heading("Steps done")
        rows = [
            (
                step.name,
                str(step.run),
                printing.ago(step.finished_at),
                spoken(timedelta(milliseconds=step.duration_ms)),
                printing.short_json(step.result),
            )
            for step in steps
        ]
        printing.table(("step", "run", "finished", "took", "result"), rows, right=("run",))


def _signals(signals: list[Signal]) -> None:
    if signals:
        printing.heading("Signals received")
        rows = [
            (one.name, printing.ago(one.sent_at), one.sent_by, printing.short_json(one.payload))
            for one in signals
        ]
        printing.table(("signal", "sent", "by", "payload"), rows)


def _runs(runs: list[Attempt]) -> None:
    if runs:
        printing.heading("Runs")
        headings = ("run", "attempt", "status", "started", "took", "cpu", "memory", "worker", "error")
        printing.table(headings, [_run(one) for one in runs], right=("run", "attempt", "cpu", "memory"))


def _run(one: Attempt) -> tuple[printing.Cell, ...]:
    took = "" if one.duration_ms is None else spoken(timedelta(milliseconds=one.duration_ms))
    error = f"{one.error.get('type')}: {one.error.get('message')}" if one.error else ""
    return (
        str(one.run),
        str(one.attempt),
        one.status,
        printing.ago(one.started_at),
        took,
        "" if one.cpu_ms is None else spoken(timedelta(milliseconds=one.cpu_ms)),
        "" if one.peak_rss_mb is None else f"{one.peak_rss_mb} MB",
        one.worker or "",
        error[:200],
    )


def _history(history: list[AuditEntry]) -> None:
    if history:
        printing.heading("History")
        rows = [
            (printing.ago(entry.at), entry.action, _move(entry), entry.actor, entry.reason or "")
            for entry in history
        ]
        printing.table(("when", "what", "states", "by", "reason"), rows)


def _move(entry: AuditEntry) -> str:
    return f"{entry.from_state or '·'} → {entry.to_state}" if entry.to_state else ""
