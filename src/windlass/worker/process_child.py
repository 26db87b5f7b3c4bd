"""What runs in the process of a handler: takes one attempt after another until its worker is gone."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import importlib
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import Any, NoReturn

from windlass import context as contexts
from windlass.context import Context
from windlass.env import SYSTEM
from windlass.errors import InvalidSettings
from windlass.handler import Handler
from windlass.job import JobId
from windlass.outcome import Outcome
from windlass.records import Measured
from windlass.registry import HandlerSpec, describe
from windlass.worker.endings import raised, returned
from windlass.worker.process_words import Begun, Report, Task, Unpacking, packed

_SET_PARENT_DEATH_SIGNAL = 1
_RESET_PEAK = "5"
_CHUNK = 65_536


class Terminated(SystemExit):
    """The worker wants this process to end; raised in the handler, so that it can clean up."""


def main(descriptor: int) -> None:
    """Serve the worker at the other end of this socket."""
    _die_with_the_worker()
    signal.signal(signal.SIGTERM, _terminate)
    channel = socket.socket(fileno=descriptor)
    # What the handler starts must not keep the channel open: the worker could not see this process end.
    channel.set_inheritable(False)
    tasks: SimpleQueue[Task] = SimpleQueue()
    # Reads beside the handler, because only so is a worker that has died noticed on every system.
    threading.Thread(target=_read, args=(channel, tasks), name="windlass-channel", daemon=True).start()
    try:
        while True:
            channel.sendall(packed(_report(tasks.get(), lambda: channel.sendall(packed(Begun())))))
    except (Terminated, OSError):
        _leave()


def _die_with_the_worker() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated(128 + number)


def _read(channel: socket.socket, tasks: SimpleQueue[Task]) -> None:
    unpacking = Unpacking()
    with suppress(OSError):
        while received := channel.recv(_CHUNK):
            unpacking.add(received)
            while (task := unpacking.next(Task)) is not None:
                tasks.put(task)
    _leave()


def _leave() -> NoReturn:
    """End, together with whatever the handler has started."""
    _flush()
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _report(task: Task, begin: Callable[[], None]) -> Report:
    _forget_peak()
    before = _cpu_seconds()
    outcome = contextvars.copy_context().run(_attempt, task, begin)
    _flush()
    measured = Measured(cpu_ms=round((_cpu_seconds() - before) * 1000), peak_rss_mb=_peak_rss_mb())
    return Report.of(outcome, measured)


def _attempt(task: Task, begin: Callable[[], None]) -> Outcome:
    contexts.enter(own := _context(task))
    try:
        try:
            spec = _find(task)
        finally:
            begin()
        arguments = spec.unpack(task.args)
        assert spec.function is not None
        call: Any = spec.function(own, **arguments) if spec.wants_context else spec.function(**arguments)
        value = asyncio.run(call) if spec.is_async else call
        return returned(spec, value, result_limit=task.result_limit)
    except Terminated:
        raise
    except BaseException as error:  # the user's code: whatever it raises is the outcome of this job alone
        return raised(error, rules=task.rules, now=SYSTEM.wall())


def _context(task: Task) -> Context:
    return Context(
        job_id=JobId(task.job_id),
        kind=task.kind,
        queue=task.queue,
        attempt=task.attempt,
        max_attempts=task.max_attempts,
        run=task.run,
        tenant=task.tenant,
        correlation_id=task.correlation_id,
        deadline=task.deadline,
    )


def _find(task: Task) -> HandlerSpec:
    found: object = reduce(getattr, task.name.split("."), importlib.import_module(task.module))
    if isinstance(found, Handler):
        return found.spec
    if not callable(found):
        raise InvalidSettings(f"{task.module}.{task.name} is no handler in the process that was to run it")
    # Registered by a call, so that the name still stands for the plain function.
    return describe(found, kind=task.kind, runs_in="process")


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # Where nobody reads any more, or the handler has closed it, there is nothing to be saved.
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _cpu_seconds() -> float:
    return sum(os.times()[:4])


def _forget_peak() -> None:
    # Otherwise a small job would be told of with the peak of a large one before it.
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)


def _peak_rss_mb() -> int:
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_048_576
    # Not from getrusage, which also counts what the worker had when it started this process.
    peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) // 1024
