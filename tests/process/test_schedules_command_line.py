"""Schedules and locks on the command line, from the first command to the last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

APPLICATION = """
from backstay import Backstay

app = Backstay("sqlite:///jobs.db")


@app.job
async def report(day: str) -> None: ...
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(APPLICATION)
    return tmp_path


def run(folder: Path, *arguments: str, code: int = 0) -> Any:
    """What a command answers, as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "backstay", *arguments, "--app", "shop:app", "--json"],
        cwd=folder,
        env={**os.environ, "BACKSTAY_URL": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_schedule_is_created_looked_at_changed_run_and_removed(folder: Path) -> None:
    wanted = ("--cron", "0 3 * * *", "--zone", "Europe/Berlin", "--args", '{"day": "{fire_date}"}')

    made = run(folder, "schedules", "create", "nightly", "report", *wanted)["schedule"]
    listed = run(folder, "schedules")["schedules"]
    coming = run(folder, "schedules", "nightly")["next_fires"]
    run(folder, "schedules", "pause", "nightly", "--reason", "outage", "--by", "ann")
    paused = run(folder, "schedules", "next", "nightly")["next_fires"]
    run(folder, "schedules", "resume", "nightly")
    changed = run(folder, "schedules", "set", "nightly", "every", "6h", "--reason", "more")["schedule"]
    reset = run(folder, "schedules", "reset", "nightly", "every")["schedule"]
    job = run(folder, "schedules", "run", "nightly", "--reference-time", "2026-01-31T12:00:00Z")["job"]
    arguments = run(folder, "job", job)["job"]["args"]
    [entry] = run(folder, "schedules", "history", "nightly")["history"]
    span = ("--from", "2026-01-01T00:00:00Z", "--to", "2026-01-08T00:00:00Z")
    counted = run(folder, "schedules", "back-fill", "nightly", *span)["back_fill"]
    filled = run(folder, "schedules", "back-fill", "nightly", *span, "--yes")["back_fill"]
    run(folder, "schedules", "remove", "nightly", "--reason", "done")

    assert (made["name"], made["source"], len(listed), len(coming)) == ("nightly", "runtime", 1, 5)
    assert paused == []
    assert (changed["overrides"]["every"]["reason"], reset["overrides"]) == ("more", {})
    assert arguments == {"day": "2026-01-31", "reference_time": "2026-01-31T12:00:00Z"}
    assert (entry["trigger"], entry["status"], entry["job_id"]) == ("run_now", "available", job)
    assert (len(counted["fires"]), counted["jobs"], len(filled["jobs"])) == (7, [], 7)
    assert run(folder, "schedules")["schedules"] == []


@pytest.mark.parametrize(
    ("wanted", "advice"),
    [
        (("--cron", "61 * * * *"), "at position 1: 61 is out of range"),
        (("--cron", "0 0 31 2 *"), "write L"),
        (("--cron", "@reboot"), "enqueue the job where it starts"),
        (("--every", "15m", "--zone", "Mars/Base"), "no time zone has this name"),
        ((), "exactly one of cron, every and at"),
    ],
)
def test_what_cannot_be_is_refused_with_advice(folder: Path, wanted: tuple[str, ...], advice: str) -> None:
    arguments = ("--args", '{"day": "x"}', *wanted)

    refused = run(folder, "schedules", "create", "bad", "report", *arguments, code=1)

    assert advice in refused["error"]["message"]
    assert run(folder, "schedules")["schedules"] == []


def test_expressions_can_be_tried_without_storing_anything(folder: Path) -> None:
    fires = run(folder, "schedules", "preview", "0 0 29 2 *", "--count", "2")["fires"]

    assert [fire[4:] for fire in fires] == ["-02-29T00:00:00Z"] * 2


def test_locks_are_listed_and_broken(folder: Path) -> None:
    program = "import shop; shop.app.sync.locks.acquire('poll', ttl='1h', holder='me')"
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, timeout=60)

    held = run(folder, "locks")["locks"]
    first = run(folder, "locks", "break", "poll", "--reason", "its host is gone")["was_held"]
    second = run(folder, "locks", "break", "poll", "--reason", "its host is gone")["was_held"]

    assert [(lock["id"], lock["holder"]) for lock in held] == [("poll", "me")]
    assert (first, second, run(folder, "locks")["locks"]) == (True, False, [])
