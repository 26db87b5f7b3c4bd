"""Timestamps: one clock, in order, and nothing of a run left behind when it is over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from backstay.model.job import Claim
from backstay.model.outcome import Crashed, Fail, Outcome, Released, Snoozed, Stopped
from backstay.model.settlement import Settlement
from backstay.model.states import State
from backstay.testing.contract.support import BOOM, HOUR, LEASE, MINUTE, SECOND, Store


async def _complete(store: Store, claim: Claim) -> None:
    await store.complete(claim, "1")


def _ends(outcome: Outcome) -> Callable[[Store, Claim], Awaitable[None]]:
    async def end(store: Store, claim: Claim) -> None:
        await store.end(claim, outcome)

    return end


async def _hold(store: Store, claim: Claim) -> None:
    await store.settle(claim, Settlement(State.HELD, reason="an approval", attempt_status="snoozed"))


async def _die_of_exhaustion(store: Store, claim: Claim) -> None:
    await store.settle(claim, Settlement(State.DEAD, reason="exhausted", attempt_status="failed"))


async def _fail_after_cancel(store: Store, claim: Claim) -> None:
    await store.cancel(claim.id)
    await store.end(claim, Fail(BOOM))


async def _rescue(store: Store, claim: Claim) -> None:
    store.later(LEASE)
    await store.rescue()


EXITS: dict[str, Callable[[Store, Claim], Awaitable[None]]] = {
    "complete": _complete,
    "fail": _ends(Fail(BOOM)),
    "time out": _ends(Fail(BOOM, timed_out=True)),
    "fail for good": _ends(Fail(BOOM, hopeless=True)),
    "run out of attempts": _die_of_exhaustion,
    "snooze": _ends(Snoozed(MINUTE)),
    "release": _ends(Released()),
    "stop": _ends(Stopped("not needed")),
    "crash": _ends(Crashed("w")),
    "hold": _hold,
    "cancel and fail": _fail_after_cancel,
    "rescue": _rescue,
}
"""Every way out of `running`."""


@pytest.mark.parametrize("leave", EXITS.values(), ids=EXITS.keys())
async def test_nothing_of_a_run_is_left_when_it_is_over(
    store: Store, leave: Callable[[Store, Claim], Awaitable[None]]
) -> None:
    """ENG-028, ENG-036, ENG-103: no heartbeat, no lease; the time it took is known."""
    claim = await store.claimed()
    store.later(2 * SECOND)

    await leave(store, claim)

    job = await store.job(claim.id)
    assert job.state is not State.RUNNING
    assert (job.heartbeat_at, job.lease_expires_at) == (None, None)
    assert job.started_at is not None
    assert job.duration_ms == (store.now() - job.started_at) // (SECOND / 1000)
    assert job.lease_epoch % 2 == 0
    assert job.settled_by == "w"


@pytest.mark.parametrize("leave", EXITS.values(), ids=EXITS.keys())
async def test_times_are_in_order(store: Store, leave: Callable[[Store, Claim], Awaitable[None]]) -> None:
    """ENG-010, ENG-011, ENG-012: created ≤ due ≤ started ≤ finished ≤ updated."""
    job_id = await store.enqueue()
    due = (await store.job(job_id)).run_at
    store.later(SECOND)
    claim = await store.claim_one()
    store.later(SECOND)

    await leave(store, claim)

    job = await store.job(job_id)
    assert job.started_at is not None
    assert job.created_at <= due <= job.started_at <= (job.finished_at or store.now()) <= job.updated_at
    assert job.updated_at == store.now()
    assert (job.finished_at is not None) == job.is_finished


@pytest.mark.parametrize("verb", ["cancel", "reschedule", "hold", "promote", "expire", "miss deadline"])
async def test_every_change_of_a_waiting_job_is_dated(store: Store, verb: str) -> None:
    """ENG-012."""
    job_id = await store.enqueue(delay=MINUTE, expires_in=HOUR, deadline_in=HOUR)
    store.later(HOUR)
    jobs, upkeep = store.stores.jobs, store.stores.upkeep

    if verb == "cancel":
        await store.cancel(job_id)
    elif verb == "reschedule":
        await jobs.reschedule(job_id, run_at=store.now() + HOUR, actor="ann")
    elif verb == "hold":
        await jobs.hold(job_id, reason="paused", actor="ann")
    elif verb == "promote":
        await store.promote()
    elif verb == "expire":
        await upkeep.expire(limit=1)
    else:
        await upkeep.miss_deadlines(limit=1)

    job = await store.job(job_id)
    assert job.updated_at == store.now()
    assert job.created_at == store.now() - HOUR


@pytest.mark.parametrize("verb", ["retry", "resolve"])
async def test_every_change_of_a_dead_job_is_dated(store: Store, verb: str) -> None:
    """ENG-012."""
    job_id = await store.dead()
    store.later(SECOND)

    await (store.retry(job_id) if verb == "retry" else store.resolve(job_id))

    assert (await store.job(job_id)).updated_at == store.now()


async def test_letting_a_held_job_go_is_dated(store: Store) -> None:
    """ENG-012."""
    job_id = await store.enqueue(held_for="an approval")
    store.later(SECOND)

    await store.stores.jobs.release(job_id, actor="ann")

    assert (await store.job(job_id)).updated_at == store.now()


@pytest.mark.parametrize("verb", ["renew", "cancel"])
async def test_every_change_of_a_running_job_is_dated(store: Store, verb: str) -> None:
    """ENG-012."""
    claim = await store.claimed()
    store.later(SECOND)

    await (store.stores.claims.renew([claim]) if verb == "renew" else store.cancel(claim.id))

    assert (await store.job(claim.id)).updated_at == store.now()


async def test_a_heartbeat_never_outlives_the_completion(store: Store) -> None:
    """ENG-036: renewals forced at the moment of completion leave no trace, in either order."""
    await store.enqueue_many(20)
    claims = await store.claim(limit=20)

    await store.stores.claims.renew(claims)
    await store.stores.claims.complete([(claim, None) for claim in claims])
    late = await store.stores.claims.renew(claims)

    assert late.held == frozenset()
    for claim in claims:
        assert (await store.job(claim.id)).heartbeat_at is None
