"""The dashboard in a process of its own, beside the worker of `backstay dev`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import dataclass

from backstay.cli.dashboard import ENDS_WITH_STDIN

PATIENCE = 5.0


@dataclass
class DashboardProcess:
    """A dashboard that is kept while code changes, and started again if it could not start with what was there."""

    application: str
    url: str | None
    port: int
    _child: subprocess.Popen[bytes] | None = None

    def ensure(self) -> None:
        """Start it unless it runs."""
        if self._child is None or self._child.poll() is not None:
            self._child = subprocess.Popen(  # noqa: S603 - our own command
                self._command(),
                # It ends when this pipe does, also where this process is killed.
                stdin=subprocess.PIPE,
                env={**os.environ, ENDS_WITH_STDIN: "1"},
                start_new_session=True,
            )

    def stop(self) -> None:
        """End it."""
        if self._child is None or self._child.poll() is not None:
            return
        self._child.terminate()
        try:
            self._child.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _command(self) -> list[str]:
        begin = [sys.executable, "-P", "-c", "from backstay.cli import main; main()"]
        given = [self.application, "--port", str(self.port if is_free(self.port) else 0)]
        return [*begin, "dashboard", *given, *(["--url", self.url] if self.url else [])]


def is_free(port: int) -> bool:
    """Return True if nobody listens on this port of this machine."""
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
