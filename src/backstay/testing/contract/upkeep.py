"""Upkeep: what is too late ends, and what ended long ago is removed in batches."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from backstay.model.job import JobId
from backstay.model.outcome import Stopped
from backstay.model.states import FINAL, State
from backstay.testing.contract.support import DAY, HOUR, MINUTE, SECOND, Store

FIRST = UUID(int=0)

WAITING: list[dict[str, Any]] = [{}, {"delay": DAY}, {"held_for": "an approval"}]


@pytest.mark.parametrize("options", WAITING, ids=["available", "scheduled", "held"])
async def test_a_job_that_nobody_started_in_time_is_cancelled(store: Store, options: dict[str, Any]) -> None:
    job_id = await store.enqueue(expires_in=HOUR, **options)
    store.later(HOUR)

    expired = await store.stores.upkeep.expire(limit=10)

    job = await store.job(job_id)
    assert expired == 1
    assert (job.state, job.reason, job.finished_at) == (State.CANCELLED, "expired", store.now())


async def test_a_job_expires_at_a_given_moment(store: Store) -> None:
    await store.enqueue(expires_at=store.now() + HOUR)
    store.later(HOUR - SECOND)
    too_early = await store.stores.upkeep.expire(limit=10)
    store.later(SECOND)

    assert (too_early, await store.stores.upkeep.expire(limit=10)) == (0, 1)


async def test_a_job_that_was_started_once_does_not_expire(store: Store) -> None:
    """It was started in time; how long it may take is for its deadline to say."""
    claim = await store.claimed(expires_in=HOUR)
    await store.fail(claim)
    store.later(DAY)

    assert await store.stores.upkeep.expire(limit=10) == 0


async def test_expiry_takes_a_bounded_batch(store: Store) -> None:
    await store.enqueue_many(5, expires_in=HOUR)
    store.later(HOUR)

    assert [await store.stores.upkeep.expire(limit=2) for _ in range(4)] == [2, 2, 1, 0]


@pytest.mark.parametrize("options", WAITING, ids=["available", "scheduled", "held"])
async def test_a_waiting_job_beyond_its_deadline_is_dead(store: Store, options: dict[str, Any]) -> None:
    """ENG-064: with a dead letter, because a person must look."""
    job_id = await store.enqueue(deadline_in=HOUR, **options)
    store.later(HOUR)

    missed = await store.stores.upkeep.miss_deadlines(limit=10)

    job, [letter] = await store.job(job_id), await store.stores.dead_letters.of_job(job_id)
    assert missed == 1
    assert (job.state, job.reason, job.finished_at) == (State.DEAD, "deadline", store.now())
    assert (letter.reason, letter.attempts, letter.first_attempted_at) == ("deadline", 0, None)


async def test_a_deadline_counts_over_all_attempts(store: Store) -> None:
    started_at = store.now()
    claim = await store.claimed(deadline_in=HOUR)
    await store.fail(claim)
    store.later(HOUR)

    assert await store.stores.upkeep.miss_deadlines(limit=10) == 1

    [letter] = await store.stores.dead_letters.of_job(claim.id)
    assert (letter.attempts, letter.first_attempted_at) == (1, started_at)


async def test_a_job_that_missed_two_deadlines_has_two_letters(store: Store) -> None:
    job_id = await store.enqueue(deadline_in=HOUR)
    store.later(HOUR)
    await store.stores.upkeep.miss_deadlines(limit=10)
    await store.retry(job_id)
    await store.fail_for_good(await store.claim_one())

    assert len(await store.stores.dead_letters.of_job(job_id)) == 2


async def test_deadlines_are_swept_in_bounded_batches(store: Store) -> None:
    await store.enqueue_many(5, deadline_in=HOUR)
    store.later(HOUR)

    assert [await store.stores.upkeep.miss_deadlines(limit=2) for _ in range(4)] == [2, 2, 1, 0]


async def _ended(store: Store, state: State) -> JobId:
    claim = await store.claimed()
    if state is State.COMPLETED:
        await store.complete(claim)
    elif state is State.CANCELLED:
        await store.end(claim, Stopped("not needed"))
    else:
        await store.fail_for_good(claim)
    if state is State.RESOLVED:
        await store.resolve(claim.id)
    return claim.id


async def _remove(store: Store, state: State, *, older_than: timedelta = DAY, limit: int = 100) -> int:
    """Remove every batch; returns how many batches it took."""
    after: UUID | None = FIRST
    batches = 0
    while after is not None:
        after = await store.stores.upkeep.delete_finished({state: older_than}, after=after, limit=limit)
        batches += 1
    return batches


ENDED = (State.COMPLETED, State.CANCELLED, State.DEAD, State.RESOLVED)


@pytest.mark.parametrize("state", sorted(FINAL))
async def test_retention_removes_old_jobs_of_one_state_only(store: Store, state: State) -> None:
    """ENG-070, ENG-141."""
    jobs = {ended: await _ended(store, ended) for ended in ENDED}
    store.later(DAY + SECOND)

    await _remove(store, state)

    left = {ended for ended, job_id in jobs.items() if await store.stores.jobs.get(job_id) is not None}
    assert left == set(ENDED) - {state}


async def test_retention_never_removes_an_open_dead_letter(store: Store) -> None:
    """ENG-070: neither a new one nor one that somebody looks into, however old."""
    new, investigated = await store.dead(), await store.dead()
    await store.investigate(investigated)
    store.later(1000 * DAY)

    await _remove(store, State.DEAD)

    letters = await store.stores.dead_letters.open(kind=None, queue=None, tenant=None, limit=10)
    assert {letter.job_id for letter in letters} == {new, investigated}


async def test_closed_letters_go_with_their_job(store: Store) -> None:
    """ENG-070."""
    job_id = await store.dead()
    await store.retry(job_id)
    await store.fail_for_good(await store.claim_one())
    await store.resolve(job_id)
    store.later(DAY + SECOND)

    await _remove(store, State.RESOLVED)
    await store.stores.upkeep.forget_letters(keep=timedelta(0))

    assert await store.stores.jobs.get(job_id) is None
    assert await store.stores.dead_letters.of_job(job_id) == []


async def test_retention_counts_from_the_end_of_a_job(store: Store) -> None:
    """ENG-141: an old job that ended a moment ago stays."""
    claim = await store.claimed()
    store.later(3 * DAY)
    await store.complete(claim)
    await _remove(store, State.COMPLETED)
    kept = await store.stores.jobs.get(claim.id)
    store.later(DAY + SECOND)

    await _remove(store, State.COMPLETED)

    assert kept is not None
    assert await store.stores.jobs.get(claim.id) is None


async def test_each_state_is_kept_for_its_own_time(store: Store) -> None:
    """ENG-141: one walk over the jobs serves all states."""
    ended = {
        state: await _ended(store, state) for state in (State.COMPLETED, State.CANCELLED, State.RESOLVED)
    }
    keep = {State.COMPLETED: 2 * DAY, State.CANCELLED: DAY}
    left = []
    for _ in range(2):
        store.later(DAY + SECOND)
        await store.stores.upkeep.delete_finished(keep, after=FIRST, limit=100)
        left.append({state for state, job_id in ended.items() if await store.stores.jobs.get(job_id)})

    assert left == [{State.COMPLETED, State.RESOLVED}, {State.RESOLVED}]


async def test_retention_removes_in_bounded_batches(store: Store) -> None:
    """ENG-141."""
    await store.enqueue_many(5)
    for claim in await store.claim(limit=5):
        await store.complete(claim)
    store.later(DAY + SECOND)

    first = await store.stores.upkeep.delete_finished({State.COMPLETED: DAY}, after=FIRST, limit=2)
    left = sum(count.jobs for count in await store.stores.jobs.counts())

    assert first is not None
    assert left == 3
    assert await _remove(store, State.COMPLETED, limit=2) == 2


async def test_retention_goes_on_past_jobs_that_stay(store: Store) -> None:
    """ENG-141: a batch in which nothing is to be removed does not end the work."""
    staying = await store.enqueue_many(5, delay=HOUR)
    ended = await _ended(store, State.COMPLETED)
    store.later(DAY + SECOND)

    await _remove(store, State.COMPLETED, limit=2)

    assert await store.stores.jobs.get(ended) is None
    assert [await store.state(job_id) for job_id in staying] == [State.SCHEDULED] * 5


async def test_retention_never_touches_what_has_not_ended(store: Store) -> None:
    """ENG-141."""
    waiting = await store.enqueue()
    running = await store.claimed(kind="long")
    store.later(100 * DAY)

    for state in ENDED:
        await _remove(store, state)

    assert await store.state(waiting) is State.AVAILABLE
    assert await store.state(running.id) is State.RUNNING


async def test_with_a_job_go_its_attempts_its_letters_by_policy_and_never_its_audit_trail(
    store: Store,
) -> None:
    """ENG-070."""
    job_id = await _ended(store, State.RESOLVED)
    store.later(DAY + SECOND)

    await _remove(store, State.RESOLVED)

    assert await store.stores.jobs.attempts(job_id) == []
    [letter] = await store.stores.dead_letters.of_job(job_id)
    assert letter.status == "resolved"
    await store.stores.upkeep.forget_letters(keep=2 * DAY)
    assert await store.stores.dead_letters.of_job(job_id) == [letter]
    await store.stores.upkeep.forget_letters(keep=DAY)
    assert await store.stores.dead_letters.of_job(job_id) == []
    assert [line.action for line in await store.stores.audit.of_job(job_id)] == ["job.failed", "job.resolve"]


async def test_an_open_letter_keeps_its_job(store: Store) -> None:
    """ENG-070: retention of closed jobs leaves those that nobody has looked at."""
    job_id = await store.dead()
    store.later(100 * DAY)

    await _remove(store, State.RESOLVED, older_than=MINUTE)

    assert await store.state(job_id) is State.DEAD
