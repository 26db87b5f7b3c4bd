"""A worker: starts its parts on a thread of their own, and stops them so that nothing is left behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial

from backstay.errors import StoreBusy, StoreError, StoreUnavailable
from backstay.model.figures import Tallied
from backstay.model.job import Claim
from backstay.model.outcome import Outcome, Released
from backstay.model.records import Measured, TickInfo, Vitals
from backstay.runtime.env import Env
from backstay.settings.event_writer import EventWriter
from backstay.stores.contract import Workers
from backstay.wakeups.contract import ANYTHING, CANCEL, WORKERS
from backstay.worker.fetch.fetcher import Fetcher
from backstay.worker.heartbeat import Heartbeat
from backstay.worker.job_lines import JobLines
from backstay.worker.kept_running import keep_running
from backstay.worker.loop_monitor import HandlersLoop, LoopMonitor
from backstay.worker.plan import Duties, Parts, Plan, Routes
from backstay.worker.run.runner import Runner
from backstay.worker.settler import Settler
from backstay.worker.step_writer import StepWriter
from backstay.worker.watchdog import watch_time_limits

STOP_GRACE = 2.0


class Worker:
    """Claims and runs jobs until it is stopped.

    The engine has a thread and an event loop of its own, where no handler ever runs: one that blocks cannot cost a
    lease. `run` belongs on the loop where `async def` handlers are to run.
    """

    def __init__(
        self,
        plan: Plan,
        connect: Callable[[], Awaitable[Parts]],
        *,
        loop_factory: Callable[[], asyncio.AbstractEventLoop] | None,
        emit: EventWriter,
        env: Env,
    ) -> None:
        self._plan, self._connect = plan, connect
        self._loop_factory, self._emit, self._env = loop_factory, emit, env
        self.id = plan.new_id()
        self.started, self._stop = threading.Event(), threading.Event()
        self._grace = plan.shutdown_grace
        self._engine_loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._step_writer, self._lines = StepWriter(emit=emit, env=env), JobLines(emit, env)
        self._runner = Runner(
            plan.registry,
            slots=plan.concurrency,
            finish=self._finish,
            rules=plan.rules,
            services=plan.services(self._step_writer, emit, env),
            result_limit=plan.result_limit,
            env=env,
            on_measured=self._tell_measured,
            process_limits=plan.process_limits,
            lines=self._lines,
        )
        self._settler: Settler | None = None
        self._fetcher: Fetcher | None = None
        self._heartbeat: Heartbeat | None = None
        self._handlers: HandlersLoop | None = None
        self._monitor: LoopMonitor | None = None

    @property
    def running(self) -> int:
        """How many handlers run now."""
        return self._runner.counts()[0]

    @property
    def is_ready(self) -> bool:
        """Whether it claims jobs."""
        return self.started.is_set() and not self._stop.is_set()

    @property
    def silent_for(self) -> float:
        """Seconds since its engine was last seen at work; 0 before it has begun."""
        return self._env.monotonic() - self._monitor.felt_at if self._monitor else 0.0

    @property
    def slots(self) -> tuple[int, int]:
        """How many handlers can run at the same time, and how many of those slots are lost to stubborn ones."""
        return self._plan.concurrency, self._runner.in_hand.tainted

    @property
    def settled(self) -> int:
        """How many outcomes this worker has stored."""
        return self._settler.settled if self._settler else 0

    def _take_tally(self) -> list[Tallied]:
        """What it has counted for the figures since the last time."""
        return self._runner.take_tally() + (self._settler.take_deaths() if self._settler else [])

    def vitals(self) -> Vitals:
        """How this worker fares, as its sign of life tells it."""
        return self._monitor.vitals() if self._monitor else Vitals()

    @property
    def late_outcomes(self) -> int:
        """How many late outcomes of this worker were refused."""
        return self._settler.lost if self._settler else 0

    async def run(self) -> None:
        """Work until stopped; cancelling this stops it gracefully, too."""
        loop = asyncio.get_running_loop()
        self._runner.use_loop(loop)
        self._handlers = HandlersLoop(loop, threading.get_ident())
        ended: asyncio.Future[None] = loop.create_future()
        self._emit.open()
        thread = threading.Thread(
            target=self._run_engine, args=(loop, ended), name="backstay-engine", daemon=True
        )
        thread.start()
        try:
            await asyncio.shield(ended)
        except asyncio.CancelledError:
            self.stop()
            await asyncio.shield(ended)
            raise
        finally:
            # A thread that waits for a start that failed goes on.
            self.started.set()
            thread.join(timeout=5)
            self._runner.close()
            self._emit.close()

    async def _run_on_one_loop(self) -> None:
        """Work until stopped, with engine and handlers on the running loop: for simulations, where nothing blocks."""
        loop = asyncio.get_running_loop()
        self._runner.use_loop(loop)
        self._handlers = HandlersLoop(loop, threading.get_ident())
        try:
            await self._engine()
        finally:
            self.started.set()
            self._runner.close()

    def stop(self, *, grace: timedelta | None = None) -> None:
        """Claim no more, let running jobs finish, give the rest back; callable from any thread or signal handler.

        `grace` is how long they may take instead of what the worker was made with, also when it stops already.
        """
        self._grace = self._grace if grace is None else grace
        self._stop.set()
        loop, stopping = self._engine_loop, self._stopping
        if loop is not None and stopping is not None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(stopping.set)

    def _run_engine(self, handlers_loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None]) -> None:
        error: BaseException | None = None
        try:
            with asyncio.Runner(loop_factory=self._loop_factory) as runner:
                runner.run(self._engine())
        except BaseException as caught:  # raised again by run()
            error = caught
            self._stop.set()  # it claims no more
            if self.started.is_set():
                self._emit("worker.failed", worker=self.id, error=repr(caught))

        def tell() -> None:
            if ended.done():
                return
            if error is None:
                ended.set_result(None)
            else:
                ended.set_exception(error)

        with suppress(RuntimeError):
            handlers_loop.call_soon_threadsafe(tell)

    async def _engine(self) -> None:
        self._engine_loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        if self._stop.is_set():
            return
        parts = await self._start()
        if parts is None:
            return
        tasks: list[asyncio.Task[None]] = []
        try:
            settler, fetcher, heartbeat, duties, monitor = self._assemble(parts)
            self._step_writer.locks.attach(parts.locks)
            tasks = self._begin(parts, settler, fetcher, heartbeat, duties, monitor)
            fetching = keep_running("fetcher", fetcher.run, emit=self._emit, env=self._env)
            self.started.set()
            await self._until_stopped([*tasks, fetching])
            await self._shut_down(parts, fetcher, fetching, settler)
            await self._say_goodbye(parts, duties, holds_something=fetcher.may_hold or not settler.is_idle)
            self._lines.sum_up()
            self._emit("worker.stopped", worker=self.id, settled=settler.settled, late_outcomes=settler.lost)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await parts.close()

    def _begin(
        self,
        parts: Parts,
        settler: Settler,
        fetcher: Fetcher,
        heartbeat: Heartbeat,
        duties: Duties,
        monitor: LoopMonitor,
    ) -> list[asyncio.Task[None]]:
        """Begin everything but fetching."""
        env, step_writer = self._env, self._step_writer
        work: dict[str, Callable[[], Awaitable[None]]] = {
            "settler": settler.run,
            "heartbeat": heartbeat.run,
            "steps": partial(step_writer.run, parts.steps, parts.progress, parts.signals),
            "duties": duties.run,
            "pulse": monitor.run,
            "lines": self._lines.run,
            "wakeups": partial(parts.wakeups.listen, self._ear(fetcher, heartbeat, duties)),
            "watchdog": partial(watch_time_limits, self._runner, self._finish, emit=self._emit, env=env),
        }
        work |= {name: partial(run, self) for name, run in parts.beside.items()}
        work |= self._plan.leaving(self, parts.settling, self._runner, settler, fetcher, self._emit, env)
        return [keep_running(name, run, emit=self._emit, env=env) for name, run in work.items()]

    async def _start(self) -> Parts | None:
        """Connect and register, waiting for a database that is not there yet; None if stopped before."""
        assert self._stopping is not None
        pause = 0.1
        while not self._stop.is_set():
            try:
                parts = await self._registered()
            except (StoreUnavailable, StoreBusy) as error:
                self._emit("store.failed", doing="start", error=str(error))
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), timeout=pause)
                pause = min(pause * 2, 5.0)
                continue
            self._emit("worker.started", worker=self.id, kinds=[kind.kind for kind in self._plan.kinds])
            return parts
        return None

    async def _registered(self) -> Parts:
        parts = await self._connect()
        try:
            await parts.workers.register(self._plan.describe(self.id))
            await parts.kinds.declare(self._plan.kinds)
            parts.wakeups.send(WORKERS)
        except BaseException:
            await parts.close()
            raise
        return parts

    def _assemble(self, parts: Parts) -> tuple[Settler, Fetcher, Heartbeat, Duties, LoopMonitor]:
        plan, emit, env = self._plan, self._emit, self._env
        settler = plan.settler(
            parts.settling, self._step_writer, parts.wakeups, self._lines, emit=emit, env=env
        )
        fetcher = Fetcher(
            parts.fetching,
            self._runner,
            plan.asks(frozenset()),
            slots=plan.concurrency,
            poll_busy=plan.poll_busy.total_seconds(),
            poll_idle=plan.poll_idle.total_seconds(),
            give_back=settler.offer,
            hint=parts.wakeups.send,
            emit=emit,
            env=env,
        )
        fetcher.worker_id = self.id

        def trust(is_trusted: bool) -> None:
            if fetcher.is_trusted is not is_trusted:
                fetcher.is_trusted = is_trusted
                fetcher.wake_event.ring()

        heartbeat = Heartbeat(
            parts.beating,
            self._runner,
            unsettled=settler.unsettled,
            worker_id=lambda: self.id,
            trust=trust,
            every=plan.renew_every,
            emit=emit,
            env=env,
        )
        assert self._handlers is not None
        monitor = LoopMonitor(
            self._runner, self._handlers, settled=lambda: settler.settled, emit=emit, env=env
        )
        self._settler, self._fetcher, self._heartbeat, self._monitor = settler, fetcher, heartbeat, monitor
        return settler, fetcher, heartbeat, parts.duties(self), monitor

    def _ear(self, fetcher: Fetcher, heartbeat: Heartbeat, duties: Duties) -> Callable[[str], None]:
        def hear(hint: str) -> None:
            fetcher.hear(hint)
            if hint in (CANCEL, ANYTHING):
                heartbeat.wake_event.ring()
            duties.on_hint(hint)

        return hear

    async def _until_stopped(self, tasks: list[asyncio.Task[None]]) -> None:
        assert self._stopping is not None
        stopping = asyncio.create_task(self._stopping.wait())
        done, _ = await asyncio.wait([stopping, *tasks], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        for task in done - {stopping}:
            task.result()
            raise AssertionError(f"the worker's {task.get_name()} ended although nobody stopped it")

    async def _shut_down(
        self, parts: Parts, fetcher: Fetcher, fetching: asyncio.Task[None], settler: Settler
    ) -> None:
        self._emit("worker.stopping", worker=self.id, running=self.running)
        fetcher.stop()
        # Beside the rest: a database that does not answer must not take the time that jobs have left.
        telling = asyncio.create_task(self._tell_register(parts, "stopping"))
        # A claim under way is waited for and given back: cut off, its jobs would wait for their leases to run out.
        await fetching
        for claim in self._runner.take_back_waiting():
            settler.offer(claim, Released())
        await self._drained(settler, lambda: self._grace.total_seconds())
        for claim in self._runner.in_hand.claims():
            self._runner.stop_job(claim.guard, Released())
        await self._drained(settler, lambda: STOP_GRACE)
        for claim in self._runner.in_hand.claims():
            if self._runner.abandon(claim.guard, Released()):
                settler.offer(claim, Released())
        await self._drained(settler, lambda: max(self._grace.total_seconds(), STOP_GRACE))
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)

    async def _say_goodbye(self, parts: Parts, duties: Duties, *, holds_something: bool) -> None:
        try:
            await duties.resign()
        except StoreError as error:
            self._emit("store.failed", doing="resign", error=str(error))
        # What could not be given back is taken at once from a worker whose process is gone, but not from one that has
        # left in order.
        if not holds_something:
            await self._tell_register(parts, "stopped")

    async def _tell_register(self, parts: Parts, state: str) -> None:
        try:
            await parts.workers.retire(self.id, state=state)
        except StoreError as error:
            # The register learns by silence what it could not be told.
            self._emit("store.failed", doing="leave", error=str(error))

    async def _drained(self, settler: Settler, seconds: Callable[[], float]) -> None:
        began = self._env.monotonic()
        while (
            self._runner.in_hand.is_busy or not settler.is_idle
        ) and self._env.monotonic() < began + seconds():
            await self._env.sleep(0.01)

    async def _replace_identity(self, parts_workers: Workers) -> None:
        """Go on under a new id after having been given up for dead; claims in hand stay guarded by their epochs."""
        old, self.id = self.id, self._plan.new_id()
        await parts_workers.register(self._plan.describe(self.id))
        if self._fetcher is not None:
            self._fetcher.worker_id = self.id
        self._emit("worker.replaced", old=old, worker=self.id)

    def _use_routes(self, routes: Routes) -> None:
        """Look into these queues as well, and claim by the numbers of now."""
        asks = self._plan.asks(routes)
        if self._fetcher is not None and self._fetcher.asks != asks:
            self._fetcher.ask_for(asks)
            if self._heartbeat is not None:
                self._heartbeat.wake_event.ring()

    def _use_tick_info(self, near: TickInfo) -> None:
        """Reckon with others that take from the same lines, or with none, and do what somebody told this worker."""
        if near.told == "stop":
            self.stop()
        if self._fetcher is not None:
            self._fetcher.use_tick_info(near)

    def _finish(self, claim: Claim, outcome: Outcome) -> None:
        assert self._settler is not None
        assert self._fetcher is not None
        self._settler.offer(claim, outcome)
        self._fetcher.note_finished(claim, outcome)

    def _tell_measured(self, claim: Claim, measured: Measured) -> None:
        assert self._settler is not None
        self._settler.measured(claim, measured)
        facts = {"job_id": str(claim.id), "kind": claim.kind, "attempt": claim.attempt}
        self._emit("job.measured", **facts, cpu_ms=measured.cpu_ms, peak_rss_mb=measured.peak_rss_mb)
