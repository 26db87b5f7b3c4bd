"""`windlass queues`, `pause` and `resume`: what waits where, and what is not claimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from windlass.cli import printing
from windlass.cli.acting import ByOption, ReasonOption, actor
from windlass.cli.session import Session, command
from windlass.states import State

if TYPE_CHECKING:
    from windlass.app import Windlass
    from windlass.records import Pause, QueueCount, WorkerRecord

SHOWN = (State.AVAILABLE, State.RUNNING, State.SCHEDULED, State.HELD, State.DEAD, State.COMPLETED)
QueueArgument = Annotated[str | None, typer.Argument(metavar="QUEUE", show_default=False)]
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

    async def look(app: Windlass) -> tuple[list[QueueCount], list[Pause], list[WorkerRecord]]:
        return await app.jobs.counts(), await app.queues.pauses(), await app.workers.all()

    counts, pauses, workers = session.run(look)
    seen = _by_queue(counts, pauses, workers)
    paused_kinds = [pause for pause in pauses if pause.kind]

    def view() -> None:
        if not seen:
            printing.line("No queues: no job was ever enqueued here.", style="dim")
        else:
            headings = ("queue", *SHOWN, "oldest waiting", "workers", "paused")
            printing.table(headings, [_row(one) for one in seen], right=(*SHOWN, "workers"))
        for pause in paused_kinds:
            printing.line(f"Kind {pause.kind} is paused by {pause.paused_by}: {pause.reason}", style="yellow")

    session.show({"queues": seen, "paused_kinds": paused_kinds}, view)


@command
def pause(
    session: Session,
    reason: ReasonOption,
    queue: QueueArgument = None,
    kind: KindOption = None,
    by: ByOption = None,
) -> None:
    """Stop claims of a queue or a kind; what runs finishes, and nothing waiting is lost."""
    _one_of(queue, kind)
    session.run(lambda app: app.queues.pause(queue, kind=kind, reason=reason, by=actor(by)))
    session.tell(f"{_what(queue, kind)} is paused: {reason}", queue=queue, kind=kind)


@command
def resume(
    session: Session, queue: QueueArgument = None, kind: KindOption = None, by: ByOption = None
) -> None:
    """Let a queue or a kind be claimed again."""
    _one_of(queue, kind)
    was_paused = session.run(lambda app: app.queues.resume(queue, kind=kind, by=actor(by)))
    done = "is claimed again" if was_paused else "was not paused"
    session.tell(f"{_what(queue, kind)} {done}", queue=queue, kind=kind, was_paused=was_paused)


def _one_of(queue: str | None, kind: str | None) -> None:
    if (queue is None) == (kind is None):
        raise typer.BadParameter("name either a queue or, with --kind, a kind")


def _what(queue: str | None, kind: str | None) -> str:
    return f"queue {queue}" if queue else f"kind {kind}"


def _by_queue(
    counts: Sequence[QueueCount], pauses: Sequence[Pause], workers: Sequence[WorkerRecord]
) -> list[QueueView]:
    from windlass.client.diagnosis import is_living

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
