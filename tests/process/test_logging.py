"""What a real program writes to its log, and what it never does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import asyncio
from windlass import Hopeless, Windlass
from windlass.logs import configure

configure(json={json}, level=10)
app = Windlass("sqlite:///jobs.db")

@app.job(max_attempts=1)
async def charge(card: str, password: str) -> None:
    raise Hopeless(f"refused by https://shop:{{password}}@bank/pay, api_key={{password}}")

@app.job
async def greet(word: str) -> str:
    return "returned " + word

async def main():
    async with app.working():
        await (await greet.enqueue(word="planted-argument")).result(timeout=20)
        try:
            await (await charge.enqueue(card="planted-card", password="planted-secret")).result(timeout=20)
        except Exception:
            pass
    await app.close()

asyncio.run(main())
"""


@pytest.mark.parametrize("form", ["True", "False"])
def test_planted_secrets_and_payloads_are_in_no_line_of_either_form(tmp_path: Path, form: str) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.format(json=form))

    done = subprocess.run(
        [sys.executable, "-W", "error", "program.py"],
        cwd=tmp_path,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )

    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert "job.dead" in done.stderr
    assert "refused by https://shop:***@bank/pay, api_key=***" in told
    assert re.findall(r"planted-\w+", told) == []
    assert "job.dead" not in done.stdout


def test_every_line_for_machines_is_one_object_with_a_time_a_level_and_a_message(tmp_path: Path) -> None:
    """ENG-149."""
    (tmp_path / "program.py").write_text(PROGRAM.format(json="True"))

    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )

    quiet, loud = ([json.loads(line) for line in text.splitlines()] for text in (done.stdout, done.stderr))
    [dead] = [line for line in loud if line["message"] == "job.dead"]
    assert {line["level"] for line in quiet} <= {"debug", "info"}
    assert {line["level"] for line in loud} <= {"warn", "error"}
    assert all(line["timestamp"].endswith("Z") for line in [*quiet, *loud])
    assert (dead["job_type"], dead["error_details"]["name"]) == ("charge", "windlass.Hopeless")
    assert "program.py" in dead["error_details"]["stack"]
