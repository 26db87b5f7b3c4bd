"""Do the guides to web frameworks and logging show what really happens?"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"

SETTINGS = """
[pytest]
asyncio_default_fixture_loop_scope = function
filterwarnings =
    error
    ignore:Using `httpx` with `starlette.testclient`
"""


@pytest.mark.parametrize(("framework", "count"), [("fastapi", 3), ("flask", 1)])
def test_the_tests_of_a_web_application_pass(framework: str, count: int, tmp_path: Path) -> None:
    for file in (EXAMPLES / f"{framework}_shop.py", *(EXAMPLES / "web_tests").glob("*.py")):
        shutil.copy(file, tmp_path)
    (tmp_path / "pytest.ini").write_text(SETTINGS)

    printed = output_of(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", f"test_{framework}_shop.py", folder=tmp_path
    )

    assert f"{count} passed" in printed
    assert not (tmp_path / "shop.db").exists()


def test_a_web_application_runs_jobs_beside_its_requests(tmp_path: Path) -> None:
    printed = output_of(EXAMPLES / "fastapi_shop.py", folder=tmp_path)

    assert printed.splitlines() == [
        "receipt for order 1",
        "{'state': 'completed', 'result': 'receipt for order 1'}",
        "report of May",
    ]


def test_ones_own_lines_appear_beside_those_of_the_jobs(tmp_path: Path) -> None:
    done = run(EXAMPLES / "logging_jobs.py", folder=tmp_path)

    assert "INFO shop: charging order 7" in done.stderr
    assert re.search(
        r"ERROR backstay: job \S+ \(charge\) is dead: ValueError: the card has expired", done.stderr
    )
    assert 'raise ValueError("the card has expired")' in done.stderr
    assert "['backstay', 'charge', 'ValueError']" in done.stdout


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "BACKSTAY_URL": "", "BACKSTAY_TEST_URL": ""},
        capture_output=True,
        text=True,
        timeout=100,
    )


def output_of(*command: str | Path, folder: Path) -> str:
    done = run(*command, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
