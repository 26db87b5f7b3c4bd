"""`backstay schedules`: what fires when, and what people do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from backstay.cli import printing
from backstay.cli.acting import ByOption, ReasonOption, actor, moment
from backstay.cli.defaults import with_default
from backstay.cli.options import command
from backstay.cli.session import Session

if TYPE_CHECKING:
    from backstay.app import Backstay
    from backstay.client.scheduling import Timing
    from backstay.model.schedules.schedule import Definition, Schedule

schedules = typer.Typer(
    help="Schedules: what fires when, and what became of it.", cls=with_default("show", nothing="list")
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.", show_default=False)]
KindArgument = Annotated[str, typer.Argument(metavar="KIND", help="What it enqueues.", show_default=False)]
FieldArgument = Annotated[
    str, typer.Argument(metavar="FIELD", help="cron, every, zone, jitter, missed, …", show_default=False)
]
ValueArgument = Annotated[str, typer.Argument(metavar="VALUE", show_default=False)]
TenantOption = Annotated[str, typer.Option("--tenant", metavar="TENANT", help="Whose schedule it is.")]
CountOption = Annotated[int, typer.Option("--count", min=1, max=1000, help="How many.")]
ZoneOption = Annotated[str, typer.Option("--zone", metavar="ZONE", help="An IANA time zone.")]
FromOption = Annotated[str, typer.Option("--from", metavar="TIME", help="The first moment of the range.")]
ToOption = Annotated[str, typer.Option("--to", metavar="TIME", help="The last moment of the range.")]
_CRON = "Five fields, @daily, rate(…) or cron(…)."


@schedules.command("list")
@command
def list_(session: Session) -> None:
    """List schedules: when each fires next, and how often it has."""
    found = session.run(lambda app: app.schedules.all())

    def view() -> None:
        if not found:
            printing.line("No schedules: declare one in code with @app.schedule(…).", style="dim")
            return
        rows = [(one.name, one.definition.job.kind, when(one.definition), *_standing(one)) for one in found]
        printing.table(("name", "kind", "when", "next fire", "runs", "state"), rows, right=("runs",))

    session.show({"schedules": found}, view)


@schedules.command("show")
@command
def show(session: Session, name: NameArgument, tenant: TenantOption = "") -> None:
    """Show one schedule: what it is, what operators changed, and its next five fires."""

    async def look(app: Backstay) -> tuple[Any, Any]:
        return await app.schedules.get(name, tenant=tenant), await app.schedules.next_fires(
            name, tenant=tenant
        )

    one, coming = session.run(look)

    def view() -> None:
        _describe(one)
        for field, override in one.overrides.items():
            printing.line(
                f"{field} is {override.value}, changed by {override.by}: {override.reason}", style="yellow"
            )
        printing.heading("Next fires")
        for fire in coming:
            printing.line(printing.exactly(fire))

    session.show({"schedule": one, "next_fires": coming}, view)


@schedules.command("create")
@command
def create(
    session: Session,
    name: NameArgument,
    kind: KindArgument,
    cron: Annotated[str | None, typer.Option("--cron", metavar="EXPRESSION", help=_CRON)] = None,
    every: Annotated[str | None, typer.Option("--every", metavar="LENGTH", help="An interval: 15m.")] = None,
    at: Annotated[str | None, typer.Option("--at", metavar="TIME", help="Once, at this moment.")] = None,
    zone: ZoneOption = "UTC",
    args: Annotated[str | None, typer.Option("--args", metavar="JSON", help="Arguments.")] = None,
    missed: Annotated[str, typer.Option("--missed", help="coalesce, catch_up or skip.")] = "coalesce",
    overlap: Annotated[str, typer.Option("--overlap", help="allow, skip or queue.")] = "allow",
    jitter: Annotated[str, typer.Option("--jitter", metavar="LENGTH", help="Spread starts by this.")] = "0s",
    max_runs: Annotated[int | None, typer.Option("--max-runs", help="Stop after this many.")] = None,
    expires_at: Annotated[str | None, typer.Option("--expires-at", metavar="TIME")] = None,
    by: ByOption = None,
) -> None:
    """Create a schedule; exactly one of --cron, --every and --at says when it fires."""
    from backstay.cli.enqueue import read_arguments

    asked: dict[str, Any] = {
        "cron": cron,
        "every": every,
        "at": moment(at, option="--at"),
        "zone": zone,
        "args": read_arguments(kind, args, [], {}),
        "missed": missed,
        "overlap": overlap,
        "jitter": jitter,
        "max_runs": max_runs,
        "expires_at": moment(expires_at, option="--expires-at"),
    }
    one = session.run(lambda app: _create(app, name, kind, asked, actor(by)))
    session.tell(f"{name} fires first at {printing.exactly(one.next_fire_at)}", schedule=one)


async def _create(app: Backstay, name: str, kind: str, asked: Any, by: str) -> Schedule:
    timing: Timing = asked
    return await app.schedules.create(name, kind, by=by, **timing)


@schedules.command("next")
@command
def next_(session: Session, name: NameArgument, count: CountOption = 5, tenant: TenantOption = "") -> None:
    """Show when a schedule fires next."""
    coming = session.run(lambda app: app.schedules.next_fires(name, count, tenant=tenant))

    def view() -> None:
        for fire in coming:
            printing.line(printing.exactly(fire))
        if not coming:
            printing.line("It is paused or will not fire again.", style="dim")

    session.show({"next_fires": coming}, view)


@schedules.command("preview")
@command
def preview(
    session: Session,
    expression: Annotated[str, typer.Argument(metavar="EXPRESSION", help=_CRON, show_default=False)],
    zone: ZoneOption = "UTC",
    count: CountOption = 5,
) -> None:
    """Show when an expression would fire, without storing anything."""
    coming = session.run(lambda app: app.schedules.preview(expression, zone=zone, count=count))

    def view() -> None:
        for fire in coming:
            printing.line(printing.in_zone(fire, zone))

    session.show({"fires": coming}, view)


@schedules.command("pause")
@command
def pause(
    session: Session, name: NameArgument, reason: ReasonOption, by: ByOption = None, tenant: TenantOption = ""
) -> None:
    """Let a schedule fire no more until it is resumed; a deploy does not undo it."""
    session.run(lambda app: app.schedules.pause(name, reason=reason, by=actor(by), tenant=tenant))
    session.tell(f"{name} is paused: {reason}", schedule=name)


@schedules.command("resume")
@command
def resume(session: Session, name: NameArgument, by: ByOption = None, tenant: TenantOption = "") -> None:
    """Let a paused schedule fire again, from its next time on."""
    session.run(lambda app: app.schedules.resume(name, by=actor(by), tenant=tenant))
    session.tell(f"{name} fires again", schedule=name)


@schedules.command("set")
@command
def set_(
    session: Session,
    name: NameArgument,
    field: FieldArgument,
    value: ValueArgument,
    reason: ReasonOption,
    by: ByOption = None,
    tenant: TenantOption = "",
) -> None:
    """Change one field of a schedule; a deploy keeps it."""
    meant: Any = value
    if field in ("max_runs", "catch_up"):
        meant = int(value) if value.isdigit() else value
    elif field == "expires_at":
        meant = moment(value, option="expires_at")
    one = session.run(
        lambda app: app.schedules.set(name, field, meant, reason=reason, by=actor(by), tenant=tenant)
    )
    session.tell(f"{field} of {name} is {value} now: {reason}", schedule=one)


@schedules.command("reset")
@command
def reset(
    session: Session, name: NameArgument, field: FieldArgument, by: ByOption = None, tenant: TenantOption = ""
) -> None:
    """Let the declaration of a field count again."""
    one = session.run(lambda app: app.schedules.unset(name, field, by=actor(by), tenant=tenant))
    session.tell(f"{field} of {name} is as it was declared", schedule=one)


@schedules.command("run")
@command
def run(
    session: Session,
    name: NameArgument,
    reference_time: Annotated[
        str | None, typer.Option("--reference-time", metavar="TIME", help="What it takes for now.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Also for a reference time in the future.")] = False,
    by: ByOption = None,
    tenant: TenantOption = "",
) -> None:
    """Run a schedule now, apart from its own times."""
    then = moment(reference_time, option="--reference-time")
    job = session.run(
        lambda app: app.schedules.run_now(name, reference_time=then, force=force, by=actor(by), tenant=tenant)
    )
    if job is None:
        session.tell(f"{name} was skipped: an earlier run has not ended", schedule=name, job=None)
    else:
        session.tell(f"{name} runs now as job {job.id}", schedule=name, job=job.id)


@schedules.command("back-fill")
@command
def back_fill(
    session: Session,
    name: NameArgument,
    first: FromOption,
    last: ToOption,
    most: Annotated[int, typer.Option("--most", min=1, max=10_000, help="Refuse more than this.")] = 1000,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; otherwise only count.")] = False,
    by: ByOption = None,
    tenant: TenantOption = "",
) -> None:
    """Count the fires of a range that have not run, and with --yes make their jobs."""
    begin, end = moment(first, option="--from"), moment(last, option="--to")
    assert begin is not None
    assert end is not None

    async def work(app: Backstay) -> Any:
        if yes:
            return await app.schedules.back_fill(name, begin, end, most=most, by=actor(by), tenant=tenant)
        return await app.schedules.preview_back_fill(name, begin, end, most=most, tenant=tenant)

    found = session.run(work)
    done = f"{found.count:,} jobs are stored" if yes else f"{found.count:,} jobs would be stored, with --yes"
    session.tell(f"{done}; {found.already_fired:,} fires have run already", schedule=name, back_fill=found)


@schedules.command("history")
@command
def history(session: Session, name: NameArgument, count: CountOption = 20, tenant: TenantOption = "") -> None:
    """Show what became of a schedule's fires, newest first."""
    found = session.run(lambda app: app.schedules.history(name, limit=count, tenant=tenant))

    def view() -> None:
        rows = [
            (
                f"{one.fire_time:%Y-%m-%d %H:%M:%S}",
                one.trigger,
                one.word,
                "" if one.duration_ms is None else f"{one.duration_ms:,} ms",
                "" if one.items is None else f"{one.items:,}",
                one.reason or (one.error or {}).get("message", ""),
                str(one.job_id or ""),
            )
            for one in found
        ]
        printing.table(("fire", "trigger", "status", "took", "items", "why", "job"), rows, right=("items",))

    session.show({"history": found}, view)


@schedules.command("remove")
@command
def remove(
    session: Session, name: NameArgument, reason: ReasonOption, by: ByOption = None, tenant: TenantOption = ""
) -> None:
    """Remove a schedule and its history; one that code declares comes back with the next worker."""
    session.run(lambda app: app.schedules.remove(name, reason=reason, by=actor(by), tenant=tenant))
    session.tell(f"{name} is removed: {reason}", schedule=name)


def when(wanted: Definition) -> str:
    """A schedule's rule in a few words."""
    from backstay.model.text.durations import written

    if wanted.cron is not None:
        return wanted.cron if wanted.zone == "UTC" else f"{wanted.cron} ({wanted.zone})"
    return f"every {written(wanted.every)}" if wanted.every else f"once, {wanted.at:%Y-%m-%d %H:%M} UTC"


def _standing(one: Schedule) -> tuple[printing.Cell, ...]:
    state: printing.Cell = ""
    if one.is_paused:
        state = printing.plain(f"paused by {one.paused_by}: {one.pause_reason}", "yellow")
    elif not one.is_active:
        state = "disabled"
    elif one.is_exhausted:
        state = "exhausted"
    return printing.ago(one.next_fire_at) if one.is_active else "", f"{one.run_count:,}", state


def _describe(one: Schedule) -> None:
    wanted = one.definition
    printing.fields(
        [
            ("name", one.name),
            ("kind", wanted.job.kind),
            ("queue", wanted.job.queue),
            ("when", when(wanted)),
            ("missed", wanted.missed),
            ("overlap", wanted.overlap),
            ("runs", f"{one.run_count:,}" + (f" of {wanted.max_runs:,}" if wanted.max_runs else "")),
            ("missed fires", f"{one.missed_count:,}" if one.missed_count else None),
            ("last fire", printing.exactly(one.last_fire_at) or None),
            ("expires", printing.exactly(wanted.expires_at) or None),
            ("paused", f"by {one.paused_by}: {one.pause_reason}" if one.is_paused else None),
            (
                "declared",
                f"in code, by {one.declared_by}" if one.source == "code" else f"by {one.declared_by}",
            ),
        ]
    )
