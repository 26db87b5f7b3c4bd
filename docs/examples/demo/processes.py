"""Starting, hearing and killing the worker processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("worker.py")


class Processes:
    """The worker processes by name, and the events they tell of."""

    def __init__(self) -> None:
        self.by_name: dict[str, subprocess.Popen[str]] = {}
        self.killed: set[str] = set()
        self.heard: deque[tuple[str, dict[str, Any]]] = deque()

    def start(self, name: str) -> None:
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM)],
            env={**os.environ, "SHOP_WORKER": name},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # A Ctrl-C in the terminal is for us alone; we then stop the workers ourselves.
            start_new_session=True,
        )
        self.by_name[name] = process
        threading.Thread(target=self._listen, args=(name, process), daemon=True).start()

    def kill(self, name: str) -> None:
        self.killed.add(name)
        self.by_name[name].send_signal(signal.SIGKILL)

    def stop(self) -> None:
        for process in self.by_name.values():
            process.terminate()
        for process in self.by_name.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)
            process.kill()
            process.wait()

    def state(self, name: str) -> str:
        if name in self.killed:
            return "killed"
        return "alive" if self.by_name[name].poll() is None else "gone"

    def _listen(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with suppress(ValueError):
                self.heard.append((name, json.loads(line)))
