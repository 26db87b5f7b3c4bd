"""Which commands there are."""

from __future__ import annotations

from typing import Annotated

import typer

from windlass.cli import (
    config,
    db,
    dead,
    dev,
    doctor,
    enqueue,
    flows,
    job,
    jobs,
    limits,
    locks,
    overrides,
    queues,
    quotas,
    schedules,
    signal,
    worker,
    workers,
)
from windlass.cli.options import AppOption, DebugOption, JsonOption, UrlOption
from windlass.cli.session import Shared
from windlass.version import VERSION

windlass = typer.Typer(
    name="windlass",
    help="Durable background jobs on SQLite or PostgreSQL.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

RUN, LOOK, ACT, CARE = "Run", "Look", "Act", "Care"

windlass.command("worker", rich_help_panel=RUN)(worker.worker)
windlass.command("dev", rich_help_panel=RUN)(dev.dev)
windlass.command("enqueue", rich_help_panel=RUN)(enqueue.enqueue)
windlass.command("jobs", rich_help_panel=LOOK)(jobs.jobs)
windlass.add_typer(job.job, name="job", rich_help_panel=LOOK)
windlass.add_typer(dead.dead, name="dead", rich_help_panel=LOOK)
windlass.add_typer(flows.flows, name="flows", rich_help_panel=LOOK)
windlass.add_typer(schedules.schedules, name="schedules", rich_help_panel=LOOK)
windlass.add_typer(locks.locks, name="locks", rich_help_panel=LOOK)
windlass.command("queues", rich_help_panel=LOOK)(queues.queues)
windlass.command("workers", rich_help_panel=LOOK)(workers.workers)
windlass.command("pause", rich_help_panel=ACT)(queues.pause)
windlass.command("resume", rich_help_panel=ACT)(queues.resume)
windlass.add_typer(limits.limits, name="limits", rich_help_panel=ACT)
windlass.command("signal", rich_help_panel=ACT)(signal.signal)
windlass.add_typer(quotas.quotas, name="quotas", rich_help_panel=ACT)
windlass.add_typer(overrides.overrides, name="overrides", rich_help_panel=ACT)
windlass.command("doctor", rich_help_panel=CARE)(doctor.doctor)
windlass.command("config", rich_help_panel=CARE)(config.config)
windlass.add_typer(db.db, name="db", rich_help_panel=CARE)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"windlass {VERSION}")
        raise typer.Exit


@windlass.callback()
def _before_every_command(
    context: typer.Context,
    url: UrlOption = None,
    app: AppOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    context.obj = Shared(url=url, app=app, as_json=as_json, debug=debug)
