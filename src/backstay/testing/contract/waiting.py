"""Waiting jobs: promoted when due, moved to another time, put aside and let go again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from backstay.errors import JobNotFound, QuotaExceeded, WrongState
from backstay.model.job import JobId
from backstay.model.states import State
from backstay.testing.contract.support import DAY, HOUR, MINUTE, SECOND, Store, ids


async def test_a_job_is_promoted_when_its_time_has_come(store: Store) -> None:
    job_id = await store.enqueue(delay=MINUTE)
    store.later(MINUTE - SECOND)
    too_early = await store.promote()
    store.later(SECOND)

    in_time = await store.promote()

    assert (too_early, in_time) == ([], ["default"])
    assert await store.state(job_id) is State.AVAILABLE


async def test_promotion_takes_the_longest_due_first_in_batches(store: Store) -> None:
    """ENG-063: a bounded number a pass."""
    late = await store.enqueue(delay=3 * MINUTE)
    early = await store.enqueue(delay=MINUTE)
    middle = await store.enqueue(delay=2 * MINUTE)
    store.later(HOUR)

    promoted = await store.promote(limit=2)

    assert len(promoted) == 2
    assert [await store.state(job) for job in (early, middle, late)] == [
        State.AVAILABLE,
        State.AVAILABLE,
        State.SCHEDULED,
    ]


async def test_promotion_names_the_queue_of_every_job(store: Store) -> None:
    for queue in ("mail", "default", "mail"):
        await store.enqueue(queue=queue, delay=SECOND)
    store.later(SECOND)

    assert sorted(await store.promote()) == ["default", "mail", "mail"]


async def test_promoted_jobs_take_their_turn_by_when_they_were_due(store: Store) -> None:
    """ENG-032."""
    scheduled = await store.enqueue(delay=MINUTE)
    store.later(2 * MINUTE)
    newcomer = await store.enqueue()

    await store.promote()

    assert ids(await store.claim(limit=2)) == [scheduled, newcomer]


async def test_the_next_due_time_is_known(store: Store) -> None:
    assert await store.stores.upkeep.next_due() is None
    await store.enqueue(delay=HOUR)
    await store.enqueue(delay=MINUTE)

    assert await store.stores.upkeep.next_due() == MINUTE
    store.later(DAY)
    assert await store.stores.upkeep.next_due() == timedelta(0)


@pytest.mark.parametrize("delay", [None, MINUTE], ids=["available", "scheduled"])
async def test_a_waiting_job_can_be_moved_to_another_time(store: Store, delay: timedelta | None) -> None:
    job_id = await store.enqueue(delay=delay, priority=1)

    await store.stores.jobs.reschedule(job_id, run_at=store.now() + DAY, actor="ann")

    job = await store.job(job_id)
    assert (job.state, job.run_at) == (State.SCHEDULED, store.now() + DAY)
    assert await store.claim(limit=10) == []


async def test_a_moved_job_keeps_the_advantage_of_its_priority(store: Store) -> None:
    """ENG-032."""
    urgent = await store.enqueue(priority=1)
    await store.stores.jobs.reschedule(urgent, run_at=store.now() + HOUR, actor="ann")
    store.later(HOUR)
    await store.enqueue(priority=5)
    await store.promote()

    assert (await store.claim_one()).id == urgent


async def test_a_job_moved_into_the_past_is_promoted_at_once(store: Store) -> None:
    job_id = await store.enqueue(delay=DAY)

    await store.stores.jobs.reschedule(job_id, run_at=store.now() - DAY, actor="ann")
    await store.promote()

    assert await store.state(job_id) is State.AVAILABLE


@pytest.mark.parametrize("delay", [None, HOUR], ids=["available", "scheduled"])
async def test_a_job_put_aside_is_not_promoted_or_claimed(store: Store, delay: timedelta | None) -> None:
    """ENG-088."""
    job_id = await store.enqueue(delay=delay)

    await store.stores.jobs.hold(job_id, reason="an approval", actor="ann")
    store.later(DAY)
    await store.promote()

    job = await store.job(job_id)
    assert (job.state, job.reason) == (State.HELD, "an approval")
    assert await store.claim(limit=10) == []


async def test_a_held_job_that_is_due_goes_on_at_once(store: Store) -> None:
    """ENG-088."""
    job_id = await store.enqueue(held_for="an approval")
    store.later(HOUR)

    await store.stores.jobs.release(job_id, actor="ann")

    job = await store.job(job_id)
    assert (job.state, job.reason) == (State.AVAILABLE, None)


async def test_a_held_job_that_is_not_due_waits_for_its_time(store: Store) -> None:
    job_id = await store.enqueue(held_for="an approval", delay=HOUR)

    await store.stores.jobs.release(job_id, actor="ann")

    job = await store.job(job_id)
    assert (job.state, job.run_at) == (State.SCHEDULED, store.now() + HOUR)


async def test_a_released_job_has_not_lost_its_place(store: Store) -> None:
    held = await store.enqueue(held_for="an approval")
    store.later(MINUTE)
    newcomer = await store.enqueue()

    await store.stores.jobs.release(held, actor="ann")

    assert ids(await store.claim(limit=2)) == [held, newcomer]


async def test_acting_on_an_unknown_job_says_that_there_is_none(store: Store) -> None:
    missing = JobId(store.new_id())
    jobs = store.stores.jobs

    for action in (
        jobs.reschedule(missing, run_at=store.now(), actor="ann"),
        jobs.hold(missing, reason="paused", actor="ann"),
        jobs.release(missing, actor="ann"),
    ):
        with pytest.raises(JobNotFound, match=str(missing)):
            await action


@pytest.mark.parametrize("options", [{}, {"delay": HOUR}, {"held_for": "an approval"}])
async def test_a_waiting_job_gets_another_priority(store: Store, options: dict[str, Any]) -> None:
    job_id = await store.enqueue(tenant="acme", **options)
    before = await store.state(job_id)
    store.later(MINUTE)

    queue = await store.stores.jobs.change_priority(
        job_id, priority=2, ageing_step=HOUR, actor="ann", reason="urgent"
    )

    job = await store.job(job_id)
    [line] = await store.stores.audit.of_job(job_id)
    assert (queue, job.priority, job.state, job.updated_at) == ("default", 2, before, store.now())
    assert (line.action, line.actor, line.reason, line.details) == (
        "job.change_priority",
        "ann",
        "urgent",
        {"before": 5, "after": 2},
    )


async def test_a_job_with_another_priority_has_the_turn_of_one_that_was_stored_so(store: Store) -> None:
    first, second, third = [await store.enqueue() for _ in range(3)]
    await store.stores.jobs.change_priority(third, priority=1, ageing_step=HOUR, actor="ann", reason=None)
    await store.stores.jobs.change_priority(first, priority=10, ageing_step=HOUR, actor="ann", reason=None)

    assert ids(await store.claim(limit=3)) == [third, second, first]


async def test_the_priority_of_a_job_that_runs_or_does_not_exist_stays(store: Store) -> None:
    claim = await store.claimed()
    given: dict[str, Any] = {"priority": 1, "ageing_step": HOUR, "actor": "ann", "reason": None}

    with pytest.raises(WrongState):
        await store.stores.jobs.change_priority(claim.id, **given)
    with pytest.raises(JobNotFound):
        await store.stores.jobs.change_priority(JobId(store.new_id()), **given)

    assert (await store.job(claim.id)).priority == 5
    assert await store.stores.audit.of_job(claim.id) == []


async def test_a_clone_is_a_new_job_and_the_first_remembers_it_once(store: Store) -> None:
    old = await store.enqueue(tenant="acme")
    await store.cancel(old)
    new = store.new_job(tenant="acme", args='{"n":7}')

    for _ in range(2):
        await store.stores.jobs.clone(old, new, actor="ann", reason="again")

    lines = [line for line in await store.stores.audit.of_job(old) if line.action == "job.clone"]
    assert (await store.state(old), await store.state(new.id)) == (State.CANCELLED, State.AVAILABLE)
    assert (await store.job(new.id)).args == {"n": 7}
    assert [(line.actor, line.tenant, line.details) for line in lines] == [
        ("ann", "acme", {"cloned_as": str(new.id)})
    ]


async def test_a_clone_of_nothing_or_beyond_a_quota_is_not_stored(store: Store) -> None:
    await store.stores.quotas.set(tenant="acme", queue=None, most=1, actor="ann", reason="small")
    old = await store.enqueue(tenant="acme")
    new = store.new_job(tenant="acme")

    with pytest.raises(JobNotFound):
        await store.stores.jobs.clone(JobId(store.new_id()), new, actor="ann", reason=None)
    with pytest.raises(QuotaExceeded):
        await store.stores.jobs.clone(old, new, actor="ann", reason=None)

    assert await store.stores.jobs.get(new.id) is None
    assert await store.stores.audit.of_job(old) == []
