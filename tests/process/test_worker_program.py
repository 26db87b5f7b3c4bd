"""The program that a worker's process is, once its options are known."""

from __future__ import annotations

import subprocess
from pathlib import Path

from backstay.cli.working import Chosen, LogFormat, LogLevel

DEADLINE = 30
CHOSEN = Chosen(application="shp:app", log=LogFormat.JSON, log_level=LogLevel.INFO)

LOADED = """
import sys
import backstay.cli.working
from backstay import configure_logging
from backstay.app import Backstay

configure_logging(json=True)
app = Backstay("sqlite:///jobs.db")

@app.job
async def nothing() -> None: ...

app.worker()
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"typer", "rich", "structlog", "pydantic"}))
"""


def test_what_was_chosen_is_read_as_it_was_written() -> None:
    assert Chosen.read(CHOSEN.command()[-1]) == CHOSEN


def test_a_file_beside_the_application_is_not_taken_for_one_of_pythons(tmp_path: Path) -> None:
    (tmp_path / "calendar.py").write_text("raise RuntimeError('not for you')")

    done = subprocess.run(
        CHOSEN.command(), cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE, check=False
    )

    assert (done.returncode, "cannot find the module 'shp'" in done.stderr) == (1, True), done.stderr


def test_nothing_is_loaded_that_only_the_command_line_needs(tmp_path: Path) -> None:
    python = CHOSEN.command()[0]

    done = subprocess.run(
        [python, "-c", LOADED], cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE, check=True
    )

    assert done.stdout == "\n"
