"""`backstay operations`: one thing done to many jobs, and how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.acting import ByOption, ReasonOption, actor
from backstay.cli.defaults import with_default
from backstay.cli.many_dead import FingerprintOption, KindOption, OlderOption, QueueOption, TenantOption
from backstay.cli.options import command
from backstay.cli.session import Session
from backstay.errors import InvalidPayload
from backstay.model.text.durations import duration

if TYPE_CHECKING:
    from backstay.model.operations import Operation
    from backstay.model.records import DeadLetterFilter, JobFilter

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The operation's id.", show_default=False)]
VerbArgument = Annotated[
    str,
    typer.Argument(
        metavar="VERB",
        help="dead_letters.retry, dead_letters.resolve, jobs.cancel, jobs.hold, jobs.release or jobs.run_now.",
        show_default=False,
    ),
]
StateOption = Annotated[
    list[str] | None, typer.Option("--state", metavar="STATE", help="Only jobs in it. May be repeated.")
]
TagOption = Annotated[str | None, typer.Option("--tag", help="Only jobs with this tag.")]
PaceOption = Annotated[float, typer.Option("--pace", metavar="NUMBER", help="At most this many a second.")]

operations = typer.Typer(
    cls=with_default("list", nothing="list"), help="Do one thing with many jobs, and see how far it is."
)


@operations.command("list")
@command
def list_(session: Session) -> None:
    """Show the operations, the newest first."""
    found = session.run(lambda app: app.operations.all())

    def view() -> None:
        if not found:
            printing.line("No operation was started: 'backstay operations start VERB' does.", style="dim")
        else:
            headings = ("id", "operation", "state", "done", "skipped", "of", "by")
            printing.table(headings, [_row(one) for one in found])

    session.show({"operations": found}, view)


@operations.command()
@command
def start(
    session: Session,
    verb: VerbArgument,
    reason: ReasonOption,
    kind: KindOption = None,
    queue: QueueOption = None,
    tenant: TenantOption = None,
    state: StateOption = None,
    tag: TagOption = None,
    fingerprint: FingerprintOption = None,
    older_than: OlderOption = None,
    pace: PaceOption = 100.0,
    by: ByOption = None,
) -> None:
    """Start doing one thing with every job that fits now; a worker carries it out."""
    filters: DeadLetterFilter | JobFilter
    if verb.startswith("dead_letters."):
        filters = _dead_letter_filter(
            kind, queue, tenant, fingerprint, older_than, is_mixed=bool(state or tag)
        )
    else:
        filters = _job_filter(kind, queue, tenant, state, tag, is_mixed=bool(fingerprint or older_than))
    started = session.run(
        lambda app: app.operations.start(verb, filters, reason=reason, pace=pace, by=actor(by))
    )

    def view() -> None:
        printing.line(
            f"Started: {started.name}. See how far it is with 'backstay operations show {started.id}'."
        )

    session.show({"operation": started}, view)


@operations.command()
@command
def show(session: Session, operation_id: IdArgument) -> None:
    """Show how far an operation is."""
    found = session.run(lambda app: app.operations.get(operation_id))

    def view() -> None:
        printing.table(("id", "operation", "state", "done", "skipped", "of", "by"), [_row(found)])
        if found.problem:
            printing.line(f"The last one that was skipped: {found.problem}", style="dim")

    session.show({"operation": found}, view)


@operations.command()
@command
def stop(session: Session, operation_id: IdArgument, by: ByOption = None) -> None:
    """End an operation after the step that is under way; what was done stays done."""
    stopped = session.run(lambda app: app.operations.stop(operation_id, by=actor(by)))
    told = "It stops; what was done stays done." if stopped else "It has ended already."
    session.show({"stopped": stopped}, lambda: printing.line(told))


def _dead_letter_filter(
    kind: str | None,
    queue: str | None,
    tenant: str | None,
    fingerprint: str | None,
    older_than: str | None,
    *,
    is_mixed: bool,
) -> DeadLetterFilter:
    from backstay.model.records import DeadLetterFilter

    if is_mixed:
        raise InvalidPayload("--state and --tag are for operations on jobs, not on dead letters")
    older = None if older_than is None else duration(older_than, field="older-than")
    return DeadLetterFilter(kind=kind, queue=queue, tenant=tenant, fingerprint=fingerprint, older_than=older)


def _job_filter(
    kind: str | None,
    queue: str | None,
    tenant: str | None,
    state: list[str] | None,
    tag: str | None,
    *,
    is_mixed: bool,
) -> JobFilter:
    from backstay.model.records import JobFilter

    if is_mixed:
        raise InvalidPayload("--fingerprint and --older-than are for operations on dead letters, not on jobs")
    return JobFilter(kind=kind, queue=queue, tenant=tenant, state=state or None, tag=tag)


def _row(one: Operation) -> tuple[str, ...]:
    total = "" if one.total is None else f"{one.total:,}"
    return (
        str(one.id),
        one.name,
        one.status.value,
        f"{one.done:,}",
        f"{one.skipped:,}",
        total,
        one.started_by,
    )
