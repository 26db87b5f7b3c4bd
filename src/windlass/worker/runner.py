"""Runs handlers, each in a slot and under its time limit, and turns whatever happens into an outcome."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from windlass import context as contexts
from windlass.classify import Rules
from windlass.env import Env
from windlass.error_text import error_info
from windlass.errors import Cancel
from windlass.job import Claim, JobId
from windlass.outcome import Outcome
from windlass.records import Measured
from windlass.registry import Registry
from windlass.worker.desk import Services
from windlass.worker.driving import Driven
from windlass.worker.endings import in_step, raised, returned, timed_out
from windlass.worker.processes import ProcessLimits, ProcessPool
from windlass.worker.running import Running, RunningContext
from windlass.worker.threads import ThreadPool

Finish = Callable[[Claim, Outcome], None]
OnMeasured = Callable[[Claim, Measured], None]

MOST_IN_A_ROW = 50
"""So many handlers that never wait run before the loop's other tasks have their turn."""

SHORT = timedelta(seconds=2)
"""Below this a time limit is kept to the millisecond, above it to a quarter of a second."""


class Runner:
    """Holds the slots of a worker: `async def` handlers run on the handlers' loop, `def` handlers in threads.

    Those that ask for it run in processes; a thread waits for each.
    Claims beyond the slots wait here. Every method may be called from any thread.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        slots: int,
        finish: Finish,
        rules: Rules,
        services: Services,
        result_limit: int,
        env: Env,
        on_measured: OnMeasured | None = None,
        process_limits: ProcessLimits | None = None,
    ) -> None:
        self._registry, self._slots, self._finish, self._rules = registry, slots, finish, rules
        self._result_limit, self._env = result_limit, env
        self._services = services
        self._waiting: deque[Running] = deque()
        self._in_hand: dict[JobId, Running] = {}
        self._active = 0
        # Whether a task of the handlers' loop is taking jobs, or is about to.
        self._is_taking = False
        self._ready: deque[Running] = deque()
        self.tainted = 0
        """How many handlers keep their slot although nobody wants anything of them any more."""
        self._lock = threading.Lock()
        self._threads = ThreadPool(slots)
        self._processes = ProcessPool(rules=rules, services=services, env=env, limits=process_limits)
        self._on_measured = on_measured
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        # What a job sets in its context must not be seen by another, so each starts from a copy of this one.
        self._base = contextvars.copy_context()

    def use_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run `async def` handlers on this loop, which runs in the calling thread."""
        self._loop, self._loop_thread = loop, threading.get_ident()

    def start(self, claims: Sequence[Claim]) -> None:
        """Take claims over and run each as soon as a slot is free."""
        now = self._env.monotonic()
        specs = {kind: self._registry.get(kind) for kind in {claim.kind for claim in claims}}
        with self._lock:
            for claim in claims:
                running = Running(claim, specs[claim.kind], now, now)
                self._in_hand[claim.id] = running
                self._waiting.append(running)
        self._pump()

    def claims(self) -> list[Claim]:
        """Every claim in hand whose lease must be kept."""
        with self._lock:
            return [
                running.claim
                for running in self._in_hand.values()
                if not running.is_abandoned and running.completed is None
            ]

    @property
    def is_busy(self) -> bool:
        """Whether a handler whose end is wanted is in hand, also one whose job is completed already."""
        with self._lock:
            return any(not running.is_abandoned for running in self._in_hand.values())

    @property
    def waiting(self) -> int:
        """How many claims wait for a slot."""
        return len(self._waiting)

    def counts(self) -> tuple[int, int]:
        """How many handlers run, and how many claims wait for a slot."""
        return self._active, len(self._waiting)

    def claim_of(self, task: asyncio.Task[Any] | None) -> Claim | None:
        """The claim whose handler runs on the loop while this is its current task; None if it is no handler."""
        with self._lock:
            started = [one for one in self._in_hand.values() if one.started is not None]
        on_loop = [one for one in started if one.spec.is_async and one.spec.runs_in != "process"]
        # One that has not waited yet has no task of its own, and nothing else can run before it does.
        first = next((one for one in on_loop if one.task is None), None)
        found = first or next((one for one in on_loop if one.task is task), None)
        return found.claim if found else None

    def note_renewed(self, job_ids: Iterable[JobId], *, sent: float) -> None:
        """The leases of these jobs were renewed by a request sent then."""
        for job_id in job_ids:
            if (running := self._in_hand.get(job_id)) is not None:
                running.renewed = sent

    def has_suspect(self) -> bool:
        """Whether a job that may kill its worker is in hand."""
        with self._lock:
            return any(running.claim.is_suspect for running in self._in_hand.values())

    def stop_job(self, job_id: JobId, outcome: Outcome) -> None:
        """Ask one handler to stop."""
        running = self._in_hand.get(job_id)
        if running is not None:
            running.stop(outcome)

    def abandon(self, job_id: JobId, outcome: Outcome) -> Claim | None:
        """Stop one handler and want nothing of it any more; returns its claim, None if it is not in hand."""
        with self._lock:
            running = self._in_hand.get(job_id)
            if running is None or running.is_abandoned or running.completed is not None:
                return None
            running.is_abandoned = True
            self.tainted += 1
        running.stop(outcome)
        return running.claim

    def take_back_waiting(self, *, longer_than: float = -1.0) -> list[Claim]:
        """Give up the claims that have waited longer than so many seconds for a slot; returns them."""
        now = self._env.monotonic()
        with self._lock:
            waiting = [running for running in self._waiting if now - running.taken > longer_than]
            for running in waiting:
                self._waiting.remove(running)
                del self._in_hand[running.claim.id]
        return [running.claim for running in waiting]

    def overdue(self, *, grace: timedelta) -> list[Claim]:
        """Claims whose handler has ignored its time limit for longer than `grace`."""
        now = self._env.monotonic()
        with self._lock:
            return [
                running.claim
                for running in self._in_hand.values()
                if running.started is not None
                and not running.is_abandoned
                and now - running.started > (running.claim.timeout + grace).total_seconds()
            ]

    def close(self) -> None:
        """Let idle threads end, and end every process."""
        self._processes.close()
        self._threads.close()

    def _pump(self) -> None:
        """Start what fits into the free slots."""
        with self._lock:
            self._fill_slots()
            if self._is_taking or not self._ready:
                return
            self._is_taking = True
        assert self._loop is not None, "use_loop comes before start"
        if threading.get_ident() == self._loop_thread:
            self._open_turn()
        else:
            self._loop.call_soon_threadsafe(self._open_turn)

    def _fill_slots(self) -> None:
        """Give the free slots to those that wait; the caller has the lock."""
        while self._waiting and self._active < self._slots:
            running = self._waiting.popleft()
            self._active += 1
            if running.spec.runs_in == "process":
                self._threads.submit(partial(self._run_in_process, running))
            elif running.spec.is_async:
                self._ready.append(running)
            else:
                self._threads.submit(partial(self._run_in_thread, running))

    def _open_turn(self) -> None:
        assert self._loop is not None
        self._loop.create_task(self._take_turns())

    async def _take_turns(self) -> None:
        """Run jobs one after another in this task, until one has to wait: the task is its own from then on."""
        try:
            for in_a_row in itertools.count(1):
                running = self._next_ready()
                if running is None:
                    return
                self._done(running, await self._attempt_async(running))
                if running.task is not None:
                    return self._pump()
                if in_a_row % MOST_IN_A_ROW == 0:
                    await self._env.sleep(0)
        except BaseException:
            self._is_taking = False
            raise

    def _next_ready(self) -> Running | None:
        with self._lock:
            if not self._ready:
                self._fill_slots()
            if self._ready:
                return self._ready.popleft()
            self._is_taking = False
            return None

    def _give_task(self, running: Running) -> None:
        """A handler waits: the task it runs in is its own now, and another takes the jobs behind it."""
        task = asyncio.current_task()
        assert task is not None
        running.belong_to(task, task.get_loop())
        self._is_taking = False
        self._pump()

    def _run_in_thread(self, running: Running) -> None:
        self._done(running, self._base.copy().run(self._attempt, running))
        self._pump()

    def _run_in_process(self, running: Running) -> None:
        outcome, measured = running.stop_outcome, None
        if outcome is None:
            outcome, measured = self._processes.run(running)
        if measured is not None and self._on_measured is not None:
            self._on_measured(running.claim, measured)
        self._done(running, outcome)
        self._pump()

    def _done(self, running: Running, outcome: Outcome) -> None:
        with self._lock:
            self._active -= 1
            self.tainted -= running.is_abandoned
            if self._in_hand.get(running.claim.id) is running:
                del self._in_hand[running.claim.id]
        if not running.is_abandoned:
            self._finish(running.claim, outcome)

    async def _attempt_async(self, running: Running) -> Outcome:
        spec = running.spec
        running.started = self._env.monotonic()
        if running.stop_outcome is not None:
            return running.stop_outcome
        own = RunningContext(running, self._services)
        context = self._base.copy()
        context.run(contexts.enter, own)
        try:
            arguments = spec.unpack(running.claim.args)
            assert spec.function is not None
            call = spec.function(own, **arguments) if spec.wants_context else spec.function(**arguments)
            if running.claim.timeout < SHORT:
                call = self._at_most(running, call)
            return self._completed(running, await Driven(call, context, partial(self._give_task, running)))
        except BaseException as error:  # the user's code: whatever it raises is the outcome of this job alone
            return self._outcome_of(error, running)

    async def _at_most(self, running: Running, call: Awaitable[object]) -> object:
        """Await a handler with a short time limit; longer ones are left to the watchdog, which costs nothing."""
        limit = asyncio.timeout(running.claim.timeout.total_seconds())
        try:
            async with limit:
                return await call
        except TimeoutError as error:
            if limit.expired():
                running.stop_outcome = timed_out(running.claim, error)
                raise asyncio.CancelledError from error
            raise

    def _attempt(self, running: Running) -> Outcome:
        spec = running.spec
        running.started = self._env.monotonic()
        if running.stop_outcome is not None:
            return running.stop_outcome
        contexts.enter(own := RunningContext(running, self._services))
        try:
            arguments = spec.unpack(running.claim.args)
            assert spec.function is not None
            value = spec.function(own, **arguments) if spec.wants_context else spec.function(**arguments)
            return self._completed(running, value)
        except BaseException as error:  # the user's code: whatever it raises is the outcome of this job alone
            return self._outcome_of(error, running)

    def _completed(self, running: Running, value: object) -> Outcome:
        return running.completed or returned(running.spec, value, result_limit=self._result_limit)

    def _outcome_of(self, error: BaseException, running: Running) -> Outcome:
        if running.completed is not None:
            facts = {"job_id": str(running.claim.id), "kind": running.claim.kind}
            self._services.emit("job.outlived", **facts, error=error_info(error, error_class="").type)
            return running.completed
        step = None if running.book is None else running.book.failed_in(error)
        if running.stop_outcome is not None and isinstance(error, asyncio.CancelledError | Cancel):
            return in_step(running.stop_outcome, step)
        return in_step(raised(error, rules=self._rules, now=self._env.wall()), step)
