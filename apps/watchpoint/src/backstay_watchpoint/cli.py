"""The command line: `backstay-watchpoint COMMAND`; every command that shows something can do so as JSON."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

# What connects to something is imported by the commands that need it: `--help` must not take seconds.
from backstay_watchpoint.domain.catalogue import BadReferenceTime, UnknownTask, tasks_ticking
from backstay_watchpoint.domain.fires import fires
from backstay_watchpoint.domain.polling import LONGEST_LOOK_HOURS
from backstay_watchpoint.printing import show, show_rows
from backstay_watchpoint.settings import BadSetting, Settings

if TYPE_CHECKING:
    from backstay_watchpoint.jobs import Jobs

T = TypeVar("T")

main = typer.Typer(
    help="Everything that must happen by the clock on a weather-alert platform.", no_args_is_help=True
)
candidates_app = typer.Typer(help="Calibration changes that wait for a person.", invoke_without_command=True)
main.add_typer(candidates_app, name="candidates")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TaskName = Annotated[str, typer.Argument(help="A task, as `tasks` lists them.")]
Most = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most this many.")]


class Refused(Exception):
    """A command that cannot be carried out; the message says why."""


@main.command()
def migrate(as_json: AsJson = False) -> None:
    """Bring the tables of the jobs and of the platform up to this release."""

    async def do(jobs: Jobs) -> list[str]:
        return await jobs.platform.app.migrate()

    applied = _with_jobs(do)
    show({"applied": applied}, as_json, f"{len(applied)} migrations applied")


@main.command()
def serve(
    port: Annotated[int, typer.Option(help="The port.")] = 8810,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
) -> None:
    """Serve the tenants' API, events, callbacks and the operations pages."""
    import uvicorn

    from backstay_watchpoint.jobs import build
    from backstay_watchpoint.web.server import build_server

    settings = _settings()
    if len(settings.secret) < 32:
        _fail("WATCHPOINT_SECRET must have at least 32 characters: it signs the sessions")
    uvicorn.run(build_server(build(settings)), host=host, port=port, log_level="warning")


@main.command()
def consume() -> None:
    """Turn messages of the queues into mails until the process is told to stop."""
    from backstay_watchpoint.consumer import Consumer

    async def do(jobs: Jobs) -> None:
        consumer = Consumer(jobs)
        _stop_on_signal(consumer.stopping)
        await consumer.run()

    _with_jobs(do)


@main.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def demo(ctx: typer.Context) -> None:
    """Show yesterday in a minute: all fires of a day, with failures, and the same day again."""
    from backstay_watchpoint.demo.story import main as run_story

    raise typer.Exit(run_story(ctx.args))


@main.command()
def seed(
    organizations: Annotated[int, typer.Option(min=1, max=10_000, help="How many organisations.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Fill an empty database with organisations and watchpoints to look at."""
    from backstay_watchpoint.demo.seed import has_tenants, seed_tenants

    async def do(jobs: Jobs) -> dict[str, Any]:
        if await has_tenants(jobs.platform.database):
            raise Refused("the database has organisations: seed an empty one, and never that of your tenants")
        return await seed_tenants(jobs.platform.database, jobs.platform.clock(), number=organizations)

    made = _with_jobs(do)
    show(made, as_json, ", ".join(f"{count} {name}" for name, count in made.items()))


@main.command("organizations")
def list_organizations(limit: Most = 50, as_json: AsJson = False) -> None:
    """List organisations with their plans."""
    from sqlalchemy import select

    from backstay_watchpoint.store.tables import organizations as table

    async def do(jobs: Jobs) -> list[dict[str, Any]]:
        columns = (
            table.c.id,
            table.c.name,
            table.c.plan,
            table.c.subscription_status,
            table.c.next_digest_at,
        )
        async with jobs.platform.database.transaction() as transaction:
            found = await transaction.execute(select(*columns).order_by(table.c.name).limit(limit))
            return [dict(row) for row in found.mappings()]

    show_rows(_with_jobs(do), as_json)


@main.command()
def tasks(as_json: AsJson = False) -> None:
    """List the tasks with their schedules, flows and next fires."""
    now = datetime.now(UTC)
    rows = []
    for task in tasks_ticking(_settings().digest_tick):
        upcoming = fires(task, now, now + timedelta(days=62))
        rows.append(
            {
                "task": task.name,
                "entry": task.entry,
                "schedule": task.schedule,
                "flows": ", ".join(task.flows),
                "destructive": task.is_destructive,
                "next": upcoming[0] if upcoming else None,
            }
        )
    show_rows(rows, as_json)


@main.command()
def run(
    task: TaskName,
    at: Annotated[str | None, typer.Option("--at", help="The time to take for now, with its zone.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what it would change; change nothing.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Run it although its period was run.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run one task and wait for its end; it works whether or not a worker runs elsewhere."""
    from backstay_watchpoint.asking import run_and_wait

    async def do(jobs: Jobs) -> dict[str, Any]:
        given: dict[str, Any] = {"force": force}
        if dry_run:
            given["dry_run"] = True
        spec = jobs.platform.task_named(task)
        if dry_run and spec.name == "poll_data":
            raise Refused("poll_data acts on other systems and cannot be tried: leave --dry-run out")
        return await run_and_wait(jobs, spec, _moment(at), given)

    _report(_with_jobs(do), as_json)


@main.command()
def poll(
    force_retry: Annotated[bool, typer.Option("--force-retry", help="Start failed runs again, too.")] = False,
    backfill_hours: Annotated[
        int, typer.Option(min=0, max=LONGEST_LOOK_HOURS, help="Look back so many hours.")
    ] = 0,
    limit: Annotated[int, typer.Option(min=0, help="Start at most so many runs; 0 is no limit.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Look for new model runs now, although this quarter of an hour was looked at."""
    from backstay_watchpoint.asking import run_and_wait

    async def do(jobs: Jobs) -> dict[str, Any]:
        given = {"force": True, "force_retry": force_retry, "backfill_hours": backfill_hours, "limit": limit}
        return await run_and_wait(jobs, jobs.platform.task_named("poll_data"), None, given)

    _report(_with_jobs(do), as_json)


@main.command()
def history(
    task: Annotated[str | None, typer.Argument(help="Only this task.")] = None,
    limit: Most = 30,
    as_json: AsJson = False,
) -> None:
    """Show the newest runs."""
    from backstay_watchpoint.store import runs

    async def do(jobs: Jobs) -> list[dict[str, Any]]:
        async with jobs.platform.database.transaction() as transaction:
            name = None if task is None else jobs.platform.task_named(task).name
            return await runs.history(transaction, task=name, limit=limit)

    shown = ("id", "task", "status", "trigger", "items", "reference_time", "reason", "error")
    found = _with_jobs(do)
    show_rows(found if as_json else [{name: row[name] for name in shown} for row in found], as_json)


@main.command()
def backfill(
    task: TaskName,
    start: Annotated[str, typer.Argument(metavar="FROM", help="The first moment, with its zone.")],
    end: Annotated[str, typer.Argument(metavar="TO", help="The moment before which it ends.")],
    preview: Annotated[bool, typer.Option("--preview", help="Only count.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask for the runs of a past stretch of time that have not succeeded."""
    from backstay_watchpoint import backfill as back_filling

    async def do(jobs: Jobs) -> dict[str, Any]:
        spec, first, last = jobs.platform.task_named(task), _moment(start), _moment(end)
        assert first is not None
        assert last is not None
        if last <= first:
            raise Refused(f"TO must lie after FROM, and {end} does not lie after {start}")
        try:
            missing = await back_filling.missing_fires(jobs, spec, first, last)
            asked = [] if preview else await back_filling.back_fill(jobs, spec, first, last)
        except (BadReferenceTime, back_filling.TooManyFires) as error:
            raise Refused(str(error)) from error
        return {"task": spec.name, "fires": len(missing), "enqueued": len(asked)}

    found = _with_jobs(do)
    show(
        found, as_json, f"{found['fires']} fires of {found['task']} are missing, {found['enqueued']} enqueued"
    )


@candidates_app.callback()
def list_candidates(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List calibration changes, those that wait first."""
    if ctx.invoked_subcommand is not None:
        return
    from backstay_watchpoint.services.calibration import all_candidates

    async def do(jobs: Jobs) -> list[dict[str, Any]]:
        async with jobs.platform.database.transaction() as transaction:
            return await all_candidates(transaction)

    shown = ("id", "tile_id", "status", "violation_reason", "created_at")
    found = _with_jobs(do)
    show_rows(found if as_json else [{name: row[name] for name in shown} for row in found], as_json)


@candidates_app.command()
def approve(candidate_id: str, by: str = "command line", as_json: AsJson = False) -> None:
    """Apply a change that waits."""
    from backstay_watchpoint.services.calibration import NoCandidate
    from backstay_watchpoint.services.calibration import approve as decide

    async def do(jobs: Jobs) -> str:
        async with jobs.platform.database.transaction() as transaction:
            try:
                return await decide(transaction, candidate_id, by=by, now=jobs.platform.clock())
            except NoCandidate as error:
                raise Refused(str(error)) from error

    tile = _with_jobs(do)
    show({"tile": tile, "status": "promoted"}, as_json, f"tile {tile} has its new coefficients")


@main.command("restore-audit")
def restore_audit(key: str, by: str = "command line", as_json: AsJson = False) -> None:
    """Bring archived audit records back from cold storage."""
    from backstay_watchpoint.domain.audit_archive import BadArchive
    from backstay_watchpoint.services.audit import restore_audit_logs
    from backstay_watchpoint.services.outside import StorageError
    from backstay_watchpoint.services.work import Work

    async def do(jobs: Jobs) -> int:
        platform = jobs.platform
        work = Work(platform.database, platform.clock(), jobs.publisher)
        try:
            bucket = platform.settings.archive_bucket
            return await restore_audit_logs(work, platform.objects, bucket, key, by=by)
        except (StorageError, BadArchive) as error:
            raise Refused(str(error)) from error

    count = _with_jobs(do)
    show({"restored": count}, as_json, f"{count} records restored")


@main.command()
def alarm(
    url: Annotated[str, typer.Option(help="Where /health is.")] = "http://127.0.0.1:8810/health",
    state: Annotated[
        Path | None, typer.Option(help="A file that keeps what was told, so that it is told once.")
    ] = None,
) -> None:
    """Mail operators which tasks are late; made for a cron line, and works while no worker runs."""
    from backstay_watchpoint.alarm import AlarmNotSent, check_health

    try:
        code = asyncio.run(check_health(_settings(), url, state, datetime.now(UTC)))
    except AlarmNotSent as error:
        _fail(str(error))
    raise typer.Exit(code)


def _with_jobs(do: Callable[[Jobs], Awaitable[T]]) -> T:
    from sqlalchemy.exc import DBAPIError

    from backstay.errors import BackstayError
    from backstay_watchpoint.asking import NotDone
    from backstay_watchpoint.jobs import build

    async def whole() -> T:
        jobs = build(_settings())
        try:
            return await do(jobs)
        finally:
            await jobs.platform.close()

    try:
        return asyncio.run(whole())
    except (Refused, NotDone, UnknownTask, BackstayError) as error:
        _fail(str(error))
    except DBAPIError as error:
        if _is_missing_table(str(error.orig)):
            _fail("the database has no tables of this release: run `backstay-watchpoint migrate` first")
        raise
    except OSError as error:
        _fail(f"the database does not answer: {error}; WATCHPOINT_URL says where it is")


def _is_missing_table(message: str) -> bool:
    return "no such table" in message or "UndefinedTable" in message or "does not exist" in message


def _settings() -> Settings:
    try:
        return Settings.from_environment()
    except BadSetting as error:
        _fail(str(error))


def _stop_on_signal(stopping: asyncio.Event) -> None:
    import signal

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Refused(f"{text!r} is no time: write 2026-03-18T02:00:00Z") from None
    if moment.tzinfo is None:
        raise Refused(f"{text!r} has no zone: write 2026-03-18T02:00:00Z")
    return moment.astimezone(UTC)


def _report(result: dict[str, Any], as_json: bool) -> None:
    if "skipped" in result:
        line = f"skipped: {result['skipped']}"
    elif result.get("dry_run"):
        freed = f" and free {result['bytes']} bytes" if result["bytes"] else ""
        line = "\n".join([f"would change {result['would_change']} items{freed}", *result["sample"]])
    else:
        line = f"{result['items']} items, run {result['run']}"
    show(result, as_json, "\n".join([line, *(f"warning: {text}" for text in result.get("warnings", ()))]))


def _fail(message: str) -> NoReturn:
    sys.stderr.write(f"{message}\n")
    raise typer.Exit(1)
