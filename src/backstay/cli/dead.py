"""`backstay dead`: jobs that are out of attempts or hopeless, and what a person decides about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from backstay.cli import printing
from backstay.cli.acting import ByOption, DelayOption, JobArgument, ReasonOption, actor
from backstay.cli.defaults import with_default
from backstay.cli.many_dead import (
    AllOption,
    ArgsOption,
    AsNewOption,
    DryRunOption,
    FingerprintOption,
    KindOption,
    Many,
    MaybeJobArgument,
    MostOption,
    OlderOption,
    PaceOption,
    QueueOption,
    TenantOption,
    json_object,
)
from backstay.cli.options import command
from backstay.cli.session import Session

if TYPE_CHECKING:
    from backstay.model.records import DeadLetter, DeadLetterGroup

VersionOption = Annotated[
    int | None,
    typer.Option("--version", metavar="NUMBER", help="Only if the letter still has this version."),
]

dead = typer.Typer(
    cls=with_default("show", nothing="list"), help="List dead jobs ('backstay dead'), or decide about one."
)


@dead.command("list")
@command
def list_open(
    session: Session,
    kind: KindOption = None,
    queue: QueueOption = None,
    tenant: TenantOption = None,
    fingerprint: FingerprintOption = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 50,
) -> None:
    """List dead jobs that nobody has decided about, newest first."""
    found = session.run(
        lambda app: app.dead_letters.open(
            kind=kind, queue=queue, tenant=tenant, fingerprint=fingerprint, limit=limit
        )
    )
    headings = ("job", "kind", "queue", "died", "runs", "why", "owner", "error")

    def view() -> None:
        if found:
            printing.table(headings, [_row(letter) for letter in found], right=("runs",))
        else:
            printing.line("No dead jobs.", style="green")

    session.show({"dead_letters": found}, view)


@dead.command()
@command
def groups(
    session: Session,
    kind: KindOption = None,
    queue: QueueOption = None,
    tenant: TenantOption = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 50,
) -> None:
    """List the causes of open dead jobs, the most frequent first."""
    found = session.run(
        lambda app: app.dead_letters.groups(kind=kind, queue=queue, tenant=tenant, limit=limit)
    )
    headings = ("fingerprint", "jobs", "kind", "first", "last", "error")

    def view() -> None:
        if found:
            printing.table(headings, [_group_row(group) for group in found], right=("jobs",))
        else:
            printing.line("No dead jobs.", style="green")

    session.show({"groups": found}, view)


@dead.command()
@command
def show(session: Session, job_id: JobArgument) -> None:
    """Show every death of one job, with its error."""
    found = session.run(lambda app: app.dead_letters.of_job(job_id))

    def view() -> None:
        if not found:
            printing.line(f"Job {job_id} has never been dead.", style="dim")
        for letter in found:
            _letter(letter)

    session.show({"dead_letters": found}, view)


@dead.command()
@command
def investigate(
    session: Session,
    job_id: JobArgument,
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="What is known so far.")] = None,
    by: ByOption = None,
    version: VersionOption = None,
) -> None:
    """Say that somebody looks into a dead job; it stays open."""
    owner = actor(by)
    found = session.run(
        lambda app: app.dead_letters.investigate(job_id, by=owner, note=note, version=version)
    )
    session.tell(f"{owner} looks into job {job_id}", job_id=job_id, owner=owner, version=found)


@dead.command()
@command
def retry(
    session: Session,
    reason: ReasonOption,
    job_id: MaybeJobArgument = None,
    every: AllOption = False,
    kind: KindOption = None,
    queue: QueueOption = None,
    tenant: TenantOption = None,
    fingerprint: FingerprintOption = None,
    older_than: OlderOption = None,
    limit: MostOption = None,
    pace: PaceOption = None,
    dry_run: DryRunOption = False,
    by: ByOption = None,
    delay: DelayOption = None,
    version: VersionOption = None,
    args: ArgsOption = None,
    as_new: AsNewOption = False,
) -> None:
    """Run a dead job again, with a fresh budget of attempts, or with --all every one that the options let through."""
    many = Many(every, kind, queue, tenant, fingerprint, older_than, dry_run)
    how: dict[str, Any] = {"by": actor(by), "reason": reason, "delay": delay or 0}
    if many.is_asked(job_id):
        many.decide(
            session,
            lambda app: app.dead_letters.retry_all(many.filters(), limit=limit, pace=pace, **how),
            done="run again",
        )
        return
    how |= {"version": version, "args": None if args is None else json_object(args), "as_new": as_new}
    new_id = session.run(lambda app: app.dead_letters.retry(job_id or "", **how))
    link = f" as {new_id}" if as_new else ""
    session.tell(f"job {job_id} runs again{link}{f' in {delay}' if delay else ''}", job_id=new_id)


@dead.command()
@command
def resolve(
    session: Session,
    reason: ReasonOption,
    job_id: MaybeJobArgument = None,
    every: AllOption = False,
    kind: KindOption = None,
    queue: QueueOption = None,
    tenant: TenantOption = None,
    fingerprint: FingerprintOption = None,
    older_than: OlderOption = None,
    limit: MostOption = None,
    pace: PaceOption = None,
    dry_run: DryRunOption = False,
    by: ByOption = None,
    version: VersionOption = None,
) -> None:
    """Close a dead job without running it, because the matter is settled, or with --all every one let through."""
    many = Many(every, kind, queue, tenant, fingerprint, older_than, dry_run)
    if many.is_asked(job_id):
        many.decide(
            session,
            lambda app: app.dead_letters.resolve_all(
                many.filters(), by=actor(by), reason=reason, limit=limit, pace=pace
            ),
            done="are resolved",
        )
        return
    one = job_id or ""
    session.run(lambda app: app.dead_letters.resolve(one, by=actor(by), reason=reason, version=version))
    session.tell(f"job {one} is resolved", job_id=one)


@dead.command()
@command
def ignore(
    session: Session,
    job_id: JobArgument,
    reason: ReasonOption,
    by: ByOption = None,
    version: VersionOption = None,
) -> None:
    """Close a dead job without running it, because it does not matter."""
    session.run(lambda app: app.dead_letters.ignore(job_id, by=actor(by), reason=reason, version=version))
    session.tell(f"job {job_id} is ignored", job_id=job_id)


def _row(letter: DeadLetter) -> tuple[printing.Cell, ...]:
    error = letter.error or {}
    said = f"{error.get('type', '')}: {error.get('message', '')}" if error else ""
    died = printing.ago(letter.died_at)
    runs = str(letter.attempts)
    owner = letter.owner or ""
    return (str(letter.job_id), letter.kind, letter.queue, died, runs, letter.reason, owner, said[:120])


def _group_row(group: DeadLetterGroup) -> tuple[printing.Cell, ...]:
    said = f"{group.error_type}: {group.message}" if group.error_type else group.message
    first, last = printing.ago(group.first_died_at), printing.ago(group.last_died_at)
    return (group.fingerprint, str(group.letters), group.kind, first, last, said[:120])


def _letter(letter: DeadLetter) -> None:
    printing.line(f"{letter.kind} {letter.job_id}", style="bold")
    printing.fields(
        [
            ("status", letter.status),
            ("owner", letter.owner),
            ("note", letter.note),
            ("version", str(letter.version)),
            ("reason", letter.reason),
            ("fingerprint", letter.fingerprint),
            ("queue", letter.queue),
            ("tenant", letter.tenant),
            ("runs", str(letter.attempts)),
            ("first run", printing.exactly(letter.first_attempted_at)),
            ("died", printing.exactly(letter.died_at)),
            ("closed", printing.exactly(letter.resolved_at)),
            ("closed by", letter.resolved_by),
            ("resolution", letter.resolution),
        ]
    )
    if letter.error:
        printing.error(letter.error)
    printing.line("")
