"""Runs handlers, each in a slot and under its time limit, and turns whatever happens into an outcome."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

from backstay import context as contexts
from backstay.errors import Cancel
from backstay.handlers.registry import Registry
from backstay.model.batch import Batching
from backstay.model.classify import ErrorRules
from backstay.model.figures import Tallied
from backstay.model.job import Claim, Guard
from backstay.model.outcome import Outcome, Released
from backstay.model.records import Measured
from backstay.model.text.error_text import error_info
from backstay.runtime.env import Env
from backstay.worker.job_lines import JobLines
from backstay.worker.process.pool import ProcessLimits, ProcessPool
from backstay.worker.run.batch_buffer import Gatherings
from backstay.worker.run.batch_run import BatchRun
from backstay.worker.run.django_connections import close_old_connections
from backstay.worker.run.held_attempts import HeldAttempts
from backstay.worker.run.local_backend import Services
from backstay.worker.run.outcomes import in_step, raised, returned, timed_out, with_notes
from backstay.worker.run.resumed_coroutine import Driven
from backstay.worker.run.running import Running, RunningContext
from backstay.worker.run.threads import ThreadPool
from backstay.worker.tally import Tally

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
        rules: ErrorRules,
        services: Services,
        result_limit: int,
        env: Env,
        on_measured: OnMeasured | None = None,
        process_limits: ProcessLimits | None = None,
        lines: JobLines | None = None,
    ) -> None:
        self._lines = lines
        self._registry, self._slots, self._finish, self._rules = registry, slots, finish, rules
        self._result_limit, self._env = result_limit, env
        self._services = services
        self._waiting: deque[Running] = deque()
        self._active = 0
        self._gatherings = Gatherings(self._add_batch, env)
        # Whether a task of the handlers' loop is taking jobs, or is about to.
        self._is_taking = False
        self._ready: deque[Running] = deque()
        self._lock = threading.Lock()
        self.in_hand = HeldAttempts(self._lock, env)
        self._tally = Tally()
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
        self._gatherings.use_loop(loop)

    def start(self, claims: Sequence[Claim]) -> list[Claim]:
        """Take claims over and run each as soon as a slot is free.

        Returns older claims on the same jobs, which are lost: no job is given to a worker that holds it.
        """
        now = self._env.monotonic()
        specs = {kind: self._registry.get(kind) for kind in {claim.kind for claim in claims}}
        overtaken: list[Running] = []
        put, wait = self.in_hand.put, self._waiting.append
        with self._lock:
            for claim in claims:
                spec = specs[claim.kind]
                running = Running(claim, spec, now)
                if (older := put(running)) is not None and self._overtake(older):
                    overtaken.append(older)
                if spec.batching is None:
                    wait(running)
                else:
                    self._waiting.extend(self._gatherings.add(running, spec.batching))
        for older in overtaken:
            older.stop(Released("claim lost"))
        self._pump()
        return [older.claim for older in overtaken]

    def _overtake(self, older: Running) -> bool:
        """Want nothing of a run any more, because its job is claimed again; the caller has the lock."""
        if older in self._waiting and not older.rest_of_batch:
            self._waiting.remove(older)
            return True
        self.in_hand.keep_overtaken(older)
        if older.is_abandoned:
            return False
        self.in_hand.give_up(older)
        return True

    def batch_room(self, kind: str, batching: Batching) -> int:
        """How many jobs of a batch kind can be used now: what its next batch still takes, if a slot is free for it."""
        with self._lock:
            if self._active + len(self._waiting) >= self._slots:
                return 0
            return self._gatherings.room(kind, batching)

    @property
    def waiting(self) -> int:
        """How many claims wait for a slot."""
        return len(self._waiting)

    def counts(self) -> tuple[int, int]:
        """How many handlers run, and how many claims wait for a slot."""
        return self._active, len(self._waiting)

    def stop_job(self, guard: Guard, outcome: Outcome) -> None:
        """Ask the handler of this claim to stop, and no other of the same job."""
        if (running := self.in_hand.held(guard)) is not None:
            running.stop(outcome)

    def abandon(self, guard: Guard, outcome: Outcome) -> bool:
        """Stop one handler and want nothing of it any more; False if nothing was wanted of it anyway."""
        with self._lock:
            running = self.in_hand.held(guard)
            if running is None or running.is_abandoned or running.settled is not None:
                return False
            self.in_hand.give_up(running)
        running.stop(outcome)
        return True

    def take_back_waiting(self, *, longer_than: float = -1.0) -> list[Claim]:
        """Give up and return the claims that have waited longer than this many seconds for a slot."""
        now = self._env.monotonic()
        with self._lock:
            waiting = [running for running in self._waiting if now - running.taken > longer_than]
            for running in waiting:
                self._waiting.remove(running)
            members = [one for running in waiting for one in (running, *running.rest_of_batch)]
            if longer_than < 0:
                members += self._gatherings.take_all()
            for running in members:
                self.in_hand.remove(running)
        return [running.claim for running in members if not running.is_abandoned]

    def take_tally(self) -> list[Tallied]:
        """Return the attempts that have ended since the last call, counted."""
        with self._lock:
            return self._tally.take()

    def close(self) -> None:
        """Let idle threads end, and end every process."""
        self._processes.close()
        self._threads.close()

    def _add_batch(self, first: Running) -> None:
        with self._lock:
            self._waiting.append(first)
        self._pump()

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
            if self._lines is not None:
                for member in (running, *running.rest_of_batch):
                    self._lines.started(member.claim)
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
                outcome = await self._batch_async(running) if running.spec.batching else self._begin(running)
                if isinstance(outcome, Driven):
                    self._give_task(running)
                    outcome = await self._go_on(running, outcome)
                self._done(running, outcome)
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
        close_old_connections()
        outcome = self._base.copy().run(self._attempt, running)
        close_old_connections()
        self._done(running, outcome)
        self._pump()

    def _run_in_process(self, running: Running) -> None:
        outcome, measured, spec = running.stop_outcome, None, running.spec
        if spec.timeout_by is not None:
            with suppress(Exception):  # The handler's own process will tell what is wrong with the arguments.
                running.shorten(spec.unpack(running.claim.args))
        if outcome is None:
            outcome, measured = self._processes.run(running)
        if measured is not None and self._on_measured is not None:
            self._on_measured(running.claim, measured)
        self._done(running, outcome)
        self._pump()

    def _done(self, running: Running, outcome: Outcome) -> None:
        if running.noted is not None:
            outcome = with_notes(outcome, running.noted)
        with self._lock:
            self._active -= 1
            self._end(running, outcome)
        if not running.is_abandoned:
            self._finish(running.claim, outcome)

    def _end(self, running: Running, outcome: Outcome) -> None:
        """Let go of an attempt and count it; the caller has the lock."""
        self.in_hand.remove(running)
        if not running.is_abandoned:
            started = running.taken if running.started is None else running.started
            took = self._env.monotonic() - started
            self._tally.note(running.claim, outcome, took)
            if self._lines is not None:
                self._lines.took(running.claim, took)

    def _begin(self, running: Running) -> Outcome | Driven:
        """Call a handler: its outcome, or if it has to wait, what goes on with it."""
        spec = running.spec
        running.started = self._env.monotonic()
        if running.stop_outcome is not None:
            return running.stop_outcome
        own = RunningContext(running, self._services)
        context = self._base.copy()
        context.run(contexts.enter, own)
        try:
            arguments = spec.unpack(running.claim.args)
            if spec.timeout_by is not None:
                running.shorten(arguments)
            assert spec.function is not None
            call = spec.function(own, **arguments) if spec.wants_context else spec.function(**arguments)
            if running.claim.timeout < SHORT:
                call = self._at_most(running, call)
            try:
                return Driven(call, context, context.run(call.send, None))
            except StopIteration as end:
                value = end.value
            # Not in the `except` above: an error here would have what the handler returned as its context.
            return self._completed(running, value)
        except BaseException as error:  # the user's code: whatever it raises is the outcome of this job alone
            return self._outcome_of(error, running)

    async def _go_on(self, running: Running, driven: Driven) -> Outcome:
        try:
            return self._completed(running, await driven)
        except BaseException as error:  # the user's code, as in `_begin`
            return self._outcome_of(error, running)

    async def _at_most(self, running: Running, call: Awaitable[object]) -> object:
        """Await a handler with a short time limit; longer ones are left to the watchdog, which costs nothing."""
        limit = asyncio.timeout(running.claim.timeout.total_seconds())
        try:
            async with limit:
                return await call
        except TimeoutError as error:
            if limit.expired():
                for member in (running, *running.rest_of_batch):
                    member.stop_outcome = member.stop_outcome or timed_out(member.claim, error)
                raise asyncio.CancelledError from error
            raise

    def _attempt(self, running: Running) -> Outcome:
        spec = running.spec
        if spec.batching is not None:
            return self._end_batch(running, self._batch_run(running).run())
        running.started = self._env.monotonic()
        if running.stop_outcome is not None:
            return running.stop_outcome
        contexts.enter(own := RunningContext(running, self._services))
        try:
            arguments = spec.unpack(running.claim.args)
            if spec.timeout_by is not None:
                running.shorten(arguments)
            assert spec.function is not None
            value = spec.function(own, **arguments) if spec.wants_context else spec.function(**arguments)
            return self._completed(running, value)
        except BaseException as error:  # the user's code: whatever it raises is the outcome of this job alone
            return self._outcome_of(error, running)

    async def _batch_async(self, first: Running) -> Outcome:
        async def drive(call: Coroutine[Any, Any, Any]) -> None:
            limited = self._at_most(first, call) if first.claim.timeout < SHORT else call
            context = self._base.copy()
            with suppress(StopIteration):
                driven = Driven(limited, context, context.run(limited.send, None))
                self._give_task(first)
                await driven

        return self._end_batch(first, await self._batch_run(first).run_async(drive))

    def _batch_run(self, first: Running) -> BatchRun:
        return BatchRun(first, rules=self._rules, result_limit=self._result_limit, env=self._env)

    def _end_batch(self, first: Running, outcomes: dict[Running, Outcome]) -> Outcome:
        """Hand on the outcomes of a batch; that of the first is returned, because it has the slot."""
        own = outcomes.pop(first)
        with self._lock:
            for member, outcome in outcomes.items():
                self._end(member, outcome)
        for member, outcome in outcomes.items():
            if not member.is_abandoned:
                self._finish(member.claim, outcome)
        return own

    def _completed(self, running: Running, value: object) -> Outcome:
        return running.settled or returned(running.spec, value, result_limit=self._result_limit)

    def _outcome_of(self, error: BaseException, running: Running) -> Outcome:
        if running.settled is not None:
            facts = {"job_id": str(running.claim.id), "kind": running.claim.kind}
            self._services.emit(
                "job.error_after_commit", **facts, error=error_info(error, error_class="").type
            )
            return running.settled
        step = None if running.book is None else running.book.failed_in(error)
        if running.stop_outcome is not None and isinstance(error, asyncio.CancelledError | Cancel):
            return in_step(running.stop_outcome, step)
        return in_step(raised(error, rules=self._rules, now=self._env.wall()), step)
