"""One simulated run: jobs come, faults strike, faults stop, and everything must come to its end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from simulation.handlers import KINDS, PROFILE, REGISTRY, WORLD, Stage
from simulation.history import Violation
from simulation.nemesis import Nemesis
from simulation.virtual_loop import Strand, Stuck
from simulation.world import World
from windlass.errors import OutcomeUnknown, StoreError
from windlass.handle import JobHandle
from windlass.options import JobOptions
from windlass.stores.queries import Dialect

JOBS = 16
TROUBLE_SECONDS = 60.0
PATIENCE_SECONDS = 500.0
"""How long after the last fault everything must have ended, clocks set back not counted."""


@dataclass(frozen=True)
class Report:
    """What came of one run."""

    seed: int
    trace: list[str]
    violation: Violation | None
    counters: dict[str, int]
    virtual_seconds: float
    named: str | None

    def tail(self, lines: int = 40) -> str:
        """The end of the trace, of the job concerned and of what befell processes."""
        name = self.named
        shown = [
            line for line in self.trace if name is None or f" {name} " in line or " job-" not in line[:24]
        ]
        return "\n".join(shown[-lines:])

    def explain(self, command: str) -> str:
        """What a person needs who has to look into it."""
        return (
            f"seed {self.seed}: {self.violation}\n{self.tail()}\n"
            f"after {self.virtual_seconds:.1f} virtual seconds; to see it again: {command}"
        )


def simulate(seed: int, *, mutate: Callable[[Dialect], None] | None = None) -> Report:
    """Run one world to its end."""
    world = World(seed, REGISTRY, PROFILE, mutate=mutate)
    token = WORLD.set(Stage(world))
    try:
        world.loop.run_until_complete(Scenario(world).play())
    except Violation as violation:
        world.breaks(violation)
    except Stuck as stuck:
        world.breaks(Violation("liveness", str(stuck)))
    finally:
        world.loop.close()
        world.server.connection.close()
        WORLD.reset(token)
    for failure in world.loop.failures:
        world.breaks(Violation("no surprises", failure))
    violation = world.violation
    named = None if violation is None or violation.job is None else world.names.get(violation.job)
    return Report(seed, world.trace, violation, dict(world.judge.counters), world.loop.time(), named)


class Scenario:
    """Who takes part in a run, and what must be true at its end."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.nemesis = Nemesis(world)
        self.accepted: dict[str, str] = {}
        self.unknown: set[str] = set()
        self._chance = world.chance("load")

    async def play(self) -> None:
        """Make trouble for a while, then see that everything ends well."""
        world = self.world
        self.nemesis.start_workers()
        people = world.process("people")
        load = world.loop.start(self._enqueue_all(), Strand("load", people))
        faults = world.loop.create_task(self.nemesis.strike(TROUBLE_SECONDS), name="nemesis")
        await self._unless_broken(asyncio.gather(load, faults))
        self.nemesis.make_peace()
        await self._unless_broken(self._all_ended())
        self.nemesis.stop_workers()
        await self._unless_broken(self._all_gone())
        self._reckon()

    async def _unless_broken(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        while not task.done():
            await asyncio.wait([task], timeout=1.0)
            if self.world.violation is not None:
                raise self.world.violation
        task.result()

    async def _enqueue_all(self) -> None:
        client = self.world.client(self.world.processes["people"])
        for _ in range(JOBS):
            await asyncio.sleep(self._chance.expovariate(JOBS / (TROUBLE_SECONDS * 0.8)))
            await self._enqueue(client)

    async def _enqueue(self, client: Any) -> None:
        chance, world = self._chance, self.world
        handler = KINDS[int(chance.random() ** 2 * len(KINDS))]
        spec = handler.spec
        args = spec.bind((), {"plan": plan(chance)})
        options = job_options(chance)
        handle: JobHandle[Any] | None = None
        try:
            handle = await client.jobs.enqueue_alone(spec, args, options)
        except OutcomeUnknown as error:
            for job in error.ids:
                self.unknown.add(str(job))
        except StoreError as error:
            world.note(f"people could not enqueue: {error}")
        if handle is not None:
            self.accepted[str(handle.id)] = spec.kind
            world.note(f"people enqueued {spec.kind} {args}", str(handle.id))
            self.nemesis.jobs.append(handle.id)

    async def _all_ended(self) -> None:
        patience = self.world.loop.time() + PATIENCE_SECONDS + self.nemesis.set_back
        while (left := self._unended()) and self.world.violation is None:
            if self.world.loop.time() > patience:
                job, state = left[0]
                raise Violation(
                    "liveness",
                    f"{len(left)} jobs have not ended {PATIENCE_SECONDS:g} s after the last fault; "
                    f"this one is {state}",
                    job,
                )
            await asyncio.sleep(1.0)

    async def _all_gone(self) -> None:
        give_up = self.world.loop.time() + 120.0
        while any(worker.process.is_alive for worker in self.nemesis.workers):
            if self.world.loop.time() > give_up:
                raise Violation("liveness", "a worker that was asked to stop is still there")
            await asyncio.sleep(0.5)

    def _unended(self) -> Sequence[tuple[str, str]]:
        found = self.world.server.connection.execute(
            "SELECT id, state FROM windlass_jobs WHERE state NOT IN ('completed', 'dead', 'resolved', 'cancelled')"
        )
        return [(row["id"], row["state"]) for row in found]

    def _reckon(self) -> None:
        """What the tables must say when all is over."""
        connection = self.world.server.connection
        rows = {row["id"]: row for row in connection.execute("SELECT * FROM windlass_jobs")}
        for job in self.accepted:
            if job not in rows:
                raise Violation("nothing lost", "enqueue returned, but the job is not there", job)
        for job, row in rows.items():
            if job not in self.accepted and job not in self.unknown:
                raise Violation("nothing invented", "nobody enqueued it", job)
            self._reckon_attempts(job, row)
            letters = self._count("dead_letters WHERE job_id = ? AND status IN ('new', 'investigating')", job)
            if (letters == 1) is not (row["state"] == "dead"):
                raise Violation("dead letters", f"it is {row['state']}, and its open letters do not fit", job)

    def _reckon_attempts(self, job: str, row: Any) -> None:
        recorded, runs = self._count("attempts WHERE job_id = ?", job), row["run"]
        if recorded != (expected := runs - (row["state"] == "completed")):
            raise Violation("attempts", f"{recorded} finished attempts are on record, not {expected}", job)
        free = self._count("attempts WHERE job_id = ? AND status IN ('released', 'snoozed')", job)
        crashed = self._count("attempts WHERE job_id = ? AND status = 'crashed'", job)
        retried = self._count("dead_letters WHERE job_id = ? AND status = 'retried'", job)
        fewest = 0 if retried else runs - free - crashed
        if not fewest <= row["attempt"] <= runs - free:
            raise Violation(
                "attempts", f"{row['attempt']} count after {runs} runs, {free} of them to be given back", job
            )

    def _count(self, what: str, job: str) -> int:
        found = self.world.server.connection.execute(f"SELECT count(*) FROM windlass_{what}", (job,))
        return int(found.fetchone()[0])


def plan(chance: random.Random) -> list[str]:
    """What the first runs of a job do."""
    steps = []
    while chance.random() < 0.45:
        verb = chance.choices(
            ["fail", "ok", "hopeless", "snooze", "cancel", "ignore", "crash"], [8, 4, 1, 2, 1, 2, 2]
        )[0]
        longest = 70.0 if verb in ("ok", "ignore") else 3.0
        steps.append(f"{verb} {chance.random() ** 3 * longest:.3f}")
    steps.append(f"ok {chance.random() ** 4 * 60:.3f}")
    return steps


def job_options(chance: random.Random) -> JobOptions:
    """Delays, priorities, keys and limits of a job."""
    return JobOptions(
        delay=round(chance.random() * 30, 3) if chance.random() < 0.3 else None,
        priority=chance.randint(1, 10) if chance.random() < 0.3 else None,
        unique=f"only-{chance.randint(1, 3)}" if chance.random() < 0.2 else None,
        key=f"key-{chance.getrandbits(32)}" if chance.random() < 0.2 else None,
        deadline=timedelta(seconds=chance.uniform(20, 200)) if chance.random() < 0.1 else None,
        expires=timedelta(seconds=chance.uniform(5, 60)) if chance.random() < 0.1 else None,
        queue="aside" if chance.random() < 0.1 else None,
    )
