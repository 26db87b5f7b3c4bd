"""`backstay workers`: who works, and on what."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.acting import ByOption, ReasonOption, actor
from backstay.cli.defaults import with_default
from backstay.cli.options import command
from backstay.cli.session import Session
from backstay.client.doctor.text import listed, spoken

if TYPE_CHECKING:
    from backstay.model.records import WorkerRecord

HEADINGS = (
    "id",
    "type",
    "state",
    "busy",
    "done",
    "cpu",
    "memory",
    "lag",
    "host",
    "pid",
    "version",
    "queues",
    "kinds",
    "up for",
    "heard of",
)
RIGHT = ("busy", "done", "cpu", "memory", "lag", "pid")
SLOW_LOOP_MS = 1000
ZERO = timedelta(0)


workers = typer.Typer(
    cls=with_default("list", nothing="list"), help="List workers ('backstay workers'), drain one or stop it."
)

WorkerArgument = Annotated[str, typer.Argument(metavar="WORKER", help="The worker's id.", show_default=False)]


@workers.command("list")
@command
def list_workers(
    session: Session, limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 50
) -> None:
    """List workers, the living first."""
    found = session.run(lambda app: app.workers.all(limit=limit))

    def view() -> None:
        if found:
            printing.table(HEADINGS, [_row(worker) for worker in found], right=RIGHT)
        else:
            printing.line("No workers: start one with 'backstay worker module:app'.", style="dim")

    session.show({"workers": [_document(worker) for worker in found]}, view)


@workers.command()
@command
def drain(session: Session, worker: WorkerArgument, reason: ReasonOption, by: ByOption = None) -> None:
    """Let a worker finish what it has and claim no more; it stays."""
    session.run(lambda app: app.workers.drain(worker, reason=reason, by=actor(by)))
    session.tell(f"worker {worker} claims no more: {reason}", worker=worker)


@workers.command()
@command
def resume(session: Session, worker: WorkerArgument, by: ByOption = None) -> None:
    """Let a worker that was told to drain claim again."""
    session.run(lambda app: app.workers.resume(worker, by=actor(by)))
    session.tell(f"worker {worker} claims again", worker=worker)


@workers.command()
@command
def stop(session: Session, worker: WorkerArgument, reason: ReasonOption, by: ByOption = None) -> None:
    """Let a worker finish what it has and leave."""
    session.run(lambda app: app.workers.stop(worker, reason=reason, by=actor(by)))
    session.tell(f"worker {worker} leaves when its jobs are done: {reason}", worker=worker)


def _row(worker: WorkerRecord) -> tuple[printing.Cell, ...]:
    return (
        worker.id,
        worker.type,
        _state(worker),
        f"{worker.running}/{worker.concurrency}",
        str(worker.settled),
        "" if worker.cpu_percent is None else f"{worker.cpu_percent:.0f} %",
        "" if worker.rss_mb is None else f"{worker.rss_mb} MB",
        _lag(worker.loop_lag_ms),
        worker.host,
        str(worker.pid),
        worker.version,
        listed(worker.queues, most=3),
        listed(worker.kinds, most=3),
        spoken(
            worker.heartbeat_at - worker.started_at + (worker.silent_for if worker.state == "alive" else ZERO)
        ),
        f"{spoken(worker.silent_for)} ago",
    )


def _state(worker: WorkerRecord) -> printing.Cell:
    from backstay.client.doctor.diagnosis import is_living

    if worker.state != "alive":
        return printing.plain(worker.state, "dim")
    if not is_living(worker):
        return printing.plain("silent", "bold red")
    if worker.told == "drain":
        return printing.plain("draining", "yellow")
    if worker.tainted:
        return printing.plain(f"tainted ({worker.tainted})", "yellow")
    return printing.plain("alive", "green")


def _lag(milliseconds: int | None) -> printing.Cell:
    if milliseconds is None:
        return ""
    return printing.plain(f"{milliseconds} ms", "bold red" if milliseconds > SLOW_LOOP_MS else "")


def _document(worker: WorkerRecord) -> dict[str, object]:
    from dataclasses import asdict

    facts = asdict(worker)
    return {**facts, "silent_for": facts.pop("silent_for").total_seconds()}
