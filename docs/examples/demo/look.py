"""The dashboard beside the demo: for people at a terminal, in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from rich.console import Console

try:
    import termios
    import tty
except ImportError:  # Windows
    termios = tty = None  # type: ignore[assignment]  # what mypy knows are modules


class Dashboard:
    """Serves the demo's jobs while it plays, and afterwards until a key is pressed."""

    def __init__(self, console: Console, url: str) -> None:
        self.console, self.url = console, url
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Dashboard:
        if not is_watched():
            return self
        self.process = subprocess.Popen(
            [sys.executable, "-m", "backstay", "dashboard", "--url", self.url, "--port", "0"],
            env={**os.environ, "BACKSTAY_DASHBOARD_ENDS_WITH_STDIN": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        found = re.search(r"http\S+", self.process.stdout.readline())
        if found:
            self.console.print(f"The dashboard is at {found[0]}", soft_wrap=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait()

    def stay(self) -> None:
        """Keep it open until somebody has seen enough."""
        if self.process is None or self.process.poll() is not None:
            return
        with single_keys() as read_key:
            self.console.print("The dashboard stays open. Press any key to end.")
            read_key()


@contextmanager
def single_keys() -> Iterator[Callable[[], object]]:
    """Give a function that returns when a key is pressed; what was typed before is forgotten.

    Where a terminal cannot tell of single keys, it returns with the next line.
    """
    if termios is None or tty is None:
        yield sys.stdin.readline
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        yield lambda: os.read(terminal, 1)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def is_watched() -> bool:
    """Return True if a person sits before the demo and the pages can be served."""
    return (
        sys.stdin.isatty()
        and sys.stdout.isatty()
        and all(find_spec(name) is not None for name in ("fastapi", "jinja2", "uvicorn", "multipart"))
    )
