"""Cancelling: waiting jobs end at once, running ones are asked to stop, finished ones stay as they are."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from backstay.errors import JobNotFound, WrongState
from backstay.model.job import JobId
from backstay.model.outcome import Crashed, Outcome, Released, Snoozed, Stopped
from backstay.model.states import State
from backstay.testing.contract.support import HOUR, LEASE, MINUTE, SECOND, Store

WAITING: dict[str, dict[str, Any]] = {
    "available": {},
    "scheduled": {"delay": HOUR},
    "held": {"held_for": "an approval"},
}


@pytest.mark.parametrize("options", WAITING.values(), ids=WAITING.keys())
async def test_a_waiting_job_is_cancelled_at_once(store: Store, options: dict[str, Any]) -> None:
    """ENG-101."""
    job_id = await store.enqueue(**options)
    store.later(MINUTE)

    state = await store.cancel(job_id, reason="customer left")

    job = await store.job(job_id)
    assert state is job.state is State.CANCELLED
    assert (job.reason, job.finished_at, job.cancel_requested_at) == (
        "customer left",
        store.now(),
        store.now(),
    )


async def test_a_cancelled_job_is_never_claimed(store: Store) -> None:
    job_id = await store.enqueue()
    await store.cancel(job_id)

    assert await store.claim(limit=10) == []


async def test_a_running_job_is_asked_to_stop(store: Store) -> None:
    """ENG-101: a request, not a change of state."""
    claim = await store.claimed()

    state = await store.cancel(claim.id)

    job = await store.job(claim.id)
    assert state is job.state is State.RUNNING
    assert job.cancel_requested_at == store.now()


async def test_a_running_job_is_left_alone_where_that_was_not_asked_for(store: Store) -> None:
    """ENG-101: where running jobs may not be cancelled, the refusal says so."""
    claim = await store.claimed()

    with pytest.raises(WrongState, match="it is running"):
        await store.cancel(claim.id, running=False)

    assert (await store.job(claim.id)).cancel_requested_at is None


async def test_the_first_request_keeps_its_reason_and_time(store: Store) -> None:
    claim = await store.claimed()
    await store.cancel(claim.id, reason="first")
    requested_at = store.now()
    store.later(MINUTE)

    await store.cancel(claim.id, reason="second")

    assert (await store.stores.claims.renew([claim])).cancel == {claim.id: "first"}
    assert (await store.job(claim.id)).cancel_requested_at == requested_at


async def test_a_result_that_comes_after_the_request_stands(store: Store) -> None:
    """ENG-101: the first commit wins."""
    claim = await store.claimed()
    await store.cancel(claim.id)

    await store.complete(claim, '"done"')

    job = await store.job(claim.id)
    assert (job.state, job.result) == (State.COMPLETED, "done")


async def test_a_failure_after_the_request_is_not_tried_again(store: Store) -> None:
    """ENG-101: also when the worker had not heard of the request."""
    claim = await store.claimed()
    await store.cancel(claim.id, reason="customer left")

    await store.fail(claim)

    job = await store.job(claim.id)
    assert (job.state, job.reason, job.finished_at) == (State.CANCELLED, "customer left", store.now())
    assert job.error is not None
    assert job.duration_ms is not None


@pytest.mark.parametrize("outcome", [Snoozed(MINUTE), Released(), Crashed("w"), Stopped("asked to")])
async def test_however_the_run_ends_a_job_asked_to_stop_does_not_run_again(
    store: Store, outcome: Outcome
) -> None:
    claim = await store.claimed()
    await store.cancel(claim.id)

    await store.end(claim, outcome)

    assert await store.state(claim.id) is State.CANCELLED


async def test_a_dead_worker_does_not_bring_a_cancelled_job_back(store: Store) -> None:
    claim = await store.claimed()
    await store.cancel(claim.id)
    store.later(LEASE + SECOND)

    await store.rescue()

    assert await store.state(claim.id) is State.CANCELLED


@pytest.mark.parametrize("ignored", [False, True])
async def test_a_closed_job_cannot_be_cancelled(store: Store, ignored: bool) -> None:
    """ENG-025: final states are never overwritten."""
    job_id = await store.dead()
    await store.resolve(job_id, ignored=ignored)

    with pytest.raises(WrongState, match="resolved"):
        await store.cancel(job_id)


async def test_a_completed_job_cannot_be_cancelled(store: Store) -> None:
    """ENG-101."""
    claim = await store.claimed()
    await store.complete(claim)

    with pytest.raises(WrongState, match=r"cannot cancel job .* it is completed"):
        await store.cancel(claim.id)

    assert await store.state(claim.id) is State.COMPLETED


async def test_of_a_cancel_and_a_completion_at_the_same_time_one_wins(store: Store) -> None:
    """Whichever commits first, the job ends once and both sides learn how."""
    claim = await store.claimed()

    asked, settled = await asyncio.gather(
        store.cancel(claim.id), store.complete(claim), return_exceptions=True
    )

    assert not isinstance(settled, BaseException)
    assert settled.done == {claim.id}
    assert asked is State.RUNNING or isinstance(asked, WrongState)
    assert await store.state(claim.id) is State.COMPLETED


async def test_of_a_cancel_and_a_claim_at_the_same_time_one_wins(store: Store) -> None:
    job_id = await store.enqueue()
    await store.register("w")

    state, claims = await asyncio.gather(store.cancel(job_id), store.claim(limit=1))

    now = await store.job(job_id)
    assert (state, len(claims)) in [(State.CANCELLED, 0), (State.RUNNING, 1)]
    assert now.state is state
    assert now.cancel_requested_at is not None


async def test_cancelling_an_unknown_job_says_that_there_is_none(store: Store) -> None:
    missing = JobId(store.new_job().id)

    with pytest.raises(JobNotFound, match=str(missing)):
        await store.cancel(missing)


async def test_a_failure_of_a_job_asked_to_stop_is_audited_as_what_it_became(store: Store) -> None:
    """ENG-027."""
    claim = await store.claimed()
    await store.cancel(claim.id)

    await store.fail(claim)

    trail = await store.stores.audit.of_job(claim.id)
    assert [(line.action, line.to_state) for line in trail] == [
        ("job.request_cancel", "running"),
        ("job.failed", "cancelled"),
    ]
