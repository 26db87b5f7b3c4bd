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
from backstay import Hopeless, Backstay
from backstay import configure_logging

configure_logging(json={json}, level=10)
app = Backstay("sqlite:///jobs.db")

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
    assert (dead["job_type"], dead["error_details"]["name"]) == ("charge", "backstay.Hopeless")
    assert "program.py" in dead["error_details"]["stack"]


@pytest.mark.parametrize("setup", ["", "import logging; logging.basicConfig()"], ids=["none", "plain"])
def test_a_program_without_our_logging_sees_in_words_what_failed(tmp_path: Path, setup: str) -> None:
    program = PROGRAM.replace("configure_logging(json={json}, level=10)", setup)
    program = program.replace("max_attempts=1", "max_attempts=2, retry_unknown=True")
    (tmp_path / "program.py").write_text(program.replace("raise Hopeless(", "raise ValueError(").format())

    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )

    assert "attempt 1 of job" in done.stderr
    assert "(charge) failed: ValueError: refused by https://shop:***@bank/pay, api_key=***" in done.stderr
    assert "(charge) is dead: ValueError" in done.stderr
    assert 'program.py", line' in done.stderr
    assert "planted-secret" not in done.stderr


def test_what_handlers_log_by_themselves_is_among_the_lines_of_a_worker(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(OWN_LOGGING)
    command = [sys.executable, "-m", "backstay", "worker", "shop:app", "--log", "json"]
    worker = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        subprocess.run(
            [sys.executable, "-c", ENQUEUE],
            cwd=tmp_path,
            check=True,
            timeout=60,
        )
        assert worker.stdout is not None
        told = next(line for line in worker.stdout if "a word of mine" in line)
    finally:
        worker.kill()
        worker.communicate()

    assert json.loads(told)["level"] == "info"


ENQUEUE = "import shop; shop.hello.enqueue_sync(); shop.app.close_sync()"
OWN_LOGGING = """
import logging
from backstay import Backstay

app = Backstay("sqlite:///jobs.db")

@app.job
def hello() -> None:
    logging.getLogger("shop").info("a word of mine")
"""
