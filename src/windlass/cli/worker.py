"""`windlass worker`: claim and run jobs until told to stop."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windlass.cli import printing
from windlass.cli.db import migrated
from windlass.cli.session import Session, command
from windlass.cli.supervise import NO_WISHES, STOPPING, Wishes, supervise, worker_command
from windlass.client.wording import counted, listed

if TYPE_CHECKING:
    from windlass.app import Windlass
    from windlass.worker.worker import Worker

ApplicationArgument = Annotated[
    str,
    typer.Argument(metavar="MODULE:APP", help="The application, as in shop.jobs:app.", show_default=False),
]
QueuesOption = Annotated[
    str | None,
    typer.Option("--queues", metavar="A,B", help="Only these queues; otherwise those of its kinds."),
]
KindsOption = Annotated[
    str | None, typer.Option("--kinds", metavar="A,B", help="Only these kinds; otherwise all.")
]
ConcurrencyOption = Annotated[
    int | None, typer.Option("--concurrency", min=1, help="How many jobs at a time.", show_default=False)
]
GraceOption = Annotated[
    str | None,
    typer.Option(
        "--shutdown-grace", metavar="LENGTH", help="How long running jobs may go on after a signal."
    ),
]
WorkerIdOption = Annotated[
    str | None, typer.Option("--worker-id", metavar="TEMPLATE", help="Name, as in 'mail-${HOSTNAME}'.")
]


class LogFormat(StrEnum):
    """How log lines look."""

    JSON = "json"
    CONSOLE = "console"


class LogLevel(StrEnum):
    """The quietest events that are still logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


LogOption = Annotated[
    LogFormat | None,
    typer.Option(
        "--log", help="How log lines look; console on a terminal, otherwise json.", show_default=False
    ),
]
LogLevelOption = Annotated[
    LogLevel | None,
    typer.Option(
        "--log-level", help="The quietest events that are logged; otherwise info.", show_default=False
    ),
]
WorkerTypeOption = Annotated[
    str, typer.Option("--worker-type", metavar="NAME", help="What sort of worker it is, to tell it by.")
]
ProcessesOption = Annotated[
    int | None,
    typer.Option(
        "--processes",
        min=1,
        help="Keep so many worker processes running, under a supervisor.",
        show_default=False,
    ),
]
MaxJobsOption = Annotated[
    int | None,
    typer.Option("--max-jobs", min=1, help="Replace a process after so many jobs.", show_default=False),
]
MaxMemoryOption = Annotated[
    str | None,
    typer.Option("--max-memory", metavar="SIZE", help="Replace a process that uses more, as in 512MB."),
]
HealthOption = Annotated[
    Path | None,
    typer.Option("--health", metavar="FOLDER", help="Keep the files 'live' and 'ready' there, for probes."),
]
MigrateOption = Annotated[bool, typer.Option("--migrate", help="Bring the tables up to date first.")]
SupervisedOption = Annotated[
    str | None, typer.Option("--supervised", help="How a supervisor starts its processes.", hidden=True)
]


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What was chosen for a worker, whichever process it runs in."""

    queues: str | None
    kinds: str | None
    concurrency: int | None
    worker_id: str | None
    worker_type: str
    shutdown_grace: str | None
    max_jobs: int | None
    max_memory: str | None
    log: LogFormat
    log_level: LogLevel
    migrate: bool

    def command(self, session: Session, application: str) -> list[str]:
        """What starts such a worker in a process of its own."""
        options = {f"--{name.replace('_', '-')}": value for name, value in asdict(self).items()}
        options |= {"--url": session.url, "--json": session.as_json, "--debug": session.debug}
        return worker_command(application, options)


@command
def worker(
    session: Session,
    application: ApplicationArgument,
    queues: QueuesOption = None,
    kinds: KindsOption = None,
    concurrency: ConcurrencyOption = None,
    worker_id: WorkerIdOption = None,
    worker_type: WorkerTypeOption = "general",
    shutdown_grace: GraceOption = None,
    processes: ProcessesOption = None,
    max_jobs: MaxJobsOption = None,
    max_memory: MaxMemoryOption = None,
    health: HealthOption = None,
    log: LogOption = None,
    log_level: LogLevelOption = None,
    migrate: MigrateOption = False,
    supervised: SupervisedOption = None,
) -> None:
    """Claim and run jobs; SIGTERM or Ctrl-C stops gracefully, a second one at once."""
    settings = session.settings()
    chosen = Chosen(
        queues=queues,
        kinds=kinds,
        concurrency=concurrency,
        worker_id=worker_id,
        worker_type=worker_type,
        shutdown_grace=shutdown_grace,
        max_jobs=max_jobs,
        max_memory=max_memory,
        log=log or (LogFormat(settings.log) if settings.log else _usual_format()),
        log_level=log_level or LogLevel(settings.log_level),
        migrate=migrate,
    )
    _send_logs(session, chosen, _number(supervised))
    wishes = Wishes(processes=processes, max_jobs=max_jobs, max_memory=max_memory, health=health)
    if supervised is None and wishes != NO_WISHES:
        raise typer.Exit(supervise(chosen.command(session, application), wishes))
    _work(session, application, chosen, supervised)


def _work(session: Session, application: str, chosen: Chosen, supervised: str | None) -> None:
    from windlass.worker.tether import Tether

    # Before the application is imported, which may take long: its starter may be gone by then.
    tether = Tether(int(supervised.partition(":")[0])) if supervised else None
    app = session.application(application)
    made = app.worker(
        queues=names(chosen.queues),
        kinds=names(chosen.kinds),
        concurrency=chosen.concurrency,
        worker_id=chosen.worker_id,
        worker_type=chosen.worker_type,
        shutdown_grace=chosen.shutdown_grace,
        process_max_jobs=chosen.max_jobs,
        process_max_memory=chosen.max_memory,
    )
    _stop_on_signals(made, is_told=_number(supervised) is None)
    if chosen.migrate:
        session.run(migrated, app=app)
    _introduce(made, app, chosen, is_document=session.as_json)
    if tether is not None:
        tether.hold(made, app.url)

    async def run_and_leave() -> None:
        await made.run()
        if made.running:
            # A handler that will not end would keep the event loop, and so the process, for ever.
            await app.close()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    collect_less_often()
    session.run(lambda _: run_and_leave(), app=app)


def _number(supervised: str | None) -> int | None:
    """Which of a supervisor's processes this is, None if it is no supervisor that started it."""
    number = (supervised or "").partition(":")[2]
    return int(number) if number else None


def collect_less_often() -> None:
    """Let the garbage collector forget what is there now and look at new objects in larger numbers.

    Jobs pass through a worker by the thousand and free themselves; with Python's own numbers the search for cycles
    among them takes a fifth of the worker's time. Only for a process that is a worker and nothing else.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def names(text: str | None) -> tuple[str, ...] | None:
    """The names in a list with commas."""
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _usual_format() -> LogFormat:
    return LogFormat.CONSOLE if sys.stdout.isatty() else LogFormat.JSON


def _send_logs(session: Session, chosen: Chosen, number: int | None) -> None:
    from windlass import logs

    logs.configure(
        json=session.as_json or chosen.log is LogFormat.JSON,
        level=logging.getLevelNamesMapping()[chosen.log_level.upper()],
        fields={} if number is None else {"process_number": number},
    )
    if session.as_json:
        for handler in logging.getLogger("windlass").handlers:
            if isinstance(handler, logging.StreamHandler):
                handler.setStream(sys.stderr)


def _stop_on_signals(worker: Worker, *, is_told: bool) -> None:
    """Stop gracefully at the first signal, at once at the second.

    Not through the event loop: a handler that blocks it would keep the signal from being heard.
    """
    received: list[int] = []

    def on_signal(number: int, _: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            os._exit(128 + number)
        if is_told:
            os.write(2, STOPPING)
        worker.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)


def _introduce(worker: Worker, app: Windlass, chosen: Chosen, *, is_document: bool) -> None:
    from windlass.logs import log_event
    from windlass.settings import hide_password

    queues, kinds = names(chosen.queues) or app.settings.queues, names(chosen.kinds) or app.settings.kinds
    handled = [spec for spec in app.registry.handled() if kinds is None or spec.kind in kinds]
    facts: dict[str, Any] = {
        "worker": worker.id,
        "database": hide_password(app.url),
        "kinds": sorted(spec.kind for spec in handled),
        "queues": sorted(queues if queues is not None else {spec.queue for spec in handled}),
        "concurrency": worker.slots[0],
    }
    if is_document:
        printing.json_line({"message": "worker.starting", **facts})
    elif chosen.log is LogFormat.JSON:
        log_event("worker.starting", **facts)
    else:
        printing.line(
            f"Worker {facts['worker']} on {facts['database']}: {counted(len(handled), 'kind')} "
            f"({listed(facts['kinds'])}) from {listed(facts['queues'])}, {facts['concurrency']} at a time."
        )
    own = {spec.queue for spec in handled}
    for queue in set(queues or ()) - own:
        printing.note(f"No kind here has the queue {queue!r} as its own (they have {listed(own)}).")
