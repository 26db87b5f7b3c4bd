"""Waiting jobs: promoted when due, moved to another time, put aside and let go again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from windlass.errors import JobNotFound
from windlass.job import JobId
from windlass.states import State
from windlass.testing.contract.support import DAY, HOUR, MINUTE, SECOND, Store, ids


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
