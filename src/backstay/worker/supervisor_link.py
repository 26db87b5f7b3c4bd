"""What ties a worker to the process that started it: it tells how it fares, and does not outlive it."""

from __future__ import annotations

import os
import select
import socket
import threading
from contextlib import suppress
from datetime import timedelta

import msgspec

from backstay.worker.worker import Worker

TELL_EVERY = 0.5
TELL_FIRST_EVERY = 0.05
LEAVE_WITHIN = 10.0
"""How long a worker whose starter is gone may take to give its jobs back."""


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a worker fares, as it tells its starter; `workers` are all the ids it has had."""

    url: str = ""
    workers: tuple[str, ...] = ()
    is_ready: bool = False
    settled: int = 0
    tainted: int = 0
    slots: int = 0
    silent_for: float = 0.0


class SupervisorLink:
    """Tells the process at the other end of a socket how a worker fares, and leaves when that process is gone.

    It has a thread of its own, so that neither a handler nor the engine can keep it from noticing.
    """

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        # What this process starts must not hold the tether: nobody could see then that the worker is gone.
        self._socket.set_inheritable(False)
        self._socket.setblocking(False)
        self._worker: Worker | None = None
        self._url = ""
        self._ids: dict[str, None] = {}
        threading.Thread(target=self._run, name="backstay-tether", daemon=True).start()

    def hold(self, worker: Worker, url: str) -> None:
        """Tell of this worker from now on."""
        self._worker, self._url = worker, url

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while True:
            report = self._report()
            with suppress(BlockingIOError):
                # A starter that does not read is frozen, not gone: it reads the rest when it thaws.
                if not self._sent(report):
                    return self._leave()
            if poll.poll((TELL_EVERY if report.is_ready else TELL_FIRST_EVERY) * 1000):
                return self._leave()

    def _sent(self, report: Report) -> bool:
        try:
            self._socket.send(msgspec.json.encode(report) + b"\n")
        except BlockingIOError:
            raise
        except OSError:
            return False
        return True

    def _report(self) -> Report:
        worker = self._worker
        if worker is None:
            return Report()
        self._ids[worker.id] = None
        slots, tainted = worker.slots
        return Report(
            url=self._url,
            workers=tuple(self._ids),
            is_ready=worker.is_ready,
            settled=worker.settled,
            tainted=tainted,
            slots=slots,
            silent_for=worker.silent_for,
        )

    def _leave(self) -> None:
        """Give back what is in hand without waiting for handlers to finish, and end in any case."""
        if self._worker is not None:
            self._worker.stop(grace=timedelta(0))
            threading.Event().wait(LEAVE_WITHIN)
        os._exit(1)
