"""Promoted fields on the command line: made, checked, searched by, found unfilled and filled."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

APPLICATION = """
from backstay import Backstay

app = Backstay("sqlite:///jobs.db")


@app.job(promote=["page"])
async def scan(page: int) -> None: ...
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "clinic.py").write_text(APPLICATION)
    return tmp_path


def run(folder: Path, *arguments: str, code: int = 0) -> Any:
    """What a command answers, as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "backstay", *arguments, "--app", "clinic:app", "--json"],
        cwd=folder,
        env={**os.environ, "BACKSTAY_URL": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def change(folder: Path, statement: str) -> None:
    with sqlite3.connect(folder / "jobs.db") as file:
        file.execute(statement)


def test_promoted_fields_from_the_first_command_to_the_last(folder: Path) -> None:
    refused = run(folder, "enqueue", "scan", "page=7", code=1)
    unmade = run(folder, "db", "check", code=1)
    made = run(folder, "db", "migrate")["applied"]
    again = run(folder, "db", "migrate")["applied"]
    stored = [run(folder, "enqueue", "scan", f"page={page}") for page in (7, 8)]
    found = run(folder, "jobs", "--field", "page=8")["jobs"]

    assert "backstay db migrate" in refused["error"]["message"]
    assert "missing for 'scan': column promoted.page" in unmade["drift"]
    assert "column promoted.page" in made
    assert again == []
    assert run(folder, "db", "check") == {"drift": []}
    assert len(stored) == 2
    assert [job["args"] for job in found] == [{"page": 8}]
    assert "whole number" in run(folder, "jobs", "--field", "page=x", code=1)["error"]["message"]


def test_unfilled_fields_are_found_and_filled(folder: Path) -> None:
    run(folder, "db", "migrate")
    run(folder, "enqueue", "scan", "page=7")
    change(folder, "DELETE FROM backstay_promoted")

    findings = {finding["code"]: finding for finding in run(folder, "doctor", code=1)["findings"]}
    filled = run(folder, "db", "fill", "--chunk", "1")

    assert "backstay db fill" in findings["promoted_unfilled"]["advice"]
    assert filled == {"filled": 1, "problems": {}}
    assert len(run(folder, "jobs", "--field", "page=7")["jobs"]) == 1


def test_a_trigger_that_somebody_dropped_is_named_and_made_again(folder: Path) -> None:
    run(folder, "db", "migrate")
    with sqlite3.connect(folder / "jobs.db") as file:
        (name,) = file.execute("SELECT name FROM sqlite_master WHERE name LIKE 'promote%new'").fetchone()
    change(folder, f"DROP TRIGGER {name}")

    assert run(folder, "db", "check", code=1)["drift"] == [f"missing for 'scan': trigger {name}"]
    assert run(folder, "db", "migrate")["applied"] == [f"trigger {name}"]
