"""One simulated run: jobs come, faults strike, faults stop, and everything must come to its end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID

from backstay.errors import InvalidSchedule, JobNotFound, OutcomeUnknown, SignalRefused, StoreError
from backstay.handle import JobHandle
from backstay.model.job import JobId
from backstay.options import JobOptions
from backstay.stores.database.queries import Dialect
from simulation.flowing import Flowing, blocked
from simulation.handlers import KINDS, LIMITED, PROFILE, REGISTRY, WORLD, Stage, patient
from simulation.history import Violation
from simulation.nemesis import Nemesis
from simulation.virtual_loop import Strand, Stuck
from simulation.world import START, SimulatedProcess, World

JOBS = 16
BEAT, BEAT_EVERY = "beat", 7.5
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
        with patch("psutil.Process", SimulatedProcess):
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
        self._limits = world.chance("limits")
        self._flowing = Flowing(world.chance("flows"), KINDS[:2], plan)
        self._signals = world.chance("signals")
        self._to_signal: list[tuple[float, JobId, int]] = []
        self._is_all_enqueued = False

    async def play(self) -> None:
        """Make trouble for a while, then see that everything ends well."""
        world = self.world
        self.nemesis.start_workers()
        people = world.process("people")
        load = world.loop.start(self._enqueue_all(), Strand("load", people))
        flows = world.loop.start(self._store_flows(), Strand("flows", people))
        signals = world.loop.start(self._signal_all(), Strand("signals", people))
        faults = world.loop.create_task(self.nemesis.strike(TROUBLE_SECONDS), name="nemesis")
        await self._unless_broken(asyncio.gather(load, flows, faults))
        self._is_all_enqueued = True
        self.nemesis.make_peace()
        await self._unless_broken(asyncio.gather(signals, self._all_ended()))
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
        await self._schedule(client)
        for _ in range(JOBS):
            await asyncio.sleep(self._chance.expovariate(JOBS / (TROUBLE_SECONDS * 0.8)))
            await self._enqueue(client)

    async def _store_flows(self) -> None:
        client = self.world.client(self.world.processes["people"])
        await self._flowing.store_all(client, self.nemesis.jobs, seconds=TROUBLE_SECONDS * 0.8)
        self.accepted |= self._flowing.accepted
        self.unknown |= self._flowing.unknown

    async def _schedule(self, client: Any) -> None:
        """Let a job be made again and again while the trouble lasts; every fire must be run in the end."""
        while True:
            try:
                await client.schedules.create(
                    BEAT,
                    "steady",
                    every=BEAT_EVERY,
                    starting=START,
                    expires_at=START + timedelta(seconds=TROUBLE_SECONDS),
                    args={"plan": ["ok 0.05"]},
                    missed="catch_up",
                )
            except InvalidSchedule:
                # It was stored, and only the answer was lost.
                return
            except StoreError as error:
                self.world.note(f"people could not schedule: {error}")
                await asyncio.sleep(0.5)
            else:
                return

    async def _enqueue(self, client: Any) -> None:
        chance, world = self._chance, self.world
        handler = KINDS[int(chance.random() ** 2 * len(KINDS))]
        given: dict[str, Any] = {"plan": plan(chance)}
        # Chance of its own, so that what the other jobs do stays as it was.
        if self._limits.random() < 0.4:
            handler = LIMITED[int(self._limits.random() * len(LIMITED))]
            given["room"] = self._limits.randint(1, 2)
        waits = 0
        if self._signals.random() < 0.2:
            handler, waits = patient, self._signals.randint(1, 3)
            seconds = 20.0 if self._signals.random() < 0.4 else None
            given = {"plan": given["plan"], "signals": waits, "seconds": seconds}
            # Where a wait can run out of time, some signals never come.
            waits = waits if seconds is None else self._signals.randint(0, waits)
        spec = handler.spec
        args = spec.bind((), given)
        options = job_options(chance)
        handle: JobHandle[Any] | None = None
        try:
            handle = await client.enqueuer.enqueue_alone(spec, args, options)
        except OutcomeUnknown as error:
            for job in error.ids:
                self.unknown.add(str(job))
                self._plan_signals(JobId(UUID(str(job))), waits)
        except StoreError as error:
            world.note(f"people could not enqueue: {error}")
        if handle is not None:
            self.accepted[str(handle.id)] = spec.kind
            world.note(f"people enqueued {spec.kind} {args}", str(handle.id))
            self.nemesis.jobs.append(handle.id)
            self._plan_signals(handle.id, waits if handle.is_new else 0)

    def _plan_signals(self, job: JobId, waits: int) -> None:
        now, chance = self.world.loop.time(), self._signals
        self._to_signal += [(now + chance.random() ** 2 * 40, job, number + 1) for number in range(waits)]

    async def _signal_all(self) -> None:
        """Send every job the signals that it waits for, in order, again and again until each has arrived."""
        client, sent = self.world.client(self.world.processes["people"]), set[tuple[JobId, int]]()
        while self._to_signal or not self._is_all_enqueued:
            await asyncio.sleep(0.2)
            # In the order of their numbers, so that what a job receives can be told from what was sent.
            for due, job, number in sorted(self._to_signal, key=lambda one: one[2]):
                is_next = number == 1 or (job, number - 1) in sent
                if due <= self.world.loop.time() and is_next and await self._signal(client, job, number):
                    sent.add((job, number))
                    self._to_signal.remove((due, job, number))

    async def _signal(self, client: Any, job: JobId, number: int) -> bool:
        try:
            await client.signals.send(job, "go", number, key=f"signal-{number}")
        except (SignalRefused, JobNotFound):
            self.world.note("takes no signal any more", str(job))
        except (OutcomeUnknown, StoreError) as error:
            self.world.note(f"people could not signal: {error}")
            return False
        return True

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
            "SELECT id, state FROM backstay_jobs WHERE state NOT IN ('completed', 'dead', 'resolved', 'cancelled')"
        )
        coming = self.world.server.connection.execute(
            "SELECT id, next_fire_at FROM backstay_schedules WHERE next_fire_at IS NOT NULL"
        )
        permits = self.world.server.connection.execute("SELECT job_id FROM backstay_permits")
        excused = blocked(self.world.server.connection)
        return (
            [(row["id"], row["state"]) for row in found if row["id"] not in excused]
            + [(row["job_id"], "ended and still holds a permit") for row in permits]
            + [(row["id"], f"a schedule that is to fire at {row['next_fire_at']}") for row in coming]
        )

    def _reckon(self) -> None:
        """What the tables must say when all is over."""
        connection = self.world.server.connection
        rows = {row["id"]: row for row in connection.execute("SELECT * FROM backstay_jobs")}
        excused = blocked(connection)
        for job in self.accepted:
            if job not in rows:
                raise Violation("nothing lost", "enqueue returned, but the job is not there", job)
        self._reckon_schedule(rows)
        for job, row in rows.items():
            is_fired = row["created_by"] == f"schedule:{BEAT}"
            if job not in self.accepted and job not in self.unknown and not is_fired:
                raise Violation("nothing invented", "nobody enqueued it", job)
            self._reckon_attempts(job, row)
            if row["state"] == "held" and job not in excused:
                raise Violation("liveness", f"it waits forever: {row['reason']}", job)
            letters = self._count("dead_letters WHERE job_id = ? AND status IN ('new', 'investigating')", job)
            if (letters == 1) is not (row["state"] == "dead"):
                raise Violation("dead letters", f"it is {row['state']}, and its open letters do not fit", job)

    def _reckon_schedule(self, rows: Mapping[str, Any]) -> None:
        """One job for every fire, and a fire for every moment since the schedule was there."""
        connection = self.world.server.connection
        [schedule] = connection.execute("SELECT created_at FROM backstay_schedules").fetchall()
        fires = {
            row["fire_time"]: row["job_id"] for row in connection.execute("SELECT * FROM backstay_fires")
        }
        every, begin = int(BEAT_EVERY * 1e6), int(START.timestamp() * 1e6)
        expected = {begin + turn * every for turn in range(int(TROUBLE_SECONDS / BEAT_EVERY) + 1)}
        self.world.judge.counters["fires"] += len(fires)
        # By the database's clock, which may have been set back, and with a while for the leader: a world ends with its
        # last job, and a fire that has only just become due is not missing.
        before = int((self.world.server.now() - timedelta(seconds=30)).timestamp() * 1e6)
        due = {moment for moment in expected if schedule["created_at"] < moment < before}
        if missing := due - set(fires):
            raise Violation("schedules", f"{len(missing)} fires never happened")
        if set(fires) - expected:
            raise Violation("schedules", "it fired at a time that is none of its own")
        made = [job for job, row in rows.items() if row["created_by"] == f"schedule:{BEAT}"]
        if sorted(made) != sorted(fires.values()):
            raise Violation("schedules", f"{len(fires)} fires made {len(made)} jobs")

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
        found = self.world.server.connection.execute(f"SELECT count(*) FROM backstay_{what}", (job,))
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
