"""How is a private server started, found ready, and ended?"""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

START_SECONDS = 60.0
STOP_SECONDS = 15.0
_POLL_SECONDS = 0.05


class ServerDidNotStart(RuntimeError):
    """A private server ended early or was not ready in time; the message ends with its last output."""


class ServerProcess:
    """A program of our own on the loopback address; it ends when this process ends, however that happens.

    Use it as a context manager, or call `start` and `stop`.
    `kill` is kill -9 and leaves the port closed; `start` brings the same server back on the same port.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        port: int,
        name: str,
        env: Mapping[str, str] | None = None,
        is_ready: "Callable[[ServerProcess], bool] | None" = None,
    ) -> None:
        self.argv, self.port, self.name = list(argv), port, name
        self.host = "127.0.0.1"
        self.url = f"http://127.0.0.1:{port}"
        self._env = {**os.environ, **(env or {})}
        self._is_ready = is_ready or accepts_connections
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix=f"backstay-{name}-")
        self.folder = Path(self._folder.name)
        self.log_file = self.folder / "output.log"

    @property
    def is_running(self) -> bool:
        """True while the program runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Start the program and return when it is ready; raises `ServerDidNotStart`."""
        guard = [sys.executable, "-m", "backstay_parts.servers.guard", *self.argv]
        with self.log_file.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own command, without a shell
                guard,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._env,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready(self):
            if not self.is_running or time.monotonic() > deadline:
                self.stop()
                raise ServerDidNotStart(f"{self.name} did not start: {self.output()[-2000:]}")
            time.sleep(_POLL_SECONDS)
        return self

    def stop(self) -> None:
        """End the program and wait for its end; does nothing when it does not run."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            _kill_group(process)

    def kill(self) -> None:
        """End the program at once, as kill -9 does."""
        process, self._process = self._process, None
        if process is None:
            return
        _kill_group(process)
        if process.stdin is not None:
            process.stdin.close()
        # The guard is gone, the program under it may still be going: whoever starts it again must not meet the old one.
        deadline = time.monotonic() + STOP_SECONDS
        while accepts_connections(self) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)

    def close(self) -> None:
        """Stop, and remove the server's own folder."""
        self.stop()
        self._folder.cleanup()

    def output(self) -> str:
        """What the program has printed so far."""
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def accepts_connections(server: ServerProcess) -> bool:
    """True when something listens at the server's port."""
    with contextlib.suppress(OSError), socket.create_connection((server.host, server.port), timeout=1.0):
        return True
    return False


def answers_http(path: str = "/") -> Callable[[ServerProcess], bool]:
    """A readiness check: any HTTP answer to a GET of the path."""

    def is_ready(server: ServerProcess) -> bool:
        try:
            httpx.get(server.url + path, timeout=2.0)
        except httpx.HTTPError:
            return False
        return True

    return is_ready


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    # The guard leads a session of its own, so the group is the guard and the program, nobody else.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.wait(STOP_SECONDS)
