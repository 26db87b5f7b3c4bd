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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import reduce
from queue import SimpleQueue
from types import FrameType
from typing import Any, NoReturn

from backstay import context as contexts
from backstay.context import Context
from backstay.errors import InvalidSettings
from backstay.handler import Handler
from backstay.handlers import codec
from backstay.handlers.spec import HandlerSpec, describe
from backstay.model.classify import ErrorClass, ErrorRules
from backstay.model.job import JobId
from backstay.model.outcome import Fail, Outcome
from backstay.model.records import Measured
from backstay.model.text.error_text import error_info
from backstay.runtime.env import SYSTEM
from backstay.settings.job_logs import forward, set_job_level
from backstay.worker.process.peak_memory import forget_peak, peak_rss_mb
from backstay.worker.process.protocol import BegunMessage, Order, Report, Task, Unpacking, refuse_unsayable
from backstay.worker.process.remote_backend import Channel, Forwarding, RemoteBackend
from backstay.worker.run.django_connections import close_old_connections
from backstay.worker.run.local_backend import Completions
from backstay.worker.run.outcomes import in_step, raised, returned

_SET_PARENT_DEATH_SIGNAL = 1
_CHUNK = 65_536


class Terminated(SystemExit):
    """The worker wants this process to end; raised in the handler, so that it can clean up."""


def main(descriptor: int, *modules: str) -> None:
    """Serve the worker at the other end of this socket, after importing what it will ask for."""
    _die_with_the_worker()
    ending = Termination()
    signal.signal(signal.SIGTERM, ending.ask)
    raw = socket.socket(fileno=descriptor)
    # What the handler starts must not keep the channel open: the worker could not see this process end.
    raw.set_inheritable(False)
    tasks: SimpleQueue[Task] = SimpleQueue()
    channel = Channel(raw)
    forward(Forwarding(channel))
    # Reads beside the handler, because only so is a worker that has died noticed on every system.
    threading.Thread(target=_read, args=(raw, channel, tasks), name="backstay-channel", daemon=True).start()
    try:
        for module in modules:
            # What cannot be imported fails again for the attempt that needs it, and is told there.
            with suppress(Exception):
                importlib.import_module(module)
        while True:
            channel.say(_report(tasks.get(), channel, ending))
    except (Terminated, OSError):
        _leave()


def _die_with_the_worker() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


class Termination:
    """Ends the handler when the worker wants it to, but not in the middle of a commit."""

    def __init__(self) -> None:
        self._is_held = False
        self._asked: int | None = None

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Answer the signal."""
        self._asked = number
        if not self._is_held:
            raise Terminated(128 + number)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Put it off while the block lasts."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
            if self._asked is not None:
                raise Terminated(128 + self._asked)


def _read(raw: socket.socket, channel: Channel, tasks: SimpleQueue[Task]) -> None:
    unpacking = Unpacking()
    with suppress(OSError):
        while received := raw.recv(_CHUNK):
            unpacking.add(received)
            while (order := _next(unpacking)) is not None:
                if isinstance(order, Task):
                    tasks.put(order)
                else:
                    channel.hear(order)
    _leave()


def _next(unpacking: Unpacking) -> Order | None:
    order: Order | None = unpacking.next(Order)
    return order


def _leave() -> NoReturn:
    """End, together with whatever the handler has started."""
    _flush()
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _report(task: Task, channel: Channel, ending: Termination) -> Report:
    # Otherwise a small job would report the peak memory of a large one before it.
    forget_peak()
    set_job_level(task.log_level)
    before = _cpu_seconds()
    backend = RemoteBackend(task, channel, ending.held)

    def begin() -> None:
        backend.begun = SYSTEM.monotonic()
        channel.say(BegunMessage(cpu_before=before, peak_rss_mb=_peak_rss_mb()))

    close_old_connections()
    outcome = contextvars.copy_context().run(_attempt, task, backend, begin)
    close_old_connections()
    backend.tell_last()
    _flush()
    measured = Measured(cpu_ms=round((_cpu_seconds() - before) * 1000), peak_rss_mb=_peak_rss_mb())
    return Report.of(outcome, measured)


def _attempt(task: Task, backend: RemoteBackend, begin: Callable[[], None]) -> Outcome:
    contexts.enter(own := _context(task, backend))
    try:
        try:
            spec, backend.completions = _find(task)
        finally:
            begin()
        arguments = spec.unpack(task.args)
        assert spec.function is not None
        call: Any = spec.function(own, **arguments) if spec.wants_context else spec.function(**arguments)
        value = asyncio.run(call) if spec.is_async else call
        return backend.settled_as or returned(spec, value, result_limit=task.result_limit)
    except Terminated:
        raise
    except BaseException as error:  # the user's code: whatever it raises is the outcome of this job alone
        if backend.settled_as is not None:
            own.log.warning("job.error_after_commit", error=type(error).__qualname__)
            return backend.settled_as
        return _outcome_of(error, own, task.rules)


def _outcome_of(error: BaseException, own: Context, rules: ErrorRules) -> Outcome:
    """What comes of what the handler raised; a plain failure, if more of it cannot be told to the worker."""
    try:
        outcome = in_step(raised(error, rules=rules, now=SYSTEM.wall()), own.failed_in(error))
        refuse_unsayable(outcome)
    except Terminated:
        raise
    except BaseException as odd:  # exceptions are the user's code, too
        info, why = (error_info(one, error_class=ErrorClass.UNKNOWN) for one in (error, odd))
        told = f"{info.message} (that is all that could be kept of it: {why.type}: {why.message})"
        return Fail(replace(info, message=told))
    return outcome


def _context(task: Task, backend: RemoteBackend) -> Context:
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
        lease_epoch=task.lease_epoch,
        home=task.home,
        worker_id=task.worker,
        created_by=task.created_by,
        tags=() if task.tags is None else codec.decode(task.tags),
        metadata=None if task.metadata is None else codec.decode(task.metadata),
        timeout=task.timeout,
        backend=backend,
    )


def _find(task: Task) -> tuple[HandlerSpec, Callable[[], Completions] | None]:
    found: object = reduce(getattr, task.name.split("."), importlib.import_module(task.module))
    if isinstance(found, Handler):
        return found.spec, found._app._completions
    if not callable(found):
        raise InvalidSettings(f"{task.module}.{task.name} is no handler in the process that was to run it")
    # Registered by a call, so that the name still stands for the plain function.
    return describe(found, kind=task.kind, runs_in="process"), None


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # Where nobody reads any more, or the handler has closed it, there is nothing to be saved.
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _cpu_seconds() -> float:
    return sum(os.times()[:4])


def _peak_rss_mb() -> int:
    # On Linux not from getrusage, which also counts what the worker had when it started this process.
    return peak_rss_mb() or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_048_576
