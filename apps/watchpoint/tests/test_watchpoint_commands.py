"""Settings, migrations, the service surface, and the command line."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sqlite3
import sys
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from click.testing import Result
from sqlalchemy import inspect as inspect_tables
from typer.testing import CliRunner

from backstay_watchpoint.cli import main
from backstay_watchpoint.domain.catalogue import TASKS, task_of_flow
from backstay_watchpoint.domain.forecasts import Model
from backstay_watchpoint.domain.layouts import SourceId
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.settings import BadSetting, Settings
from backstay_watchpoint.store import tables
from backstay_watchpoint.store.database import SCHEMA, BadDatabaseUrl, Database, driver_url
from backstay_watchpoint.tasks import SERVICES


def test_settings_have_the_documents_defaults() -> None:
    """WPT-052: mirrors, timeouts and buckets as the document names them."""
    settings = Settings.from_environment({})

    assert [mirror.bucket for mirror in settings.forecast.upstream_mirrors[SourceId.GFS]] == [
        "noaa-gfs-bdp-pds",
        "aws-noaa-gfs",
    ]
    assert settings.forecast.timeouts == {
        Model.NOWCAST: timedelta(minutes=20),
        Model.MEDIUM_RANGE: timedelta(hours=3),
    }
    assert settings.digest_tick == "1h"


def test_settings_come_from_the_environment() -> None:
    """WPT-052: each can be overridden."""
    settings = Settings.from_environment(
        {
            "UPSTREAM_MIRRORS": "one@http://127.0.0.1:1, two",
            "TIMEOUT_NOWCAST": "90s",
            "TIMEOUT_MEDIUM_RANGE": "2h",
            "ARCHIVE_BUCKET": "cold",
            "SQS_NOTIFICATIONS": "notes",
            "BRAKE_MINIMUM": "7",
        }
    )

    assert [mirror.name for mirror in settings.forecast.upstream_mirrors[SourceId.GFS]] == [
        "one@http://127.0.0.1:1",
        "two",
    ]
    assert settings.forecast.timeouts[Model.NOWCAST] == timedelta(seconds=90)
    assert (settings.archive_bucket, settings.notification_queue, settings.brake.minimum) == (
        "cold",
        "notes",
        7,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TIMEOUT_NOWCAST", "soon"),
        ("SMTP_PORT", "x"),
        ("DIGEST_TICK", "5m"),
        ("UPSTREAM_MIRRORS", ","),
        ("SCHEDULES", "no"),
    ],
)
def test_bad_settings_are_refused_by_name(name: str, value: str) -> None:
    """WPT-052: nothing is accepted and ignored."""
    with pytest.raises(BadSetting, match=name):
        Settings.from_environment({name: value})


def test_secrets_are_not_shown() -> None:
    """WPT-052: printing the settings tells no secret."""
    settings = Settings.from_environment({"STRIPE_SECRET_KEY": "sk_live_7", "AWS_SECRET_ACCESS_KEY": "top"})

    assert "sk_live_7" not in repr(settings)
    assert "'top'" not in repr(settings)


def test_other_databases_are_refused() -> None:
    """WPT-052: a URL that nobody can use."""
    with pytest.raises(BadDatabaseUrl, match="postgresql:// or sqlite:///"):
        driver_url("mysql://x")


async def test_the_migrations_make_the_tables_that_the_code_knows(
    platform: Platform, database: Database
) -> None:
    """WPT-004, WPT-005: every column and index of the code is there; a second migration does nothing."""
    assert await platform.app.migrate() == []

    schema = None if database.is_sqlite else SCHEMA
    async with database.transaction() as transaction:
        found = await transaction.run_sync(
            lambda connection: {
                table.name: {
                    "columns": {
                        c["name"] for c in inspect_tables(connection).get_columns(table.name, schema=schema)
                    },
                    "indexes": {
                        i["name"] for i in inspect_tables(connection).get_indexes(table.name, schema=schema)
                    },
                }
                for table in tables.metadata.sorted_tables
            }
        )
    for table in tables.metadata.sorted_tables:
        assert found[table.name]["columns"] == {column.name for column in table.columns}
        assert {index.name for index in table.indexes} <= found[table.name]["indexes"]


def test_every_task_has_a_service_that_takes_its_clock() -> None:
    """WPT-051: each service takes a Work, which carries now; no service asks the clock."""
    assert set(SERVICES) == {task.name for task in TASKS}
    for name, service in SERVICES.items():
        assert inspect.iscoroutinefunction(service.run), name
        assert len(inspect.signature(service.run).parameters) == 2
    assert all(SERVICES[task.name].candidates is not None for task in TASKS if task.is_destructive)
    assert "now" in inspect.signature(Work).parameters


METHODS = {
    "FCST-003": "poll",
    "FCST-004": "reconcile_stale_runs",
    "WPLC-009": "archive_expired",
    "OBS-007": "archive_expired",
    "NOTIF-002": "requeue_deferred_notifications",
    "NOTIF-003": "trigger_digests",
    "SCHED-001": "snapshot_daily_usage",
    "SCHED-002": "close_ended",
    "SCHED-003": "sync_everybody",
    "SCHED-006": "purge_expired_idempotency_keys",
    "VERT-001": "check_compliance",
    "MAINT-001": "enforce_retention",
    "MAINT-002": "purge_expired_invites",
    "MAINT-003": "purge_notifications",
    "MAINT-004": "archive_audit_logs",
    "MAINT-005": "purge_soft_deleted_orgs",
    "MAINT-006": "purge_archived_watchpoints",
    "MAINT-007": "purge_security_events",
    "OBS-005": "trigger_verification",
    "OBS-006": "update_coefficients",
    "BILL-005": "enforce_payment_failure",
    "BILL-011": "enforce_overage",
}


@pytest.mark.parametrize(("flow", "method"), METHODS.items())
def test_every_flow_leads_to_its_method(flow: str, method: str) -> None:
    """WPT-051, WPT-054: from the flow to its task, and from the task's service to the method that does it."""
    assert method in called_by(SERVICES[task_of_flow(flow).name].run)
    assert set(METHODS) == {named for task in TASKS for named in task.flows}


def called_by(function: Any) -> set[str]:
    """The names that a function calls, and those that functions which it knows call."""
    names, seen, waiting = set(), set(), [function]
    while waiting:
        known = waiting.pop()
        seen.add(known)
        names |= {known.__name__, *known.__code__.co_names}
        closure = inspect.getclosurevars(known)
        others = [*closure.nonlocals.values(), *closure.globals.values()]
        waiting += [one for one in others if inspect.isfunction(one) and one not in seen]
    return names


def command(environment: dict[str, str], *given: str) -> Result:
    """Run a command in this process, by the same entry point; a process of its own takes seconds to start."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return CliRunner().invoke(main, list(given))


def as_json(environment: dict[str, str], *given: str) -> Any:
    done = command(environment, *given, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def sqlite_environment(request: pytest.FixtureRequest, tmp_path: Any) -> dict[str, str]:
    return {
        "WATCHPOINT_URL": f"sqlite:///{tmp_path}/commands.db",
        "SCHEDULES": "off",
        "BACKSTAY_LOG_LEVEL": "error",
    }


def test_the_command_line_from_an_empty_file(sqlite_environment: dict[str, str]) -> None:
    """WPT-003, WPT-005, WPT-006: migrate, seed, try, run, skip, history and a preview, without any worker."""
    given = sqlite_environment
    assert "0001 tables of watchpoint" in as_json(given, "migrate")["applied"]
    assert as_json(given, "seed", "--organizations", "3")["organizations"] == 3
    assert len(as_json(given, "organizations")) == 3
    with closing(sqlite3.connect(given["WATCHPOINT_URL"].removeprefix("sqlite:///"))) as database:

        def counted(table: str) -> int:
            found: int = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            return found

        with database:
            database.execute(
                "UPDATE organizations SET deleted_at = '2026-02-06 12:00:00.000000' "
                "WHERE id = (SELECT min(id) FROM organizations)"
            )

        tried = as_json(given, "run", "cleanup_soft_deletes", "--dry-run")
        assert (tried["would_change"], counted("organizations")) == (1, 3)
        done = as_json(given, "run", "cleanup_soft_deletes", "--at", "2026-06-01T02:00:00Z")
        again = as_json(given, "run", "cleanup_soft_deletes", "--at", "2026-06-01T03:00:00Z")
        assert (done["items"], counted("organizations")) == (1, 2)
        assert again["skipped"] == "cleanup_soft_deletes:2026-06-01T00:00Z was run by run 2"
        runs = as_json(given, "history", "cleanup_soft_deletes")
        assert [row["status"] for row in runs] == ["skipped", "success", "success"]
        days = ("2026-05-30T00:00:00Z", "2026-06-03T00:00:00Z")
        preview = as_json(given, "backfill", "cleanup_soft_deletes", *days, "--preview")
        assert preview == {"task": "cleanup_soft_deletes", "fires": 3, "enqueued": 0}
        assert counted("task_runs") == 3


def test_the_command_line_says_why_a_run_did_not_come_to_its_end(sqlite_environment: dict[str, str]) -> None:
    """WPT-003, WPT-045: refused by the task, or waiting for a person: one sentence at once, and no traceback."""
    given = {**sqlite_environment, "BRAKE_MINIMUM": "2"}
    as_json(given, "migrate")
    as_json(given, "seed", "--organizations", "2")
    with closing(sqlite3.connect(given["WATCHPOINT_URL"].removeprefix("sqlite:///"))) as database, database:
        database.execute("UPDATE organizations SET deleted_at = '2026-02-06T12:00:00.000000Z'")
    asked = {
        ("run", "cleanup_soft_deletes", "--at", "2090-01-01T00:00:00Z"): "give a time that has passed",
        ("run", "sync_stripe", "--dry-run"): "cannot be tried",
        ("run", "cleanup_soft_deletes"): "waits for a person: 2 organizations are 100% of 2",
        ("seed",): "seed an empty one",
    }

    for words, said in asked.items():
        done = command(given, *words)
        assert (done.exit_code, len(done.stderr.splitlines())) == (1, 1), done.stderr
        assert said in done.stderr
    braked, _, _ = as_json(given, "history")
    assert (braked["status"], braked["started_at"][10]) == ("braked", "T")


async def test_the_program_lists_its_tasks_and_loads_nothing_else(sqlite_environment: dict[str, str]) -> None:
    """WPT-001, WPT-054: seventeen tasks with schedule, flows and next fire, by the installed program."""
    look = "import sys; from backstay_watchpoint.cli import main; main(['tasks', '--json'], standalone_mode=False)"
    heavy = "print([name for name in ('boto3', 'stripe', 'sqlalchemy', 'backstay') if name in sys.modules])"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        f"{look}; {heavy}",
        env={**os.environ, **sqlite_environment},
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(100):
        output, _ = await process.communicate()
    first, loaded = output.decode().splitlines()
    listed = json.loads(first)
    assert loaded == "[]"

    assert [row["task"] for row in listed] == [task.name for task in TASKS]
    assert all(row["next"] and row["flows"] for row in listed)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["run", "clean_up"], "no task 'clean_up'"),
        (["run", "verification", "--at", "yesterday"], "'yesterday' is no time"),
        (["run", "verification", "--at", "2026-03-18T02:00:00"], "has no zone"),
        (["run", "poll_data", "--dry-run"], "cannot be tried"),
        (["history"], "run `backstay-watchpoint migrate` first"),
        (["history", "clean_up"], "no task 'clean_up'"),
        (["backfill", "verification", "2026-03-18T02:00:00Z", "2026-03-17T02:00:00Z"], "TO must lie after"),
        (["backfill", "verification", "1990-03-18T02:00:00Z", "2026-03-17T02:00:00Z"], "the year 1990"),
        (["backfill", "poll_data", "2010-03-18T02:00:00Z", "2026-03-17T02:00:00Z"], "at most 3000 at once"),
        (["alarm", "--url", "http://127.0.0.1:1/health"], "and nobody was told"),
        (["candidates", "approve", "nobody"], "run `backstay-watchpoint migrate` first"),
        (["serve"], "WATCHPOINT_SECRET must have at least 32 characters"),
    ],
)
def test_commands_that_cannot_be_done_say_why(
    sqlite_environment: dict[str, str], given: list[str], said: str
) -> None:
    """WPT-003: exit code 1 and a sentence, no traceback."""
    done = command({**sqlite_environment, "SMTP_PORT": "1"}, *given)

    assert done.exit_code == 1
    assert said in done.stderr
    assert isinstance(done.exception, SystemExit)  # a sentence, not a traceback


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://nobody@127.0.0.1:1/none", "WATCHPOINT_URL says where it is"),
        ("mysql://nobody@127.0.0.1/none", "sqlite:// or postgresql://"),
    ],
)
def test_a_database_that_is_not_there_is_named(
    sqlite_environment: dict[str, str], url: str, said: str
) -> None:
    """WPT-052: the command line says which setting to look at."""
    done = command({**sqlite_environment, "WATCHPOINT_URL": url}, "history")

    assert done.exit_code == 1
    assert said in done.stderr.replace("\n", " ")
    assert isinstance(done.exception, SystemExit)


@pytest.mark.prove
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("database", [[], ["--sqlite"]])
async def test_the_demonstration_holds_its_sums(database: list[str]) -> None:
    """WPT-007: yesterday in a minute, on both databases; exit code 0 only if every sum held."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "backstay_watchpoint", "demo", *database, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()

    assert process.returncode == 0, output.decode()[-3000:]
