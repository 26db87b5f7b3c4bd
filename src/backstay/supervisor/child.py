"""One worker process, as its supervisor sees it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import psutil

from backstay.runtime.env import Env
from backstay.worker.supervisor_link import Report

Command = Callable[[int, int], Sequence[str]]
"""What starts process number so-and-so with its end of the tether at this descriptor."""


class Child:
    """A running process and its last report."""

    def __init__(
        self, number: int, process: asyncio.subprocess.Process, ours: socket.socket, env: Env
    ) -> None:
        self.number, self._process, self._env = number, process, env
        self.report = Report()
        self.started_at = self._heard_at = env.monotonic()
        self.was_ready = False
        self.reason_to_leave: str | None = None
        self.was_killed = False
        self._reading = asyncio.create_task(self._read(ours))

    @classmethod
    async def start(cls, number: int, command: Command, env: Env) -> Child:
        """Start the process; raises OSError when the system cannot."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                # A session of its own: Ctrl-C in a terminal is the supervisor's to answer.
                process = await asyncio.create_subprocess_exec(
                    *command(number, theirs.fileno()),
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
        return cls(number, process, ours, env)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def lived_for(self) -> float:
        """Seconds since it was started."""
        return self._env.monotonic() - self.started_at

    @property
    def silent_for(self) -> float:
        """Seconds since its engine was last known to be at work."""
        return self._env.monotonic() - self._heard_at + self.report.silent_for

    @property
    def rss_mb(self) -> int:
        """What its process uses; 0 once it has ended."""
        try:
            used: int = psutil.Process(self.pid).memory_info().rss
        except psutil.Error:
            return 0
        return used >> 20

    async def ended(self) -> int:
        """Wait for its end; returns its exit code, which is negative for a signal."""
        code = await self._process.wait()
        # What it said last may still have to be read, and it is what tells whom to take over from.
        with suppress(TimeoutError):
            await asyncio.wait_for(self._reading, timeout=1)
        return code

    def ask_to_leave(self, reason: str) -> None:
        """Let it finish its jobs and end."""
        self.reason_to_leave = self.reason_to_leave or reason
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.was_killed = True
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def _read(self, ours: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=ours)
        try:
            while line := await reader.readline():
                self._note(line)
        except (OSError, ValueError):
            # Cut off in the middle: the process is dying, which its exit code will tell.
            pass
        finally:
            writer.close()

    def _note(self, line: bytes) -> None:
        told: Any = msgspec.json.decode(line, type=Report)
        self.report, self._heard_at = told, self._env.monotonic()
        self.was_ready = self.was_ready or self.report.is_ready
