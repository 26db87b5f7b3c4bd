"""Does the demo keep what it promises, and say so?"""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
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


def test_at_a_terminal_the_dashboard_stays_open_until_a_key_is_pressed() -> None:
    """The demo's own ending is the one above; here is only what follows it."""
    reader, writer = pty.openpty()
    watching = subprocess.Popen(
        [sys.executable, "-c", STAY], cwd=DEMO.parent, stdin=writer, stdout=writer, stderr=writer
    )

    try:
        said = read_until(reader, "Press any key")
        address = re.search(r"http://\S+", said)
        assert address, said
        page = httpx.get(address[0], follow_redirects=True, headers={"Accept": "text/html"}, timeout=60)
        is_open = watching.poll() is None
        os.write(reader, b"q")
        ended = watching.wait(timeout=60)
    finally:
        watching.kill()
        watching.wait()
        os.close(writer)
        os.close(reader)

    assert "Is it well?" in page.text
    assert is_open
    assert ended == 0
    with pytest.raises(httpx.TransportError):
        httpx.get(address[0], timeout=5)


STAY = """
import asyncio, os, tempfile
from rich.console import Console
from backstay import Backstay
from look import Dashboard

with tempfile.TemporaryDirectory() as folder:
    url = f"sqlite:///{folder}/shop.db"
    asyncio.run(Backstay(url).migrate())
    with Dashboard(Console(width=200), url) as dashboard:
        dashboard.stay()
"""


def read_until(terminal: int, words: str) -> str:
    """What a program says at a terminal, up to these words, without colours."""
    said = ""
    while words not in said:
        said += os.read(terminal, 4096).decode()
    return re.sub(r"\x1b\[[0-9;]*m", "", said)
