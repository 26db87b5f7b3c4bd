"""One process for handlers, as its worker holds it: the channel to it, its end, and what it left behind."""

from __future__ import annotations

import json
import math
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

import psutil

from backstay.model.outcome import Crashed
from backstay.worker.process.meter import Meter
from backstay.worker.process.protocol import BegunMessage, Report, Unpacking, Word
from backstay.worker.process.requests import PendingRequests

SEND_WITHIN = 30.0
LAST_BREATH = 1.0
_PAUSE = 0.01
_CHUNK = 65_536

_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from backstay.worker.process.child import main; main(int(sys.argv[1]), *sys.argv[3:])"
)


class Child:
    """One process, and the channel to it; it imports the modules before it is given anything."""

    def __init__(self, *modules: str) -> None:
        self.served, self.has_begun = 0, False
        self.pending_requests: PendingRequests | None = None
        self._channel, theirs = socket.socketpair()
        self._channel.settimeout(SEND_WITHIN)
        self._unpacking = Unpacking()
        with theirs:
            try:
                self._process = _start(theirs, modules)
            except BaseException:
                self._channel.close()
                raise
        self.meter = Meter(self._process.pid)
        self._reaping = threading.Lock()
        # Not select, which knows no descriptors above 1023.
        self._poll = select.poll()
        self._poll.register(self._channel, select.POLLIN)

    @property
    def is_alive(self) -> bool:
        """Whether the process runs; one that has ended is left to `end` to be reaped."""
        return self._process.returncode is None and not _has_ended(self._process.pid)

    @property
    def died_idle(self) -> bool:
        """Whether a process that had served before did not even begin what it was given last.

        Of a new process that would not be said: importing the handler's module may be what kills it.
        """
        return self.served > 0 and not self.has_begun

    def send(self, task: bytes) -> None:
        """Hand over an attempt; raises OSError if the process is gone."""
        self._channel.sendall(task)

    def receive(self, *, within: float) -> BegunMessage | Report | None:
        """What the process says next, None if nothing yet; raises EOFError when it can say no more.

        What its handler asks for on the way is done.
        """
        if self.pending_requests is not None and self.pending_requests.is_waiting:
            self.pending_requests.answer(within=within)
            within = 0
        while (word := self._hear(within=within)) is not None:
            if isinstance(word, BegunMessage | Report):
                return word
            if self.pending_requests is not None:
                self.pending_requests.take(word)
            within = 0
        return None

    def _hear(self, *, within: float) -> Word | None:
        # What the handler started may hold the channel open, so its end alone does not tell.
        was_alive = self.is_alive
        if (message := self._next()) is not None:
            return message
        if self._poll.poll(math.ceil(within * 1000) if was_alive else 0):
            received = self._channel.recv(_CHUNK)
            self._unpacking.add(received)
            if not received:
                self._let_end()
                raise EOFError
        elif not was_alive:
            raise EOFError
        return self._next()

    def _next(self) -> Word | None:
        word: Word | None = self._unpacking.next(Word)
        return word

    def _let_end(self) -> None:
        """Wait a little for the end of a process that has closed the channel, so that it is seen how it ends."""
        for _ in range(round(LAST_BREATH / _PAUSE)):
            if not self.is_alive:
                return
            # Popen.wait would reap it.
            select.poll().poll(round(_PAUSE * 1000))

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has been ended."""
        # Not send_signal, which reaps: then the number could be another's when the group is killed by it.
        with self._reaping, suppress(ProcessLookupError):
            if self._process.returncode is None:
                os.kill(self._process.pid, number)

    def end(self) -> None:
        """Kill the process and what it started, which may go on where the process itself has crashed."""
        with self._reaping:
            if self._process.returncode is None:
                # Before it is reaped: until then, nobody else can be given the number of its group.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                self._process.kill()
                self._process.wait()
        self._channel.close()

    def crash(self, worker: str) -> Crashed:
        """The outcome of an attempt whose process has ended unasked."""
        code = self._process.returncode
        how = f"was killed by {_signal_name(-code)}" if code < 0 else f"left with exit code {code}"
        return Crashed(worker, told=f"the handler's process {self._process.pid} {how}", was_alone=True)


def _start(channel: socket.socket, modules: Sequence[str]) -> subprocess.Popen[bytes]:
    flags = ["-P", *(f"-W{option}" for option in sys.warnoptions)]
    told = [str(channel.fileno()), json.dumps([str(folder) for folder in sys.path]), *modules]
    # A session of its own: Ctrl-C in a terminal is the worker's to answer, and what the handler starts can be
    # ended with it. The program is started afresh: of a worker's threads and locks, nothing may be forked.
    return subprocess.Popen(  # noqa: S603 -- the program is this Python itself
        [sys.executable, *flags, "-c", _PROGRAM, *told],
        stdin=subprocess.DEVNULL,
        pass_fds=[channel.fileno()],
        start_new_session=True,
    )


def _has_ended(pid: int) -> bool:
    """Whether a child has ended; it is not reaped."""
    try:
        if not hasattr(os, "waitid"):  # macOS, before Python 3.13
            return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except (ChildProcessError, psutil.NoSuchProcess):
        return True


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
