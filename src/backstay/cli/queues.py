"""`backstay queues`, `pause` and `resume`: what waits where, and what is not claimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.acting import ByOption, ReasonOption, actor, moment
from backstay.cli.options import command
from backstay.cli.session import Session
from backstay.model.states import State

if TYPE_CHECKING:
    from backstay.app import Backstay
    from backstay.model.pauses import Pause
    from backstay.model.records import QueueCount, WorkerRecord

SHOWN = (State.AVAILABLE, State.RUNNING, State.SCHEDULED, State.HELD, State.DEAD, State.COMPLETED)
QueueArgument = Annotated[str | None, typer.Argument(metavar="QUEUE", show_default=False)]
TenantOption = Annotated[
    str | None, typer.Option("--tenant", metavar="TENANT", help="A tenant instead of a queue.")
]
KindOption = Annotated[str | None, typer.Option("--kind", metavar="KIND", help="A kind instead of a queue.")]


@dataclass
class QueueView:
    """One queue as it is shown."""

    queue: str
    jobs: dict[State, int] = field(default_factory=dict)
    oldest_waiting: datetime | None = None
    workers: int = 0
    paused_by: str | None = None
    paused_because: str | None = None


@command
def queues(session: Session) -> None:
    """Show every queue: how many jobs in which state, the oldest that waits, and whether it is paused."""

    async def look(app: Backstay) -> tuple[list[QueueCount], list[Pause], list[WorkerRecord]]:
        return await app.jobs.counts(), await app.queues.pauses(), await app.workers.all()

    counts, pauses, workers = session.run(look)
    seen = _by_queue(counts, pauses, workers)
    paused_kinds = [pause for pause in pauses if pause.kind]
    paused_tenants = [pause for pause in pauses if pause.tenant]

    def view() -> None:
        if not seen:
            printing.line("No queues: no job was ever enqueued here.", style="dim")
        else:
            headings = ("queue", *SHOWN, "oldest waiting", "workers", "paused")
            printing.table(headings, [_row(one) for one in seen], right=(*SHOWN, "workers"))
        for pause in (*paused_kinds, *paused_tenants):
            what = f"Kind {pause.kind}" if pause.kind else f"Tenant {pause.tenant}"
            printing.line(f"{what} is paused by {pause.paused_by}: {pause.reason}", style="yellow")

    shown = {"queues": seen, "paused_kinds": paused_kinds, "paused_tenants": paused_tenants}
    session.show(shown, view)


@command
def pause(
    session: Session,
    reason: ReasonOption,
    queue: QueueArgument = None,
    kind: KindOption = None,
    tenant: TenantOption = None,
    lasts: Annotated[
        str | None, typer.Option("--for", metavar="LENGTH", help="Go on by itself after this long: 30m, 2h.")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TIME", help="Go on by itself then: 2030-05-17T12:00:00Z."),
    ] = None,
    by: ByOption = None,
) -> None:
    """Stop claims of a queue or a kind, or hold a tenant's jobs; what runs finishes, and nothing waiting is lost."""
    _one_of(queue, kind, tenant)
    if lasts is not None and until is not None:
        raise typer.BadParameter("give either --for or --until")
    end = moment(until, option="--until") or lasts
    session.run(
        lambda app: app.queues.pause(queue, kind=kind, tenant=tenant, reason=reason, until=end, by=actor(by))
    )
    session.tell(f"{_what(queue, kind, tenant)} is paused: {reason}", queue=queue, kind=kind, tenant=tenant)


@command
def resume(
    session: Session,
    queue: QueueArgument = None,
    kind: KindOption = None,
    tenant: TenantOption = None,
    by: ByOption = None,
) -> None:
    """Let a queue, a kind or a tenant go on."""
    _one_of(queue, kind, tenant)
    was_paused = session.run(lambda app: app.queues.resume(queue, kind=kind, tenant=tenant, by=actor(by)))
    done = "goes on" if was_paused else "was not paused"
    told = {"queue": queue, "kind": kind, "tenant": tenant, "was_paused": was_paused}
    session.tell(f"{_what(queue, kind, tenant)} {done}", **told)


def _one_of(queue: str | None, kind: str | None, tenant: str | None) -> None:
    if [queue, kind, tenant].count(None) != 2:
        raise typer.BadParameter("name either a queue or, with --kind or --tenant, a kind or a tenant")


def _what(queue: str | None, kind: str | None, tenant: str | None) -> str:
    return f"queue {queue}" if queue else f"kind {kind}" if kind else f"tenant {tenant}"


def _by_queue(
    counts: Sequence[QueueCount], pauses: Sequence[Pause], workers: Sequence[WorkerRecord]
) -> list[QueueView]:
    from backstay.client.doctor.diagnosis import is_living

    seen: dict[str, QueueView] = {}
    for count in counts:
        one = seen.setdefault(count.queue, QueueView(count.queue))
        one.jobs[count.state] = one.jobs.get(count.state, 0) + count.jobs
        if count.state is State.AVAILABLE and count.oldest_run_at:
            one.oldest_waiting = min(one.oldest_waiting or count.oldest_run_at, count.oldest_run_at)
    for worker in filter(is_living, workers):
        for queue in worker.queues:
            seen.setdefault(queue, QueueView(queue)).workers += 1
    for pause in pauses:
        if pause.queue:
            one = seen.setdefault(pause.queue, QueueView(pause.queue))
            one.paused_by, one.paused_because = pause.paused_by, pause.reason
    return [seen[queue] for queue in sorted(seen)]


def _row(one: QueueView) -> tuple[printing.Cell, ...]:
    numbers = [
        printing.plain(f"{one.jobs[state]:,}", printing.STATE_STYLES[state]) if state in one.jobs else ""
        for state in SHOWN
    ]
    is_left_alone = State.AVAILABLE in one.jobs and not one.workers
    workers = printing.plain("none", "bold red") if is_left_alone else str(one.workers)
    paused = printing.plain(f"{one.paused_by}: {one.paused_because}", "yellow") if one.paused_by else ""
    return (one.queue, *numbers, printing.ago(one.oldest_waiting), workers, paused)
