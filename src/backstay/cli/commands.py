"""Which commands there are."""

from __future__ import annotations

from typing import Annotated

import typer

from backstay.cli import (
    alerts,
    archive,
    audit,
    config,
    dashboard,
    db,
    dead,
    dev,
    doctor,
    enqueue,
    failures,
    flows,
    health,
    job,
    jobs,
    keys,
    limits,
    locks,
    operations,
    overrides,
    plan,
    queues,
    quotas,
    redis,
    schedules,
    signal,
    top,
    webhooks,
    worker,
    workers,
)
from backstay.cli.options import AppOption, DebugOption, JsonOption, UrlOption
from backstay.cli.session import Shared
from backstay.settings.version import __version__

backstay = typer.Typer(
    name="backstay",
    help="Durable background jobs on SQLite or PostgreSQL.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

RUN, LOOK, ACT, CARE = "Run", "Look", "Act", "Care"

backstay.command("worker", rich_help_panel=RUN)(worker.worker)
backstay.command("dev", rich_help_panel=RUN)(dev.dev)
backstay.command("dashboard", rich_help_panel=RUN)(dashboard.dashboard)
backstay.command("enqueue", rich_help_panel=RUN)(enqueue.enqueue)
backstay.command("jobs", rich_help_panel=LOOK)(jobs.jobs)
backstay.add_typer(job.job, name="job", rich_help_panel=LOOK)
backstay.add_typer(dead.dead, name="dead", rich_help_panel=LOOK)
backstay.add_typer(failures.failures, name="failures", rich_help_panel=LOOK)
backstay.add_typer(flows.flows, name="flows", rich_help_panel=LOOK)
backstay.add_typer(schedules.schedules, name="schedules", rich_help_panel=LOOK)
backstay.add_typer(locks.locks, name="locks", rich_help_panel=LOOK)
backstay.command("top", rich_help_panel=LOOK)(top.top)
backstay.command("queues", rich_help_panel=LOOK)(queues.queues)
backstay.add_typer(workers.workers, name="workers", rich_help_panel=LOOK)
backstay.command("pause", rich_help_panel=ACT)(queues.pause)
backstay.command("resume", rich_help_panel=ACT)(queues.resume)
backstay.add_typer(limits.limits, name="limits", rich_help_panel=ACT)
backstay.add_typer(operations.operations, name="operations", rich_help_panel=ACT)
backstay.command("signal", rich_help_panel=ACT)(signal.signal)
backstay.add_typer(quotas.quotas, name="quotas", rich_help_panel=ACT)
backstay.add_typer(overrides.overrides, name="overrides", rich_help_panel=ACT)
backstay.add_typer(alerts.alerts, name="alerts", rich_help_panel=CARE)
backstay.add_typer(archive.archive, name="archive", rich_help_panel=CARE)
backstay.add_typer(audit.audit, name="audit", rich_help_panel=CARE)
backstay.add_typer(keys.keys, name="keys", rich_help_panel=CARE)
backstay.add_typer(webhooks.webhooks, name="webhooks", rich_help_panel=CARE)
backstay.command("doctor", rich_help_panel=CARE)(doctor.doctor)
backstay.command("health", rich_help_panel=CARE)(health.health)
backstay.command("plan", rich_help_panel=CARE)(plan.plan)
backstay.command("config", rich_help_panel=CARE)(config.config)
backstay.add_typer(db.db, name="db", rich_help_panel=CARE)
backstay.add_typer(redis.redis, name="redis", rich_help_panel=CARE)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"backstay {__version__}")
        raise typer.Exit


@backstay.callback()
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
