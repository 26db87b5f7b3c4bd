"""`windlass worker`: claim and run jobs until told to stop."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from enum import StrEnum
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windlass.cli import printing
from windlass.cli.session import Session, command
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


@command
def worker(
    session: Session,
    application: ApplicationArgument,
    queues: QueuesOption = None,
    kinds: KindsOption = None,
    concurrency: ConcurrencyOption = None,
    worker_id: WorkerIdOption = None,
    worker_type: Annotated[
        str, typer.Option("--worker-type", metavar="NAME", help="What sort of worker it is, to tell it by.")
    ] = "general",
    shutdown_grace: GraceOption = None,
    log: LogOption = None,
    log_level: LogLevelOption = None,
    migrate: Annotated[bool, typer.Option("--migrate", help="Bring the tables up to date first.")] = False,
) -> None:
    """Claim and run jobs; SIGTERM or Ctrl-C stops gracefully, a second one at once."""
    settings = session.settings()
    format_ = log or (LogFormat(settings.log) if settings.log else _usual_format())
    as_json = session.as_json or format_ is LogFormat.JSON
    level = log_level or LogLevel(settings.log_level)
    _send_logs(as_json=as_json, level=level, only_to_stderr=session.as_json)
    app = session.application(application)
    made = app.worker(
        queues=names(queues),
        kinds=names(kinds),
        concurrency=concurrency,
        worker_id=worker_id,
        worker_type=worker_type,
        shutdown_grace=shutdown_grace,
    )
    _stop_on_signals(made)
    if migrate:
        session.run(lambda app: app.connections.migrate(), app=app)
    _introduce(
        made,
        app,
        names(queues) or app.settings.queues,
        names(kinds) or app.settings.kinds,
        concurrency,
        as_json=as_json,
    )
    collect_less_often()
    session.run(lambda _: made.run(), app=app)


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


def _send_logs(*, as_json: bool, level: LogLevel, only_to_stderr: bool) -> None:
    from windlass import logs

    logs.configure(json=as_json, level=logging.getLevelNamesMapping()[level.upper()])
    if only_to_stderr:
        for handler in logging.getLogger("windlass").handlers:
            if isinstance(handler, logging.StreamHandler):
                handler.setStream(sys.stderr)


def _stop_on_signals(worker: Worker) -> None:
    """Stop gracefully at the first signal, at once at the second.

    Not through the event loop: a handler that blocks it would keep the signal from being heard.
    """
    received: list[int] = []

    def on_signal(number: int, _: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            os._exit(128 + number)
        os.write(2, b"Stopping: running jobs may finish; a second signal stops at once.\n")
        worker.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)


def _introduce(
    worker: Worker,
    app: Windlass,
    queues: Sequence[str] | None,
    kinds: Sequence[str] | None,
    concurrency: int | None,
    *,
    as_json: bool,
) -> None:
    from windlass.policy import resolve
    from windlass.settings import hide_password

    handled = [spec for spec in app.registry.handled() if kinds is None or spec.kind in kinds]
    facts: dict[str, Any] = {
        "worker": worker.id,
        "database": hide_password(app.url),
        "kinds": sorted(spec.kind for spec in handled),
        "queues": sorted(queues if queues is not None else {spec.queue for spec in handled}),
        "concurrency": concurrency or resolve(app.settings.policy, *app.profile.layers("")).concurrency,
    }
    if as_json:
        printing.json_line({"message": "worker.starting", **facts})
    else:
        printing.line(
            f"Worker {facts['worker']} on {facts['database']}: {counted(len(handled), 'kind')} "
            f"({listed(facts['kinds'])}) from {listed(facts['queues'])}, {facts['concurrency']} at a time."
        )
    own = {spec.queue for spec in handled}
    for queue in set(queues or ()) - own:
        printing.note(f"No kind here has the queue {queue!r} as its own (they have {listed(own)}).")
