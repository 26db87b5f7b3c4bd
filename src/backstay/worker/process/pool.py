"""Processes for handlers that ask for one of their own: they can be killed, and they die alone."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from backstay.errors import InvalidSettings
from backstay.handler import Handler
from backstay.handlers.spec import HandlerSpec
from backstay.model.classify import ErrorClass, ErrorRules
from backstay.model.outcome import Complete, ErrorInfo, Fail, Outcome, Released
from backstay.model.records import Measured
from backstay.runtime.env import Env
from backstay.settings.job_logs import job_level
from backstay.worker.process.handle import Child
from backstay.worker.process.protocol import BegunMessage, Report, Task, packed
from backstay.worker.process.requests import PendingRequests
from backstay.worker.run.local_backend import Services, WorkerDesk
from backstay.worker.run.outcomes import raised, timed_out
from backstay.worker.run.running import Running

IMPORT_WITHIN = 20.0
"""Less than what maintenance allows beyond a time limit before it takes the job away from its worker."""
LOOK_EVERY = 0.1
KILL_AFTER = 2.0

_NEVER_BEGAN = Fail(
    ErrorInfo(
        "TimeoutError",
        f"the handler's module could not be imported within {IMPORT_WITHIN:g} s",
        ErrorClass.TIMEOUT,
    ),
    timed_out=True,
)

_M = TypeVar("_M")


def refuse_unimportable(spec: HandlerSpec) -> None:
    """Raise InvalidSettings unless another process can import this handler by its name."""
    function = spec.function
    assert function is not None
    module, name = function.__module__, function.__qualname__
    start = f"{spec.kind!r} cannot run in a process of its own: "
    if module == "__main__":
        # Importing a program that is not guarded would run it once more, in every process.
        raise InvalidSettings(
            f"{start}{name} is in the program that was started; move it to a module that can be imported"
        )
    if "<" in name:
        raise InvalidSettings(
            f"{start}{module}.{name} is made inside of a function; move it to the top level of its module"
        )
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not function and not (isinstance(found, Handler) and found.spec is spec):
        raise InvalidSettings(
            f"{start}{module}.{name} is not what that name gives when it is imported; give it a name of its own"
        )


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What a handler's process may come to before it is replaced; None is no limit."""

    jobs: int | None = None
    memory_mb: int | None = None

    def reached_by(self, child: Child) -> bool:
        """Whether the process has run enough jobs, or holds too much memory after the last."""
        if self.jobs is not None and child.served >= self.jobs:
            return True
        return self.memory_mb is not None and child.meter.rss_mb() > self.memory_mb


class ProcessPool:
    """Warm processes, started when they are first needed; every method may be called from any thread.

    There are never more of them than attempts have run at the same time, besides those that are being ended.
    """

    def __init__(
        self, *, rules: ErrorRules, services: Services, env: Env, limits: ProcessLimits | None = None
    ) -> None:
        self._rules, self._services, self._env = rules, services, env
        self._limits = limits or ProcessLimits()
        self._idle: list[Child] = []
        self._children: set[Child] = set()
        self._is_closed = False
        self._lock = threading.Lock()

    def run(self, running: Running) -> tuple[Outcome, Measured | None]:
        """Run one attempt and wait for its end, which comes at the latest when its time is over."""
        try:
            child = self._given(packed(self._task(running)))
        except OSError as error:
            # The system is out of processes or memory: that is as transient as any other want of resources.
            return raised(error, rules=self._rules, now=self._env.wall()), None
        report = self._wait_for(child, running)
        if report is None and child.died_idle and not running.is_asked_to_stop:
            # It died between two attempts, and nobody saw it before the task was sent: this one has not begun.
            self._forget(child)
            return self.run(running)
        if report is None:
            # The last look, while what has ended is not reaped yet.
            child.meter.look()
        measured = child.meter.used if report is None else report.measured
        child.served += report is not None
        # Once it was signalled, nothing else may run in it, even if its handler went on to the end.
        if report is None or running.is_asked_to_stop or self._limits.reached_by(child):
            self._forget(child)
        else:
            with self._lock:
                self._idle.append(child)
        if running.settled is not None:
            return running.settled, measured
        if report is None:
            return running.stop_outcome or child.crash(running.claim.worker), measured
        if running.stop_outcome is not None and not isinstance(report.outcome, Complete):
            return running.stop_outcome, measured
        return report.outcome, measured

    def close(self) -> None:
        """End every process at once."""
        with self._lock:
            self._is_closed = True
            children = list(self._children)
        for child in children:
            self._forget(child)

    def _task(self, running: Running) -> Task:
        claim, function = running.claim, running.spec.function
        assert function is not None
        return Task(
            module=function.__module__,
            name=function.__qualname__,
            args=claim.args,
            rules=self._rules,
            result_limit=self._services.result_limit,
            job_id=claim.id,
            kind=claim.kind,
            queue=claim.queue,
            attempt=claim.attempt,
            max_attempts=claim.max_attempts,
            run=claim.run,
            tenant=claim.tenant,
            correlation_id=claim.correlation_id,
            deadline=claim.deadline,
            lease_epoch=claim.epoch,
            lease=claim.lease,
            timeout=claim.timeout,
            worker=claim.worker,
            created_by=claim.created_by,
            tags=claim.tags,
            metadata=claim.metadata,
            home=self._services.home,
            transaction_limit=self._services.transaction_limit(claim),
            log_level=job_level(),
        )

    def _given(self, task: bytes) -> Child:
        """A process that has received this task; those that died while they were idle are replaced."""
        while (child := self._from_idle()) is not None:
            with suppress(OSError):
                if child.is_alive:
                    child.send(task)
                    return child
            self._forget(child)
        child = self._started()
        try:
            child.send(task)
        except OSError:
            self._forget(child)
            raise
        return child

    def _from_idle(self) -> Child | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _started(self, *modules: str) -> Child:
        with self._lock:
            if self._is_closed:
                raise OSError("the worker leaves, no more processes are started")
            child = Child(*modules)
            self._children.add(child)
            return child

    def _make_another_ready(self, running: Running) -> None:
        """Start the next process while this attempt's is given time to end: the next one in its slot need not wait."""
        function = running.spec.function
        assert function is not None
        # Without one, the next attempt starts its own, or tells why it cannot.
        with suppress(OSError):
            child = self._started(function.__module__)
            with self._lock:
                self._idle.append(child)

    def _wait_for(self, child: Child, running: Running) -> Report | None:
        """The report of an attempt; None if its process ended without one, by itself or because it had to."""
        begin_by = self._env.monotonic() + IMPORT_WITHIN
        child.has_begun = False
        child.meter.start()
        child.pending_requests = PendingRequests(WorkerDesk(running, self._services), child.send)
        begun = self._heard(BegunMessage, child, running, by=begin_by, otherwise=_NEVER_BEGAN)
        if begun is None:
            return None
        child.has_begun = True
        child.meter.begin(cpu_before=begun.cpu_before, peak_rss_mb=begun.peak_rss_mb)
        # A time limit is the handler's. If it held for the import as well, a short one could never be kept:
        # every attempt would be killed, and the next would have to import anew.
        running.started = now = self._env.monotonic()
        limit = now + running.claim.timeout.total_seconds()
        return self._heard(Report, child, running, by=limit, otherwise=timed_out(running.claim))

    def _heard(
        self, kind: type[_M], child: Child, running: Running, *, by: float, otherwise: Outcome
    ) -> _M | None:
        now, kill_at = self._env.monotonic(), float("inf")
        look_at = now + LOOK_EVERY
        while True:
            try:
                message = child.receive(within=min(LOOK_EVERY, by - now) if now < by else LOOK_EVERY)
            except (EOFError, OSError, msgspec.MsgspecError):
                return None
            if isinstance(message, kind):
                return message
            now = self._env.monotonic()
            if now >= look_at:
                # Not at every word of a handler that says much.
                child.meter.look()
                look_at = now + LOOK_EVERY
            if now >= by and not running.is_asked_to_stop:
                running.stop(otherwise)
            if now >= kill_at:
                return None
            if running.is_asked_to_stop and kill_at == float("inf"):
                kill_at = now + KILL_AFTER
                child.meter.look()
                child.signal(signal.SIGTERM)
                if not isinstance(running.stop_outcome, Released):
                    self._make_another_ready(running)

    def _forget(self, child: Child) -> None:
        child.end()
        with self._lock:
            self._children.discard(child)
