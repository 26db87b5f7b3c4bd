"""Does the page on performance say what the report says?"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from bench import report

ROOT = Path(__file__).resolve().parents[2]
REPORT = json.loads((ROOT / "bench" / "out" / "report.json").read_text())
PAGE = (ROOT / "docs" / "reference" / "performance.md").read_text()


def test_the_page_and_its_charts_are_made_from_the_report() -> None:
    done = subprocess.run(
        [sys.executable, "tools/write_performance.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr


def test_the_ratios_of_the_report_follow_from_its_runs() -> None:
    assert REPORT["ratios"] == report.ratios(REPORT)
    assert REPORT["summary"] == report.summary(REPORT)


def test_every_promise_stands_on_the_page_with_what_was_measured() -> None:
    promised = re.findall(r"^\| `(\w+)` \| (\S+) (?:\(\S+\) )?\|", PAGE, flags=re.MULTILINE)

    assert dict(promised) == {
        name: "–" if value is None else str(value) for name, value in REPORT["ratios"].items()
    }


def test_a_peer_that_was_not_measured_is_named_with_the_reason() -> None:
    named = {row["name"] for row in REPORT["contestants"]}
    measured = {run["contestant"] for run in REPORT["runs"] if "error" not in run}
    failed = {run["contestant"] for run in REPORT["runs"] if "error" in run}
    explained = {row["name"] for row in REPORT["contestants"] if row["remark"]}

    assert named <= measured | failed | explained


def test_the_report_names_no_folder_of_the_machine_it_was_made_on() -> None:
    told = json.dumps(REPORT)

    assert re.findall(r"/(?:home|root|tmp|Users)/[^\"]*", told) == []
