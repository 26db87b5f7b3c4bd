"""A worker may hold a job, lose it without noticing and claim it again: the two claims are told apart."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from backstay import Backstay, Context
from backstay.client.decider import Decider
from backstay.client.effective_policy import EffectivePolicies
from backstay.composition.connect import open_database, stores_on
from backstay.model.classify import ErrorRules
from backstay.model.job import Claim, NewStep, Progress
from backstay.model.outcome import Complete, Outcome, Released
from backstay.model.records import Renewed
from backstay.runtime.env import Env
from backstay.stores.contract import Claims
from backstay.stores.database.migrate import migrate
from backstay.testing.clock import FrozenClock
from backstay.testing.contract.support import LEASE, Store
from backstay.worker.batches import take_batch
from backstay.worker.heartbeat import Heartbeat
from backstay.worker.run.local_backend import Services
from backstay.worker.run.runner import Runner
from backstay.worker.step_writer import StepWriter

app = Backstay("sqlite://:memory:")


@app.job
async def report(context: Context) -> int:
    """Run until it is let go, whoever asks it to stop."""
    let_go = FREE[context.job_id, context.lease_epoch]
    while not let_go.is_set():
        try:
            await let_go.wait()
        except asyncio.CancelledError:
            continue
    return context.run


FREE: dict[tuple[object, int], asyncio.Event] = {}


@dataclass
class Hand:
    """A runner beside a real store, and what it has handed on."""

    store: Store
    events: list[str] = field(default_factory=list)
    finished: list[tuple[Claim, Outcome]] = field(default_factory=list)
    slots: int = 4

    def __post_init__(self) -> None:
        self.step_writer = StepWriter(emit=self.emit, env=Env())
        services = Services(
            step_writer=self.step_writer,
            completions=lambda: pytest.fail("no handler here opens a transaction"),
            transaction_limit=lambda _: timedelta(seconds=2),
            decider=Decider(app._registry, EffectivePolicies(app._builder, self.emit), Env()),
            rules=ErrorRules(),
            home="",
            result_limit=1000,
            emit=self.emit,
            env=Env(),
        )
        self.runner = Runner(
            app._registry,
            slots=self.slots,
            finish=lambda claim, outcome: self.finished.append((claim, outcome)),
            rules=ErrorRules(),
            services=services,
            result_limit=1000,
            env=Env(),
        )
        self.runner.use_loop(asyncio.get_running_loop())

    def emit(self, event: str, /, **facts: Any) -> None:
        self.events.append(event)

    def start(self, claim: Claim) -> list[Claim]:
        FREE[claim.guard] = asyncio.Event()
        return self.runner.start([claim])

    async def let_go(self, claim: Claim) -> None:
        FREE[claim.guard].set()
        await until(lambda: claim in [claim for claim, _ in self.finished] or not self.runner.counts()[0])

    async def claimed_again(self, claim: Claim) -> Claim:
        """The same job, after its lease ran out unnoticed."""
        self.store.later(LEASE * 2)
        assert await self.store.rescue() == [claim.id]
        [again] = await self.store.claim(suspects=1)
        assert (again.id, again.epoch > claim.epoch) == (claim.id, True)
        return again


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not is_so():
            await asyncio.sleep(0.001)


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    clock = FrozenClock()
    database = open_database("sqlite://:memory:", clock=clock)
    await migrate(database)
    yield Store(stores_on(database.lane("test", size=4)), clock)
    await database.close()


async def test_a_job_that_is_claimed_again_has_left_its_older_run(store: Store) -> None:
    """Two runs of one job are in hand: only the newer one counts, also when the older one ends first."""
    hand = Hand(store)
    old = await store.claimed()
    hand.start(old)
    await until(lambda: hand.runner.counts() == (1, 0))

    new = await hand.claimed_again(old)
    lost = hand.start(new)

    assert lost == [old]
    assert hand.runner.in_hand.claims() == [new]
    FREE[old.guard].set()
    await until(lambda: hand.runner.counts() == (1, 0))
    assert hand.runner.in_hand.claims() == [new]
    await hand.let_go(new)
    assert hand.finished == [(new, Complete("2"))]
    hand.runner.close()


async def test_an_older_run_that_does_not_stop_is_still_a_suspect(store: Store) -> None:
    """What may kill the process runs on, so no other suspect may join it."""
    hand = Hand(store)
    suspect = (await store.claimed())._replace(is_suspect=True)
    hand.start(suspect)
    await until(lambda: hand.runner.counts() == (1, 0))

    again = (await hand.claimed_again(suspect))._replace(is_suspect=False)
    hand.start(again)

    assert hand.runner.in_hand.has_suspect()
    FREE[suspect.guard].set()
    await until(lambda: not hand.runner.in_hand.has_suspect())
    assert hand.runner.in_hand.tainted == 0
    await hand.let_go(again)
    hand.runner.close()


async def test_an_older_claim_that_still_waits_for_a_slot_is_dropped(store: Store) -> None:
    hand = Hand(store, slots=1)
    busy, waiting = await store.claimed(), await store.claimed()
    hand.start(busy)
    hand.start(waiting)
    await until(lambda: hand.runner.counts() == (1, 1))

    store.later(LEASE * 2)
    await store.rescue(again=True)
    again = {claim.id: claim for claim in await store.claim(suspects=2)}[waiting.id]
    lost = hand.start(again)

    assert lost == [waiting]
    assert hand.runner.take_back_waiting() == [again]
    await hand.let_go(busy)
    hand.runner.close()


@pytest.mark.parametrize("what", ["abandon", "stop_job"])
async def test_what_is_meant_for_an_older_claim_does_not_reach_the_newer_one(store: Store, what: str) -> None:
    hand = Hand(store)
    old = await store.claimed()
    new = await hand.claimed_again(old)
    hand.start(new)

    getattr(hand.runner, what)(old.guard, Released("claim lost"))

    assert hand.runner.in_hand.claims() == [new]
    await hand.let_go(new)
    assert hand.finished == [(new, Complete("2"))]
    hand.runner.close()


async def test_a_renewal_that_is_answered_late_does_not_stop_the_next_run(store: Store) -> None:
    """The job is settled and claimed again while its renewal is under way; the answer is about the claim before."""
    hand, claims = Hand(store), Late(store.stores.claims)
    old = await store.claimed()
    heartbeat = Heartbeat(
        claims,  # type: ignore[arg-type]  # it only renews
        hand.runner,
        unsettled=lambda: [old],
        worker_id=lambda: "w",
        trust=lambda _: None,
        every=lambda: timedelta(milliseconds=1),
        emit=hand.emit,
        env=Env(),
    )
    new = await hand.claimed_again(old)

    beating = asyncio.create_task(heartbeat.run())
    await claims.is_asked.wait()
    hand.start(new)
    claims.may_answer.set()
    await until(lambda: claims.answered > 1)
    beating.cancel()

    assert "claim.lost" not in hand.events
    assert hand.runner.in_hand.claims() == [new]
    await hand.let_go(new)
    hand.runner.close()


@dataclass
class Late:
    """A store whose answers to renewals are held back."""

    claims: Claims
    is_asked: asyncio.Event = field(default_factory=asyncio.Event)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    answered: int = 0

    async def renew(self, claims: Sequence[Claim]) -> Renewed:
        renewed = await self.claims.renew(claims)
        self.is_asked.set()
        await self.may_answer.wait()
        self.answered += 1
        return renewed


async def test_a_batch_has_no_two_claims_of_one_job(store: Store) -> None:
    """What a store answers, it answers by job; two claims of one job would share their answer."""
    first, second = await store.claimed(), await store.claimed()
    again = first._replace(epoch=first.epoch + 4)
    waiting = deque([(first, "a"), (second, "b"), (again, "c")])

    batches = [take_batch(waiting, most=10), take_batch(waiting, most=10)]

    assert batches == [[(first, "a"), (second, "b")], [(again, "c")]]
    assert not waiting


async def test_steps_and_progress_of_two_runs_are_told_apart(store: Store) -> None:
    hand = Hand(store)
    old = await store.claimed()
    new = await hand.claimed_again(old)
    stores = store.stores

    late = hand.step_writer.save(old, NewStep("parse", 0, '"old"', 1))
    saved = hand.step_writer.save(new, NewStep("parse", 0, '"new"', 1))
    hand.step_writer.tell(new, Progress(current=2))
    hand.step_writer.tell(old, Progress(current=1))
    writing = asyncio.create_task(hand.step_writer.run(stores.steps, stores.progress, stores.signals))
    await until(lambda: late.done() and saved.done())
    await hand.step_writer.flush_progress([new])
    writing.cancel()

    assert "claim lost" in str(late.exception())
    assert saved.exception() is None
    assert await stores.steps.results(new.id) == {"parse": '"new"'}
    told = (await store.job(new.id)).progress
    assert told is not None
    assert told.current == 2
