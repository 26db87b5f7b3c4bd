"""Makes trouble by seed: kills, freezes, cuts, shifts clocks, and lets people interfere; then makes peace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from backstay.errors import BackstayError
from backstay.model.job import JobId
from simulation.virtual_loop import Process, Strand
from simulation.world import SimulatedWorker, World

WORKERS = (2, 2, 3)
HOSTS = ("north", "south")


class Nemesis:
    """Strikes while it may; keeps count of what would excuse a delay."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.workers: list[SimulatedWorker] = []
        self.jobs: list[JobId] = []
        self.set_back = 0.0
        self._chance = world.chance("nemesis")
        self._starts = 0
        self._wanted = self._chance.choice(WORKERS)
        self._is_peace = False
        self._acts: list[tuple[int, Callable[[], None]]] = [
            (4, self._kill),
            (2, self._kill_leader),
            (3, self._freeze),
            (2, self._stop),
            (3, self._cut),
            (3, self._spoil_the_wire),
            (2, self._take_the_database_down),
            (1, self._set_the_database_clock),
            (1, self._set_a_worker_clock),
            (1, self._lose_hints),
            (6, self._interfere),
        ]

    def start_workers(self) -> None:
        """Begin with a few."""
        for _ in range(self._wanted):
            self._start()

    async def strike(self, seconds: float) -> None:
        """Do one bad thing after another, and start again what was killed."""
        until = self.world.loop.time() + seconds
        weights = [weight for weight, _ in self._acts]
        while self.world.loop.time() < until:
            await asyncio.sleep(self._chance.expovariate(1 / 6.0))
            act = self._chance.choices([act for _, act in self._acts], weights)[0]
            self.world.judge.counters[f"fault: {act.__name__.strip('_')}"] += 1
            act()
            if len(self._alive()) < self._wanted and self._chance.random() < 0.5:
                self._start()

    def make_peace(self) -> None:
        """End every fault; people let go of what they hold back."""
        world = self.world
        self._is_peace = True
        world.note("peace")
        world.faults.rate, world.faults.lost_hints = 0.0, 0.05
        world.faults.cut.clear()
        if world.server.is_down:
            world.server.come_up(restarted=False)
        for worker in self._alive():
            world.thaw(worker.process)
        while len(self._alive()) < 2:
            self._start()
        world.loop.create_task(self._keep_workers(), name="supervisor")
        world.loop.start(self._release_all(), Strand("operator", world.process("operator at peace")))

    def stop_workers(self) -> None:
        """Ask everybody to leave."""
        self._is_peace = False
        for worker in self._alive():
            worker.stop()

    async def _keep_workers(self) -> None:
        # Jobs go on killing workers after the last fault, so somebody must go on starting them.
        while self._is_peace:
            await asyncio.sleep(2.0)
            if self._is_peace and len(self._alive()) < 2:
                self._start()

    def _start(self) -> None:
        self._starts += 1
        host = HOSTS[int(self._chance.random() * len(HOSTS))]
        name = f"w{self._starts}"
        self.world.note(f"{name} starts on {host}")
        self.workers.append(self.world.start_worker(name, host=host, concurrency=self._chance.randint(1, 4)))

    def _alive(self) -> list[SimulatedWorker]:
        return [worker for worker in self.workers if worker.process.is_alive]

    def _any(self) -> SimulatedWorker | None:
        alive = self._alive()
        return alive[int(self._chance.random() * len(alive))] if alive else None

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        self.world.loop.call_later(seconds, lambda: None if self._is_peace else act())

    def _kill(self) -> None:
        if (worker := self._any()) is not None:
            self.world.kill(worker.process, "by the nemesis")

    def _kill_leader(self) -> None:
        found = self.world.server.connection.execute("SELECT worker FROM backstay_leaders").fetchone()
        if found is not None:
            self.world.kill(self.world.processes[found["worker"].rsplit("-", 1)[0]], "it leads")

    def _freeze(self) -> None:
        if (worker := self._any()) is not None and not worker.process.is_paused:
            self.world.freeze(
                worker.process, self._chance.choice([3.0, 20.0, 70.0, 130.0]) * self._chance.random()
            )

    def _stop(self) -> None:
        if (worker := self._any()) is not None:
            worker.stop()

    def _cut(self) -> None:
        worker = self._any()
        if worker is None:
            return
        name, cut = worker.process.name, self.world.faults.cut
        seconds = self._chance.choice([2.0, 30.0, 90.0]) * self._chance.random()
        self.world.note(f"{name} is cut off for {seconds:.1f} s")
        cut.add(name)
        self._later(seconds, lambda: cut.discard(name))

    def _spoil_the_wire(self) -> None:
        faults = self.world.faults
        faults.rate = self._chance.choice([0.05, 0.2, 0.5])
        self.world.note(f"every request fails with a chance of {faults.rate}")

        def heal() -> None:
            faults.rate = 0.0
            self.world.note("the wire is sound again")

        self._later(self._chance.random() * 15, heal)

    def _take_the_database_down(self) -> None:
        server = self.world.server
        if server.is_down:
            return
        seconds = self._chance.choice([1.0, 15.0, 100.0]) * self._chance.random()
        restarted = self._chance.random() < 0.5
        self.world.upset(f"the database is away for {seconds:.1f} s{', restarted' if restarted else ''}")
        server.go_down()
        self._later(seconds, lambda: server.come_up(restarted=restarted))

    def _set_the_database_clock(self) -> None:
        seconds = self._chance.choice([-200.0, -20.0, 20.0, 200.0, 2000.0]) * self._chance.random()
        self.world.upset(f"the database's clock jumps by {seconds:+.1f} s")
        self.world.server.clock_skew += seconds
        self.set_back += max(0.0, -seconds)

    def _set_a_worker_clock(self) -> None:
        if (worker := self._any()) is not None:
            worker.process.wall_skew += self._chance.uniform(-1e6, 1e6)
            self.world.note(f"{worker.process.name} has another idea of the time")

    def _lose_hints(self) -> None:
        faults = self.world.faults
        faults.lost_hints = 1.0
        self.world.note("every hint is lost")
        self._later(20.0, lambda: setattr(faults, "lost_hints", 0.05))

    def _interfere(self) -> None:
        process = self.world.processes.setdefault("operator", Process("operator"))
        self.world.loop.start(self._act_as_operator(), Strand("operator", process))

    async def _act_as_operator(self) -> None:
        if not self.jobs:
            return
        client = self.world.client(self.world.processes["operator"])
        job = self.jobs[int(self._chance.random() * len(self.jobs))]
        verb = self._chance.choice(["cancel", "hold", "release", "retry", "resolve", "pause", "resume"])
        self.world.note(f"operator: {verb}", str(job))
        try:
            match verb:
                case "cancel":
                    await client.jobs.cancel(job, reason="operator")
                case "hold":
                    await client.jobs.hold(job, reason="operator")
                case "release":
                    await client.jobs.release(job)
                case "retry":
                    await client.jobs.retry(job, reason="operator", delay=self._chance.choice([0, 3]))
                case "resolve":
                    await client.dead_letters.resolve(job, reason="operator", by="operator")
                case "pause":
                    await client.queues.pause("default", reason="operator")
                case "resume":
                    await client.queues.resume("default")
        except BackstayError as error:
            self.world.note(f"operator: refused, {type(error).__name__}", str(job))

    async def _release_all(self) -> None:
        client = self.world.client(self.world.processes["operator at peace"])
        # More than once: what was asked for in times of trouble may arrive late.
        while self._is_peace:
            await client.queues.resume("default")
            held = self.world.server.connection.execute(
                "SELECT id FROM backstay_jobs WHERE state = 'held' AND parked_for IS NULL AND id NOT IN "
                "(SELECT job_id FROM backstay_dependencies WHERE verdict IS NULL)"
            )
            for row in held.fetchall():
                try:
                    await client.jobs.release(row["id"])
                except BackstayError as error:
                    self.world.note(f"operator: refused, {type(error).__name__}", row["id"])
            await asyncio.sleep(20.0)
