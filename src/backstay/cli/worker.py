"""`backstay worker`: claim and run jobs until told to stop."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from backstay.cli.options import command
from backstay.cli.session import Session
from backstay.cli.supervise import DEFAULT_OPTIONS, SuperviseOptions, supervise
from backstay.cli.working import Chosen, LogFormat, LogLevel, become

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
        help="Keep this many worker processes running, under a supervisor.",
        show_default=False,
    ),
]
MaxJobsOption = Annotated[
    int | None,
    typer.Option("--max-jobs", min=1, help="Replace a process after this many jobs.", show_default=False),
]
MaxMemoryOption = Annotated[
    str | None,
    typer.Option("--max-memory", metavar="SIZE", help="Replace a process that uses more, as in 512MB."),
]
HealthOption = Annotated[
    Path | None,
    typer.Option("--health", metavar="FOLDER", help="Keep the files 'live' and 'ready' there, for probes."),
]
UntilEmptyOption = Annotated[
    bool, typer.Option("--until-empty", help="Leave when nothing that could run now is left.")
]
MigrateOption = Annotated[bool, typer.Option("--migrate", help="Bring the tables up to date first.")]


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
    until_empty: UntilEmptyOption = False,
) -> None:
    """Claim and run jobs; SIGTERM or Ctrl-C stops gracefully, a second one at once."""
    settings = session.settings()
    chosen = Chosen(
        application=application,
        **_given(session),
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
        until_empty=until_empty,
    )
    options = SuperviseOptions(processes=processes, max_jobs=max_jobs, max_memory=max_memory, health=health)
    if options == DEFAULT_OPTIONS:
        become(chosen)
    raise typer.Exit(supervise(chosen, options))


def _given(session: Session) -> dict[str, Any]:
    return {"url": session.url, "as_json": session.as_json, "debug": session.debug}


def _usual_format() -> LogFormat:
    return LogFormat.CONSOLE if sys.stdout.isatty() else LogFormat.JSON
