"""Random lives of jobs on both databases, each step compared with the model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from backstay import Backstay
from backstay.composition.connect import open_database, stores_on
from backstay.errors import BackstayError
from backstay.model.job import Claim
from backstay.model.outcome import Crashed, Fail, Outcome, Released, Snoozed, Stopped
from backstay.model.records import JobFilter
from backstay.model.settlement import settle
from backstay.model.states import State
from backstay.stores.database.migrate import migrate
from backstay.testing import PrivatePostgres
from backstay.testing.clock import FrozenClock
from backstay.testing.contract.support import BOOM, POLICY, Store, wanted
from backstay.testing.database import _prepare_postgres
from simulation.model import HOUR, LEASE, MAX_ATTEMPTS, Model, ModelJob, Refused

KINDS = ("report", "letter")
SECONDS = st.sampled_from([0, 1, 5, 30, 59, 61, 300, 400, 4000, 90_000]).map(lambda s: timedelta(seconds=s))
OUTCOMES: dict[str, Outcome] = {
    "fail": Fail(BOOM),
    "hopeless": Fail(BOOM, hopeless=True),
    "snooze": Snoozed(timedelta(seconds=30)),
    "stop": Stopped("stopped"),
    "release": Released(),
    "crash": Crashed("w"),
}


class Lives(RuleBasedStateMachine):
    """What clients, workers, the leader and operators do, in any order."""

    url: ClassVar[str] = "sqlite://:memory:"
    jobs = Bundle("jobs")
    claims = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.clock = FrozenClock()
        self.model = Model()
        self.current: dict[UUID, Claim] = {}
        self.loop.run(self._open())

    async def _open(self) -> None:
        if self.url.startswith("postgres"):
            await _prepare_postgres(Backstay(self.url), self.url)
        self.database = open_database(self.url, clock=self.clock)
        await migrate(self.database)
        self.store = Store(stores_on(self.database.lane("test", size=2)), self.clock)
        for worker in ("w", "v"):
            await self.store.register(worker)
            self.model.alive.add(worker)

    def teardown(self) -> None:
        self.loop.run(self.database.close())
        self.loop.close()

    def same(self, expected: Callable[[], Any], act: Coroutine[Any, Any, Any]) -> Any:
        """Do it in the model and for real; both allow it, or both refuse it for the same reason."""
        result, allowed, told = None, "allowed", "allowed"
        try:
            expected()
        except Refused as refusal:
            allowed = str(refusal)
        try:
            result = self.loop.run(act)
        except BackstayError as error:
            told = type(error).__name__
        assert told == allowed, f"the library says {told}, the model {allowed}"
        return result

    @rule(
        target=jobs,
        kind=st.sampled_from(KINDS),
        delay=st.sampled_from([None, None, None, 1, 30, 4000]),
        priority=st.integers(1, 10),
        own_attempts=st.sampled_from([None, None, 1, 2]),
        held=st.sampled_from([None, None, None, "approval"]),
        limits=st.sampled_from([{}, {}, {"expires_in": HOUR}, {"deadline_in": HOUR}]),
        unique=st.sampled_from([None, None, "only"]),
        key=st.sampled_from([None, None, "once"]),
        fingerprint=st.sampled_from(["a", "a", "b"]),
    )
    def enqueue(
        self,
        kind: str,
        delay: int | None,
        priority: int,
        own_attempts: int | None,
        held: str | None,
        limits: dict[str, timedelta],
        unique: str | None,
        key: str | None,
        fingerprint: str,
    ) -> Any:
        now, after = self.clock(), timedelta(seconds=delay or 0)
        new = self.store.new_job(
            kind=kind,
            delay=after if delay else None,
            priority=priority,
            max_attempts=own_attempts,
            held_for=held,
            unique_key=unique,
            idempotency_key=key,
            fingerprint=fingerprint if key else None,
            **limits,
        )
        job = ModelJob(
            new.id,
            kind,
            "held" if held else "scheduled" if delay else "available",
            now + after,
            (priority - 5) * HOUR,
            reason=held,
            max_attempts=own_attempts,
            unique_key=unique,
            expires_at=now + HOUR if "expires_in" in limits else None,
            deadline=now + HOUR if "deadline_in" in limits else None,
        )
        expected: list[Any] = []
        act = self.store.stores.enqueuing.enqueue_keyed([new])
        stored = self.same(
            lambda: expected.append(self.model.enqueue(job, now, key=key, fingerprint=fingerprint)), act
        )
        if stored is None:
            return multiple()
        assert [(stored[0].id, stored[0].is_new)] == expected
        return new.id if stored[0].is_new else multiple()

    @rule(
        target=claims,
        kind=st.sampled_from(("report", *KINDS)),
        worker=st.sampled_from(["w", "v"]),
        limit=st.integers(1, 3),
        suspects=st.integers(0, 1),
    )
    def claim(self, kind: str, worker: str, limit: int, suspects: int) -> Any:
        return self.claim_some(kind, worker, limit, suspects)

    def claim_some(self, kind: str, worker: str, limit: int, suspects: int) -> Any:
        expected = self.model.claim(kind, worker, self.clock(), limit=limit, suspects=suspects)
        act = self.store.claim(wanted(kind), worker=worker, limit=limit, suspects=suspects)

        found: list[Claim] = self.loop.run(act)

        assert [claim.id for claim in found] == expected
        self.current |= {claim.id: claim for claim in found}
        assert all(claim.max_attempts <= MAX_ATTEMPTS for claim in found)
        return multiple(*found)

    @rule(priorities=st.lists(st.integers(1, 10), min_size=1, max_size=4), gap=st.sampled_from([0, 0, 5]))
    def enqueue_several(self, priorities: list[int], gap: int) -> None:
        """Ordinary jobs, which are most."""
        for priority in priorities:
            self.store.later(timedelta(seconds=gap))
            job = self.loop.run(self.store.enqueue(priority=priority))
            offset = (priority - 5) * HOUR
            self.model.jobs[job] = ModelJob(job, "report", "available", self.clock(), offset)

    @precondition(lambda self: self.current)
    @rule(
        which=st.integers(0, 9),
        outcome=st.sampled_from(["complete", "fail", "fail", "snooze", "release", "crash", "crash"]),
    )
    def settle_newest(self, which: int, outcome: str) -> None:
        """With a claim that most likely still holds."""
        self.settle_with(list(self.current.values())[which % len(self.current)], outcome)

    @precondition(lambda self: any(job.state == "scheduled" for job in self.model.jobs.values()))
    @rule()
    def wait_for_the_next(self) -> None:
        """Until the next job is due, which then becomes available."""
        due = min(job.run_at for job in self.model.jobs.values() if job.state == "scheduled")
        self.store.later(max(due - self.clock(), timedelta(0)))
        self.promote_some(1)

    @rule(target=claims, limit=st.integers(1, 4))
    def claim_reports(self, limit: int) -> Any:
        """What workers do most of the time."""
        return self.claim_some("report", "w", limit, 1)

    @precondition(lambda self: any(job.state == "running" for job in self.model.jobs.values()))
    @rule()
    def lose_the_worker(self) -> None:
        """Every lease runs out, and a rescuer takes over and decides."""
        self.store.later(LEASE + timedelta(seconds=1))
        for claim in self.take_over():
            self.settle_with(claim, "crash")

    @rule(claim=claims, outcome=st.sampled_from(["complete", "complete", *OUTCOMES]))
    def settle(self, claim: Claim, outcome: str) -> None:
        """With any claim that was ever given out: only the newest of a job may write."""
        self.settle_with(claim, outcome)

    def settle_with(self, claim: Claim, outcome: str) -> None:
        holds = self.model.holds(claim.id, claim.epoch)
        if outcome == "complete":
            settled = self.loop.run(self.store.complete(claim, "1"))
        else:
            if holds:
                # Only who takes a job over knows of its crashes, and nobody else reports one.
                claim = claim._replace(crashes_in_row=self.model.jobs[claim.id].crashes_in_row)
            decided = settle(claim, OUTCOMES[outcome], POLICY, chance=0.5)
            settled = self.loop.run(self.store.settle(claim, decided))
        if holds:
            self.model.settle(claim.id, outcome, self.clock())
        # A claim that tells its outcome again has lost nothing: its first word stands.
        assert settled.done == ({claim.id} if self.model.has_told(claim.id, claim.epoch) else set())
        assert settled.lost == {claim.id} - settled.done

    @rule(claim=claims)
    def renew(self, claim: Claim) -> None:
        holds = self.model.holds(claim.id, claim.epoch)
        if holds:
            self.model.renew(claim.id, self.clock())
        job = self.model.jobs.get(claim.id)

        renewed = self.loop.run(self.store.stores.claims.renew([claim]))

        assert renewed.held == ({claim.id} if holds else set())
        assert bool(renewed.cancel) is (holds and job is not None and job.cancel_reason is not None)

    @rule(target=claims)
    def seize(self) -> Any:
        return multiple(*self.take_over())

    def take_over(self) -> list[Claim]:
        second = timedelta(seconds=1)
        expected = self.model.seize(self.clock(), hold_for=10 * second, overrun=10 * second)

        seized = self.loop.run(self.store.seize())

        assert sorted(one.claim.id for one in seized) == sorted(expected)
        self.current |= {one.claim.id: one.claim for one in seized}
        return [one.claim for one in seized]

    @rule(limit=st.integers(1, 5))
    def promote(self, limit: int) -> None:
        self.promote_some(limit)

    def promote_some(self, limit: int) -> None:
        self.model.promote(self.clock(), limit)
        self.loop.run(self.store.promote(limit=limit))

    @rule()
    def end_what_is_late(self) -> None:
        self.model.expire(self.clock())
        self.loop.run(self.store.stores.upkeep.expire(limit=100))
        self.model.miss_deadlines(self.clock())
        self.loop.run(self.store.stores.upkeep.miss_deadlines(limit=100))

    @rule(job=jobs, reason=st.sampled_from(["not needed", "too late"]))
    def cancel(self, job: Any, reason: str) -> None:
        if job in self.model.jobs:
            self.same(
                lambda: self.model.cancel(job, reason, self.clock()), self.store.cancel(job, reason=reason)
            )

    @rule(job=jobs, verb=st.sampled_from(["hold", "release"]))
    def put_aside(self, job: Any, verb: str) -> None:
        if job not in self.model.jobs:
            return
        stored = self.store.stores.jobs
        if verb == "hold":
            self.same(lambda: self.model.hold(job, "wait"), stored.hold(job, reason="wait", actor="ann"))
        else:
            self.same(lambda: self.model.release(job, self.clock()), stored.release(job, actor="ann"))

    @rule(job=jobs, after=st.sampled_from([-30, 0, 30, 4000]))
    def reschedule(self, job: Any, after: int) -> None:
        if job in self.model.jobs:
            run_at = self.clock() + timedelta(seconds=after)
            act = self.store.stores.jobs.reschedule(job, run_at=run_at, actor="ann")
            self.same(lambda: self.model.reschedule(job, run_at), act)

    @rule(job=jobs, delay=st.sampled_from([0, 0, 30]))
    def retry(self, job: Any, delay: int) -> None:
        if job in self.model.jobs:
            after = timedelta(seconds=delay)
            self.same(lambda: self.model.retry(job, after, self.clock()), self.store.retry(job, delay=after))

    @rule(job=jobs)
    def resolve(self, job: Any) -> None:
        if job in self.model.jobs:
            self.same(lambda: self.model.resolve(job, "done by hand"), self.store.resolve(job))

    @rule(queue=st.sampled_from(["default", "report"]))
    def pause_or_resume(self, queue: str) -> None:
        """`default` is a queue, `report` a kind."""
        names = {"queue": queue, "kind": None} if queue == "default" else {"queue": None, "kind": queue}
        stored = self.store.stores.queues
        if queue in self.model.paused:
            self.model.paused.discard(queue)
            self.loop.run(stored.resume(**names, actor="ann"))
        else:
            self.model.paused.add(queue)
            self.loop.run(stored.pause(**names, actor="ann", reason="stop"))

    @precondition(lambda self: len(self.model.alive) == 2)
    @rule()
    def bury(self) -> None:
        self.model.alive.discard("v")
        assert self.loop.run(self.store.stores.workers.declare_one_dead("v"))

    @rule(by=SECONDS)
    def pass_time(self, by: timedelta) -> None:
        self.store.later(by)

    @rule(state=st.sampled_from([State.COMPLETED, State.CANCELLED, State.RESOLVED, State.DEAD]))
    def remove_old(self, state: State) -> None:
        upkeep, start = self.store.stores.upkeep, UUID(int=0)
        self.model.delete_finished(state.value, self.clock() - HOUR)
        self.loop.run(upkeep.delete_finished({state: HOUR}, after=start, limit=1000))
        self.model.forget_keys(self.clock())
        self.loop.run(upkeep.forget_keys())

    @invariant()
    def model_and_database_agree(self) -> None:
        found = self.loop.run(self.store.stores.jobs.search(JobFilter(), before=None, limit=500))
        real = {
            job.id: (
                job.state.value,
                job.reason,
                job.run_at,
                job.attempt,
                job.run,
                job.crashes,
                job.is_suspect,
                job.lease_epoch,
                job.lease_expires_at,
            )
            for job in found
        }
        assert real == {
            job.id: (
                job.state,
                job.reason,
                job.run_at,
                job.attempt,
                job.run,
                job.crashes,
                job.is_suspect,
                job.epoch,
                job.lease_until,
            )
            for job in self.model.jobs.values()
        }

    @invariant()
    def every_death_has_one_open_letter(self) -> None:
        act = self.store.stores.dead_letters.open(kind=None, queue=None, tenant=None, limit=500)
        letters = sorted(letter.job_id for letter in self.loop.run(act))
        dead = [job.id for job in self.model.jobs.values() for _ in range(job.open_letters)]
        assert letters == sorted(dead)


def lives(url: str, *, examples: int, steps: int) -> None:
    machine = type("Lives", (Lives,), {"url": url})
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    run_machine(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=quiet
        ),
    )


def migrated(server: PrivatePostgres, name: str) -> str:
    server.create_database(name)
    return server.url(name)


@pytest.mark.timeout(600)
def test_lives_of_jobs_follow_the_model_on_sqlite() -> None:
    lives("sqlite://:memory:", examples=60, steps=40)


@pytest.mark.timeout(600)
def test_lives_of_jobs_follow_the_model_on_postgres(postgres_server: PrivatePostgres) -> None:
    lives(migrated(postgres_server, "lives"), examples=12, steps=40)


@pytest.mark.prove
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(2))
def test_many_lives_of_jobs_follow_the_model_on_sqlite(part: int) -> None:
    lives("sqlite://:memory:", examples=150, steps=80)


@pytest.mark.prove
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(2))
def test_many_lives_of_jobs_follow_the_model_on_postgres(part: int, postgres_server: PrivatePostgres) -> None:
    lives(migrated(postgres_server, f"many_lives_{part}"), examples=50, steps=80)
