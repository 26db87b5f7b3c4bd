"""Does the demo keep what it promises, and say so?"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "docs" / "examples" / "demo" / "run.py"


def start_demo(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(DEMO)],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A shell lets what it starts in the background ignore this, and the tests may be that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.prove
def test_the_demo_survives_its_own_murder(tmp_path: Path) -> None:
    demo = start_demo(tmp_path)

    output, _ = demo.communicate(timeout=90)

    assert demo.returncode == 0, output
    assert "kill -9 for bert" in output
    assert re.search(r"Every job reached its end: (\d+) of \1\.", output)
    assert re.search(
        r"None was completed twice: (\d+) results were accepted.*The journal agrees: \1 did their work",
        output,
        flags=re.DOTALL,
    )
    assert " NO " not in output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.prove
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path) -> None:
    demo = start_demo(tmp_path)
    assert demo.stdout is not None
    while "worker bert is ready" not in (line := demo.stdout.readline()):
        assert line, "the demo ended before its workers were ready"

    demo.send_signal(signal.SIGINT)
    output, _ = demo.communicate(timeout=30)

    assert demo.returncode == 130, output
    assert "nothing is left behind" in output
    assert list(tmp_path.iterdir()) == []
