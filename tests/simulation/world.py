"""A small world in one thread: processes that start, freeze and die, one database server, hints that may get lost."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from backstay.client.client import Client, make_client
from backstay.client.enqueue.building import Builder
from backstay.composition.connect import Connections
from backstay.composition.make_worker import make_worker
from backstay.composition.worker_options import WorkerOptions
from backstay.handlers.registry import Registry
from backstay.model.policy.profile import Profile
from backstay.model.records import Neighbour, NewWorker
from backstay.runtime.env import Env
from backstay.settings.sources import read_settings
from backstay.stores.database.queries import Dialect
from backstay.stores.database.sqlite import adapt
from backstay.worker.plan import Parts
from backstay.worker.worker import Worker
from simulation import history
from simulation.flowing import unmet
from simulation.inline_sqlite import Fault, InlineDatabase, Server, Wire, dialect_of, filled
from simulation.virtual_loop import STRAND, Process, Strand, VirtualLoop, context_of

START = datetime(2031, 3, 1, 12, 0, tzinfo=UTC)
URL = "postgresql://simulated/jobs"
SETTINGS = read_settings({}, {}, Path("/nonexistent"))


class World:
    """Everything of one run; the same seed makes the same world."""

    def __init__(
        self,
        seed: int,
        registry: Registry,
        profile: Profile,
        *,
        mutate: Callable[[Dialect], None] | None = None,
    ) -> None:
        self.seed, self.registry, self.profile = seed, registry, profile
        self.loop = VirtualLoop(self.chance("scheduling"))
        self.trace: list[str] = []
        self.names: dict[str, str] = {}
        self.processes: dict[str, Process] = {}
        self.troubled: dict[str, float] = {}
        self.first_seen: dict[str, float] = {}
        self.upset_at = -1.0
        self._envs: Counter[str] = Counter()
        self.listeners: list[tuple[Callable[[str], None], Context]] = []
        self.faults = FaultRates(self.chance("faults"))
        self._delays = self.chance("delays")
        self._hints = self.chance("hints")
        wire = Wire(self._delay, self._fault, lambda process: process.name in self.faults.cut)
        self.server = Server(self.loop, wire, START, dialect_of(mutate))
        filled(self.server.connection)
        history.watch(self.server.connection)
        self.judge = history.Judge(
            now=self.loop.time,
            is_excused=self._is_excused,
            max_crashes=profile_crashes(profile),
            age=lambda at: (adapt(self.server.now()) - at) / 1e6,
        )
        self.server.committed = self._judge
        self.violation: history.Violation | None = None

    def chance(self, purpose: str) -> random.Random:
        """Chance for one purpose, so that one kind of decision does not shift all others."""
        return random.Random(f"{self.seed} {purpose}")

    def note(self, line: str, job: str | None = None) -> None:
        """Write one line of the trace."""
        named = "" if job is None else f" {self.names.get(job, job)}"
        self.trace.append(f"{self.loop.time():12.6f}{named} {line}")

    def process(self, name: str) -> Process:
        """A process that starts now."""
        self.processes[name] = Process(name)
        return self.processes[name]

    def env(self, process: Process) -> Env:
        """Clock, chance, sleep and ids of one process."""
        # Several parts of one process have an env each: with the same chance they would make the same ids.
        self._envs[process.name] += 1
        chance = self.chance(f"{process.name} {self._envs[process.name]}")
        boot = chance.random() * 1e6

        def wall() -> datetime:
            return START + timedelta(seconds=self.loop.time() + process.wall_skew)

        def new_id() -> UUID:
            milliseconds = int(wall().timestamp() * 1000)
            bits = chance.getrandbits(74)
            high, low = bits >> 62, bits & ((1 << 62) - 1)
            return UUID(int=milliseconds << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low)

        return Env(
            wall=wall,
            monotonic=lambda: boot + self.loop.time(),
            random=chance.random,
            sleep=asyncio.sleep,
            secret=lambda: "0" * 64,
            new_id=new_id,
        )

    def start_worker(self, name: str, **options: Any) -> SimulatedWorker:
        """Start a worker's process: the real worker, engine and handlers as strands of one loop."""
        return SimulatedWorker(self, self.process(name), **options)

    def client(self, process: Process) -> Client:
        """The real client, in a process."""
        env = self.env(process)
        connections = self.connections(process, env)

        async def ready() -> None:
            """The server is always ready."""

        async def secret() -> bytes:
            return b"secret"

        stores = connections.stores("general")
        return make_client(
            stores,
            stores.enqueuing,
            connections.wakeups,
            registry=self.registry,
            builder=Builder(self.profile, env),
            lookup=None,
            joiner=connections.joining(ready),
            secret=secret,
            env=env,
        )

    def connections(self, process: Process, env: Env) -> Connections:
        return Connections(URL, InlineDatabase(self.server, process), SimulatedWakeups(self), env)

    def kill(self, process: Process, why: str) -> None:
        """End a process on the spot: none of its coroutines ever runs again."""
        if process.is_alive:
            self.note(f"{process.name} is killed: {why}")
            self.loop.bury(process)
            self.server.hang_up(process)

    def freeze(self, process: Process, seconds: float) -> None:
        """Let a process stand still for a while."""
        self.note(f"{process.name} stands still for {seconds:.1f} s")
        process.is_paused, process.paused_until = True, self.loop.time() + seconds
        self.loop.is_anyone_frozen = True
        self.troubled[process.name] = process.paused_until
        self.server.freeze(process)

        def wake() -> None:
            if process.is_paused and self.loop.time() >= process.paused_until:
                self.thaw(process)

        self.loop.call_later(seconds, wake, context=context_of(self.server.strand))

    def thaw(self, process: Process) -> None:
        """Let a frozen process go on."""
        if process.is_paused:
            self.note(f"{process.name} goes on")
            process.is_paused, process.paused_until = False, 0.0
            self.troubled[process.name] = self.loop.time()
            self.loop.is_anyone_frozen = any(one.is_paused for one in self.processes.values())

    def emit_for(self, process: Process) -> Callable[..., None]:
        """Events of a process, as lines of the trace."""

        def emit(event: str, /, **facts: Any) -> None:
            job = facts.pop("job_id", None)
            self.judge.counters[event] += 1
            told = " ".join(f"{name}={facts[name]}" for name in sorted(facts))
            self.note(f"{process.name} {event} {told}".rstrip(), job)
            if event == "outcome.refused":
                self.breaks(
                    history.Violation("the tables' own rules", f"{process.name} was refused: {told}", job)
                )

        return emit

    def breaks(self, violation: history.Violation) -> None:
        """Remember the first broken rule; the run ends with it."""
        if self.violation is None:
            self.violation = violation
            self.note(f"VIOLATION {violation}", violation.job)

    def _judge(self, process: Process, statement: str) -> None:
        if statement.startswith("workers/beat"):
            self.first_seen.setdefault(process.name, self.loop.time())
        for change in history.take(self.server.connection):
            old, new = change.old, change.new
            self.names.setdefault(change.job, f"job-{len(self.names)}")
            if old is None or (old["state"], old["lease_epoch"]) != (new["state"], new["lease_epoch"]):
                before = "new" if old is None else f"{old['state']}@{old['lease_epoch']}"
                told = f"{before} → {new['state']}@{new['lease_epoch']} attempt {new['attempt']} run {new['run']}"
                self.note(f"{process.name} {statement} {told}", change.job)
            try:
                self.judge.see(change, statement, process.name)
                if new["state"] == "running" and (old is None or old["state"] != "running"):
                    self._refuse_early(change.job)
            except history.Violation as violation:
                self.breaks(violation)

    def _refuse_early(self, job: str) -> None:
        why = unmet(self.server.connection, job)
        if why is not None:
            raise history.Violation("parents first", f"it started although {why}", job)

    def _is_excused(self, held: history.Holding, by: str) -> bool:
        process = self.processes[held.worker.rsplit("-", 1)[0]]
        trouble = self.troubled.get(process.name, -1.0)
        if not process.is_alive or process.is_paused or trouble >= held.kept_at:
            return True
        # Here one transaction locks the whole database, and those of a frozen process keep everybody from renewing.
        if self.server.stalled_at >= held.kept_at:
            return True
        # Whoever came after the database or its clock was away has nothing to compare with.
        return self.first_seen.get(by, 0.0) >= self.upset_at >= held.claimed_at

    def upset(self, what: str) -> None:
        """Something befell the database that makes every lease look old."""
        self.note(what)
        self.upset_at = self.loop.time()

    def _delay(self) -> float:
        chance = self._delays.random()
        if chance > 0.995:
            return chance * 0.8
        return 0.0002 + chance * 0.003

    def _fault(self, process: Process, name: str) -> Fault | None:
        fault = self.faults.draw(process)
        if fault is not None:
            self.note(f"{process.name} {name}: {fault.value}")
            self.judge.counters[f"wire: {fault.value}"] += 1
        if fault is not None or process.name in self.faults.cut:
            self.troubled[process.name] = self.loop.time() + 60.0
        return fault

    def send(self, hints: tuple[str, ...]) -> None:
        """Pass hints on to everybody who listens, some late, some never."""
        # Sets of words are iterated in another order by every interpreter.
        for hint in sorted(hints):
            for on_hint, context in list(self.listeners):
                if self._hints.random() >= self.faults.lost_hints:
                    self.loop.call_later(self._hints.random() * 0.02, on_hint, hint, context=context)


def profile_crashes(profile: Profile) -> int:
    """How many crashes a job may cause."""
    return Builder(profile, Env()).profile.layers("")[0].fields.get("max_crashes", 3)


@dataclass
class FaultRates:
    """How bad the wire is now."""

    chance: random.Random
    rate: float = 0.0
    lost_hints: float = 0.05
    cut: set[str] = field(default_factory=set)

    def draw(self, process: Process) -> Fault | None:
        """What happens to the next request of a process."""
        if self.rate == 0.0 or self.chance.random() >= self.rate:
            return None
        return list(Fault)[int(self.chance.random() * len(Fault))]


@dataclass(frozen=True)
class SimulatedWakeups:
    """Hints between the processes of a world."""

    world: World

    def send(self, *hints: str) -> None:
        self.world.send(hints)

    async def listen(self, on_hint: Callable[[str], None]) -> None:
        context = context_of(STRAND.get())
        entry = (on_hint, context)
        self.world.listeners.append(entry)
        try:
            await asyncio.Event().wait()
        finally:
            self.world.listeners.remove(entry)

    async def close(self) -> None:
        """Nothing is under way here."""


@dataclass(frozen=True)
class HandlersLoop:
    """The world's loop as the runner sees it: what it is given becomes part of the handlers' strand."""

    loop: VirtualLoop
    context: Context

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any) -> object:
        return self.loop.call_soon(callback, *args, context=self.context.copy())

    def create_task(self, coroutine: Any) -> asyncio.Task[Any]:
        return self.loop.create_task(coroutine)


class SimulatedProcess:
    """What the operating system says of a process; here it says the same of all, and saying it takes no time."""

    pid = 0

    def create_time(self) -> float:
        return START.timestamp()

    def cpu_percent(self) -> float:
        return 0.0

    def memory_info(self) -> Any:
        return SimpleNamespace(rss=0)


def no_transactions() -> Any:
    """Handlers here write no tables of their own."""
    raise AssertionError("no simulated handler opens a transaction")


class SimulatedWorker:
    """A worker's process, with an engine strand and a strand for its handlers."""

    def __init__(self, world: World, process: Process, *, host: str = "host", concurrency: int = 3) -> None:
        self.world, self.process, self.host = world, process, host
        env, emit = world.env(process), world.emit_for(process)
        handlers = context_of(Strand(f"{process.name} handlers", process))
        connections: list[Connections] = []

        def connect() -> Connections:
            connections.append(world.connections(process, env))
            return connections[-1]

        def make() -> Worker:
            return make_worker(
                WorkerOptions(
                    id_template=process.name, concurrency=concurrency, shutdown_grace=timedelta(seconds=8)
                ),
                completions=no_transactions,
                registry=world.registry,
                builder=Builder(world.profile, env),
                settings=SETTINGS,
                home="",
                connect=connect,
                schedules=tuple,
                emit=emit,
                env=env,
            )

        self.worker = handlers.run(make)
        self._on_a_machine_of_the_world(self.worker)
        self._with_handlers_apart(self.worker, handlers)
        self.task = world.loop.start(
            self._run(), Strand(f"{process.name} engine", process), name=process.name
        )

    def stop(self) -> None:
        """Ask it to leave in peace."""
        if self.process.is_alive:
            self.world.note(f"{self.process.name} is asked to stop")
            self.worker.stop()

    async def _run(self) -> None:
        world = self.world
        try:
            await self.worker._run_on_one_loop()
        except Exception as error:
            if world.loop.is_closed():
                raise
            world.breaks(history.Violation("workers live", f"{self.process.name} ended by itself: {error!r}"))
        world.note(f"{self.process.name} has left")
        world.loop.bury(self.process)
        world.server.hang_up(self.process)

    def _with_handlers_apart(self, worker: Worker, handlers: Context) -> None:
        # Where there are threads, handlers have a loop of their own; here they have a strand.
        runner: Any = worker._runner
        runner.use_loop = lambda loop: None
        runner._loop, runner._loop_thread = HandlersLoop(self.world.loop, handlers), 0

    def _on_a_machine_of_the_world(self, worker: Worker) -> None:
        world, plan, connect = self.world, worker._plan, worker._connect

        def describe(name: str) -> NewWorker:
            return replace(
                plan.describe(name), host=self.host, boot_id=self.host, pid=0, process_started=START
            )

        def is_gone(neighbour: Neighbour) -> bool:
            return not world.processes[neighbour.id.rsplit("-", 1)[0]].is_alive

        async def parts() -> Parts:
            made = await connect()

            def duties(worker: Worker) -> Any:
                maintenance = made.duties(worker)
                maintenance._neighbours._is_gone = is_gone
                return maintenance

            return replace(made, duties=duties)

        worker._plan, worker._connect = replace(plan, describe=describe), parts
