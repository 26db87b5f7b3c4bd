"""Keys: the same enqueue twice is one job, and a unique key has one active job or one job a window."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backstay.errors import IdempotencyMismatch
from backstay.model.job import NewJob, Stored
from backstay.model.states import State
from backstay.testing.contract.support import DAY, HOUR, MINUTE, SECOND, Store

BORDER = datetime(2030, 5, 17, 13, 0, tzinfo=UTC)
"""A moment at which a window of an hour begins."""


async def test_the_same_key_and_body_is_the_same_job(store: Store) -> None:
    """ENG-018."""
    first = await store.enqueue_keyed(idempotency_key="sign-7", fingerprint="body")
    second = await store.enqueue_keyed(idempotency_key="sign-7", fingerprint="body")

    assert (first.is_new, second.is_new) == (True, False)
    assert first.id == second.id
    assert sum(count.jobs for count in await store.stores.jobs.counts()) == 1
    assert (await store.job(first.id)).idempotency_key == "sign-7"


async def test_the_same_key_with_another_body_is_refused(store: Store) -> None:
    await store.enqueue_keyed(idempotency_key="sign-7", fingerprint="body")

    with pytest.raises(IdempotencyMismatch, match="sign-7"):
        await store.enqueue_keyed(idempotency_key="sign-7", fingerprint="other body")

    assert sum(count.jobs for count in await store.stores.jobs.counts()) == 1


async def test_a_batch_with_a_key_that_stands_for_another_job_is_refused_whole(store: Store) -> None:
    """And the keys that the others had taken are free again."""
    await store.enqueue_keyed(idempotency_key="sign-7", fingerprint="body")
    batch = [
        store.new_job(idempotency_key="sign-8", fingerprint="body"),
        store.new_job(idempotency_key="sign-7", fingerprint="other body"),
    ]

    with pytest.raises(IdempotencyMismatch, match="sign-7"):
        await store.stores.enqueuing.enqueue_keyed(batch)

    assert sum(count.jobs for count in await store.stores.jobs.counts()) == 1
    assert (await store.enqueue_keyed(idempotency_key="sign-8", fingerprint="third body")).is_new


async def test_a_key_belongs_to_its_tenant(store: Store) -> None:
    """ENG-018."""
    ours = await store.enqueue_keyed(idempotency_key="sign-7", fingerprint="a", tenant="acme")
    theirs = await store.enqueue_keyed(idempotency_key="sign-7", fingerprint="b", tenant="other")

    assert ours.is_new
    assert theirs.is_new


async def test_a_key_is_kept_for_a_day_after_its_job_has_ended(store: Store) -> None:
    first = await store.enqueue_keyed(idempotency_key="sign-7", fingerprint="body")
    await store.complete(await store.claim_one())
    store.later(DAY - SECOND)
    within = await store.enqueue_keyed(idempotency_key="sign-7", fingerprint="body")
    store.later(2 * SECOND)
    after = await store.enqueue_keyed(idempotency_key="sign-7", fingerprint="other body")

    assert within == Stored(first.id, is_new=False)
    assert after.is_new


async def test_a_key_is_kept_while_its_job_has_not_ended(store: Store) -> None:
    """However long it waits."""
    first = await store.enqueue_keyed(idempotency_key="sign-7", fingerprint="body", delay=10 * DAY)
    store.later(9 * DAY)
    await store.stores.upkeep.forget_keys()

    again = await store.enqueue_keyed(idempotency_key="sign-7", fingerprint="body")

    assert again == Stored(first.id, is_new=False)


async def test_forgetting_drops_keys_of_jobs_that_ended_long_ago(store: Store) -> None:
    await store.enqueue_keyed(idempotency_key="sign-7", fingerprint="body")
    await store.complete(await store.claim_one())
    store.later(2 * DAY)

    await store.stores.upkeep.forget_keys()

    assert (await store.enqueue_keyed(idempotency_key="sign-7", fingerprint="other")).is_new


async def test_twenty_callers_with_one_key_make_one_job(store: Store) -> None:
    """ENG-018."""
    stored = await asyncio.gather(
        *(store.enqueue_keyed(idempotency_key="sign-7", fingerprint="body") for _ in range(20))
    )

    assert len({one.id for one in stored}) == 1
    assert sum(one.is_new for one in stored) == 1
    assert sum(count.jobs for count in await store.stores.jobs.counts()) == 1


async def test_a_repeated_keyed_enqueue_is_still_new_to_its_sender(store: Store) -> None:
    """The first sending stored it and only the reply was lost."""
    job = store.new_job(idempotency_key="sign-7", fingerprint="body")

    first = (await store.stores.enqueuing.enqueue_keyed([job]))[0]
    second = (await store.stores.enqueuing.enqueue_keyed([job]))[0]

    assert first == second == Stored(job.id, is_new=True)


async def test_a_repeated_enqueue_finds_its_job_even_when_that_has_ended(store: Store) -> None:
    """The unique key is free again, but the job is there."""
    job = store.new_job(unique_key="customer-7")
    await store.stores.enqueuing.enqueue_keyed([job])
    await store.complete(await store.claim_one())

    [again] = await store.stores.enqueuing.enqueue_keyed([job])

    assert again == Stored(job.id, is_new=True)
    assert await store.state(job.id) is State.COMPLETED


@pytest.mark.parametrize("state", [State.SCHEDULED, State.HELD, State.AVAILABLE, State.RUNNING])
async def test_a_unique_key_has_one_active_job(store: Store, state: State) -> None:
    """Waiting or running, it is there already."""
    options: dict[str, Any] = {}
    if state is State.SCHEDULED:
        options = {"delay": HOUR}
    if state is State.HELD:
        options = {"held_for": "an approval"}
    first = await store.enqueue_keyed(unique_key="customer-7", **options)
    if state is State.RUNNING:
        await store.claim_one()
    assert await store.state(first.id) is state

    second = await store.enqueue_keyed(unique_key="customer-7")

    assert second == Stored(first.id, is_new=False)


@pytest.mark.parametrize("state", [State.COMPLETED, State.DEAD, State.CANCELLED, State.RESOLVED])
async def test_a_unique_key_is_free_when_its_job_has_ended(store: Store, state: State) -> None:
    first = await store.enqueue_keyed(unique_key="customer-7")
    claim = await store.claim_one()
    if state is State.COMPLETED:
        await store.complete(claim)
    elif state is State.CANCELLED:
        await store.cancel(first.id)
        await store.fail(claim)
    else:
        await store.fail_for_good(claim)
    if state is State.RESOLVED:
        await store.resolve(first.id)
    assert await store.state(first.id) is state

    second = await store.enqueue_keyed(unique_key="customer-7")

    assert second.is_new


async def test_a_unique_key_belongs_to_its_tenant(store: Store) -> None:
    ours = await store.enqueue_keyed(unique_key="customer-7", tenant="acme")
    theirs = await store.enqueue_keyed(unique_key="customer-7", tenant="other")

    assert ours.is_new
    assert theirs.is_new


async def test_twenty_callers_with_one_unique_key_make_one_job(store: Store) -> None:
    stored = await asyncio.gather(*(store.enqueue_keyed(unique_key="customer-7") for _ in range(20)))

    assert len({one.id for one in stored}) == 1
    assert sum(one.is_new for one in stored) == 1


async def test_a_unique_window_has_one_job_even_after_it_has_ended(store: Store) -> None:
    store.clock.set(BORDER)
    first = await store.enqueue_keyed(unique_key="digest", unique_for=HOUR)
    await store.complete(await store.claim_one())
    store.later(59 * MINUTE)

    second = await store.enqueue_keyed(unique_key="digest", unique_for=HOUR)

    assert second == Stored(first.id, is_new=False)


async def test_a_unique_window_ends_at_its_border(store: Store) -> None:
    """Windows are fixed by the database's clock, not by the first job."""
    store.clock.set(BORDER - timedelta(milliseconds=1))
    before = await store.enqueue_keyed(unique_key="digest", unique_for=HOUR)
    store.clock.set(BORDER)
    after = await store.enqueue_keyed(unique_key="digest", unique_for=HOUR)
    again = await store.enqueue_keyed(unique_key="digest", unique_for=HOUR)

    assert (before.is_new, after.is_new, again.is_new) == (True, True, False)
    assert again.id == after.id


async def test_callers_on_both_sides_of_a_border_make_two_jobs(store: Store) -> None:
    """Fifty inserts over a border leave one job on each side."""
    store.clock.set(BORDER - SECOND)
    before = await asyncio.gather(*(_digest(store) for _ in range(25)))
    store.clock.set(BORDER)
    after = await asyncio.gather(*(_digest(store) for _ in range(25)))

    assert [len({one.id for one in side}) for side in (before, after)] == [1, 1]
    assert sum(one.is_new for one in (*before, *after)) == 2


async def _digest(store: Store) -> Stored:
    return await store.enqueue_keyed(unique_key="digest", unique_for=HOUR)


async def test_forgetting_drops_windows_that_are_over(store: Store) -> None:
    store.clock.set(BORDER)
    first = await _digest(store)
    await store.stores.upkeep.forget_keys()
    kept = await _digest(store)
    store.later(3 * HOUR)
    await store.stores.upkeep.forget_keys()

    assert kept.id == first.id
    assert (await _digest(store)).is_new


@pytest.mark.parametrize("window", [None, HOUR], ids=["while active", "window"])
async def test_an_idempotency_key_follows_the_job_that_a_unique_key_led_to(
    store: Store, window: timedelta | None
) -> None:
    """ENG-018: what was returned once is returned again, and it is a job that exists."""
    holder = await store.enqueue_keyed(unique_key="customer-7", unique_for=window)
    job = _both(store, window)
    first = (await store.stores.enqueuing.enqueue_keyed([job]))[0]
    await store.complete(await store.claim_one())

    second = (await store.stores.enqueuing.enqueue_keyed([_both(store, window)]))[0]

    assert first == second == Stored(holder.id, is_new=False)


def _both(store: Store, window: timedelta | None) -> NewJob:
    return store.new_job(
        idempotency_key="sign-7", fingerprint="body", unique_key="customer-7", unique_for=window
    )
