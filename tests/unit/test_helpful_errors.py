"""Errors of a first day: each names what is wrong and what to do."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from backstay import Backoff, Backstay, Context, JobId
from backstay.cli.commands import backstay
from backstay.cli.flows import running_again
from backstay.client.arguments import job_id as to_id
from backstay.client.doctor.text import retry_command
from backstay.errors import BackstayError, InvalidPolicy, InvalidSettings, JobNotFound, NoLoop

app = Backstay("sqlite:////nowhere/backstay.db")


@app.job
async def send(to: str) -> None: ...


def test_a_noun_without_an_event_loop_names_the_blocking_twins() -> None:
    with pytest.raises(NoLoop, match=r"app\.jobs needs a running event loop.*app\.sync"):
        app.jobs.counts()


def test_a_misspelt_option_names_the_one_that_was_meant() -> None:
    wrong: Any = {"priorty": 1}

    with pytest.raises(TypeError, match="did you mean priority"):
        send.options(**wrong)


def test_a_misspelt_field_of_a_policy_names_the_one_that_was_meant() -> None:
    with pytest.raises(InvalidPolicy, match="did you mean max_attempts"):
        app.job(max_attemps=3)(lambda: None)


def test_a_field_that_resembles_none_is_told_all_of_them() -> None:
    with pytest.raises(InvalidPolicy, match="known field: ageing_step, backoff"):
        app.job(zzz=3)(lambda: None)


def test_a_parameter_that_json_cannot_hold_is_named_with_what_to_do() -> None:
    async def read(size: int, file: Path) -> None: ...

    with pytest.raises(InvalidSettings, match=r"file has a type that JSON cannot hold: Path; take a text"):
        app.job(read)


@pytest.mark.parametrize("given", ["jobs.db", "data/jobs.sqlite3"])
def test_a_file_instead_of_a_url_is_answered_with_the_url(given: str) -> None:
    with pytest.raises(InvalidSettings, match=f"such as sqlite:///{given}"):
        Backstay(given)


def test_a_backoff_may_be_a_duration() -> None:
    @app.job(backoff="7s")
    async def slow() -> None: ...

    assert slow.spec.policy.fields["backoff"] == Backoff("7s")
    assert Backoff("7s").base == timedelta(seconds=7)


def test_a_file_that_nobody_named_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BACKSTAY_URL", raising=False)

    refused = CliRunner().invoke(backstay, ["db", "migrate"])
    printed = CliRunner().invoke(backstay, ["db", "migrate", "--sql"])
    made = CliRunner().invoke(backstay, ["--url", "sqlite:///jobs.db", "db", "migrate"])

    assert refused.exit_code != 0
    assert "backstay --url sqlite:///backstay.db db migrate" in refused.output
    assert "CREATE TABLE backstay_jobs" in printed.output
    assert made.exit_code == 0, made.output
    assert "The tables of sqlite:///jobs.db are up to date." in made.output
    assert sorted(file.suffix for file in tmp_path.iterdir() if file.suffix == ".db") == [".db"]


@app.job
async def charge(ctx: Context, cents: int) -> int:
    return ctx.attempt * cents


def test_a_call_of_a_handler_that_takes_a_context_says_how_to_run_it() -> None:
    with pytest.raises(BackstayError, match=r"'charge' takes a context.*backstay\.run_job\(charge, …\)"):
        charge(cents=1)


def test_a_job_that_is_not_found_may_not_be_committed_yet() -> None:
    assert "its transaction has not committed yet" in str(JobNotFound(JobId(uuid4())))


def test_a_part_of_an_id_is_told_to_be_one() -> None:
    with pytest.raises(JobNotFound, match=r"no job 01a1ef82: an id has 36 characters, write it in full"):
        to_id("01a1ef82")


def test_a_preview_shows_the_time_of_the_zone_that_was_asked_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    asked = ["schedules", "preview", "30 3 * * *", "--zone", "Asia/Kolkata", "--url", url]

    CliRunner().invoke(backstay, ["db", "migrate", "--url", url])
    done = CliRunner().invoke(backstay, asked)

    assert re.search(r"\d{4}-\d\d-\d\d 22:00:00 UTC, 03:30:00 \+05:30 in Asia/Kolkata", done.output)


@pytest.mark.parametrize(("number", "told"), [(1, "1 job runs again"), (2, "2 jobs run again")])
def test_one_job_is_told_as_one(number: int, told: str) -> None:
    assert running_again(number) == told


def test_a_dead_job_is_told_the_whole_command_to_retry_it() -> None:
    assert retry_command("17") == "backstay dead retry 17 --reason 'what was mended'"
