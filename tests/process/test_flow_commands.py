"""Flows on the command line: started from a file, looked at, cancelled, run again, refused when they cannot be."""

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
async def fetch(url: str) -> str:
    return url


@app.job
async def merge(pages: list[str]) -> int:
    return len(pages)
"""
FLOW = {
    "name": "report",
    "jobs": [
        {"name": "a", "kind": "fetch", "args": {"url": "x"}},
        {
            "name": "sum",
            "kind": "merge",
            "args": {"pages": [None]},
            "after": [{"job": "a", "place": "/pages/0"}],
        },
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "reports.py").write_text(APPLICATION)
    (tmp_path / "flow.json").write_text(json.dumps(FLOW))
    return tmp_path


def backstay(folder: Path, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "backstay", *arguments, "--app", "reports:app"],
        cwd=folder,
        env={**os.environ, "BACKSTAY_URL": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def as_json(folder: Path, *arguments: str, code: int = 0) -> Any:
    return json.loads(backstay(folder, *arguments, "--json", code=code))


def test_a_flow_from_the_first_command_to_the_last(folder: Path) -> None:
    backstay(folder, "db", "migrate")
    nothing = backstay(folder, "flows")
    started = as_json(folder, "flows", "start", "flow.json")
    flow_id, (first, second) = started["flow_id"], started["jobs"]
    listed = as_json(folder, "flows")
    shown = as_json(folder, "flows", flow_id)
    seen = backstay(folder, "flows", flow_id)
    why = as_json(folder, "job", second)
    cancelled = as_json(folder, "flows", "cancel", flow_id, "--reason", "enough", "--by", "ann")
    again = as_json(folder, "flows", "retry", first, "--reason", "after all", "--by", "ann")

    assert "No flows" in nothing
    assert [(one["name"], one["total"], one["ended"]) for one in listed] == [("report", 2, 0)]
    assert [one["state"] for one in shown["members"]] == ["available", "held"]
    assert shown["dependencies"][0]["dependency"]["place"] == "/pages/0"
    assert "0 of 2 jobs have ended" in seen
    assert "waits for its parents" in seen
    assert first in json.dumps(why)
    assert cancelled["jobs"] == 2
    assert len(again["jobs"]) == 2
    assert as_json(folder, "flows", flow_id)["total"] == 4


def test_a_flow_that_cannot_be_is_refused_and_nothing_is_stored(folder: Path) -> None:
    backstay(folder, "db", "migrate")
    FLOWS = {
        "circle.json": ([{"name": "a", "after": ["b"]}, {"name": "b", "after": ["a"]}], "in a circle"),
        "unknown.json": ([{"name": "a", "after": ["z"]}], "not part of the flow"),
        "itself.json": ([{"name": "a", "after": ["a"]}], "cannot wait for itself"),
    }

    for name, (jobs, message) in FLOWS.items():
        whole = [{"kind": "fetch", "args": {"url": "x"}, **job} for job in jobs]
        (folder / name).write_text(json.dumps({"name": "bad", "jobs": whole}))
        refused = as_json(folder, "flows", "start", name, code=1)
        assert message in refused["error"]["message"]
    (folder / "none.json").write_text("[]")
    assert "does not hold a flow" in backstay(folder, "flows", "start", "none.json", code=1)
    assert "no flow" in backstay(folder, "flows", "01a1e2ab-4bc6-78fd-a77f-bb4839f3c8fe", code=1)
    assert as_json(folder, "flows") == []
