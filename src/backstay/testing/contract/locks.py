"""Locks: one holder at a time, for a time, and a fence that only rises."""

from __future__ import annotations

import asyncio

from backstay.model.job import JobId
from backstay.model.schedules.records import Lock
from backstay.testing.contract.support import DAY, HOUR, MINUTE, SECOND, Store


async def take(
    store: Store, lock_id: str = "poll", *, holder: str = "a", job_id: JobId | None = None, tenant: str = ""
) -> Lock | None:
    """Try to take a lock for a minute."""
    return await store.stores.locks.acquire(tenant, lock_id, holder=holder, job_id=job_id, ttl=MINUTE)


async def test_a_lock_has_one_holder(store: Store) -> None:
    first, second = await take(store), await take(store, holder="b")

    assert first is not None
    assert second is None
    assert (first.holder, first.locked_at, first.expires_at) == ("a", store.now(), store.now() + MINUTE)
    assert await store.stores.locks.get("", "poll") == first


async def test_of_many_who_try_at_once_one_gets_it(store: Store) -> None:
    taken = await asyncio.gather(*(take(store, holder=str(number)) for number in range(20)))

    assert len([lock for lock in taken if lock is not None]) == 1


async def test_a_lock_that_ran_out_is_taken_over_by_one_with_a_higher_fence(store: Store) -> None:
    first = await take(store)
    store.later(MINUTE)

    taken = await asyncio.gather(*(take(store, holder=str(number)) for number in range(10)))

    [second] = [lock for lock in taken if lock is not None]
    assert first is not None
    assert second.fence > first.fence


async def test_the_late_holder_can_neither_release_nor_extend_what_another_holds(store: Store) -> None:
    first = await take(store)
    assert first is not None
    store.later(MINUTE)
    await take(store, holder="b")

    locks = store.stores.locks
    assert not await locks.release("", "poll", fence=first.fence)
    assert not await locks.extend("", "poll", fence=first.fence, ttl=HOUR)
    assert await take(store, holder="c") is None


async def test_a_released_lock_is_free_and_its_fence_goes_on_rising(store: Store) -> None:
    first = await take(store)
    assert first is not None

    assert await store.stores.locks.release("", "poll", fence=first.fence)

    second = await take(store, holder="b")
    assert second is not None
    assert second.fence > first.fence


async def test_a_lock_can_be_held_for_longer(store: Store) -> None:
    held = await take(store)
    assert held is not None
    store.later(59 * SECOND)

    assert await store.stores.locks.extend("", "poll", fence=held.fence, ttl=HOUR)

    store.later(59 * MINUTE)
    assert await take(store, holder="b") is None


async def test_the_next_attempt_of_a_job_gets_the_lock_that_a_crash_left(store: Store) -> None:
    job_id = await store.enqueue()
    first = await take(store, holder="attempt 1", job_id=job_id)

    second = await take(store, holder="attempt 2", job_id=job_id)

    assert first is not None
    assert second is not None
    assert second.fence > first.fence


async def test_a_holder_that_asks_again_has_the_same_lock_for_longer(store: Store) -> None:
    first = await take(store)
    store.later(30 * SECOND)

    again = await take(store)

    assert first is not None
    assert again is not None
    assert (again.fence, again.expires_at) == (first.fence, store.now() + MINUTE)


async def test_tenants_have_locks_of_their_own(store: Store) -> None:
    assert await take(store, tenant="x") is not None
    assert await take(store, holder="b", tenant="y") is not None

    assert [lock.tenant for lock in await store.stores.locks.all(tenant="y", limit=9)] == ["y"]


async def test_only_held_locks_are_listed_the_next_to_run_out_first(store: Store) -> None:
    await take(store, "old")
    store.later(30 * SECOND)
    await take(store, "new")
    await take(store, "gone")
    await store.stores.locks.release("", "gone", fence=None)

    assert [lock.id for lock in await store.stores.locks.all(tenant=None, limit=9)] == ["old", "new"]


async def test_an_operator_can_break_a_lock(store: Store) -> None:
    await take(store)

    first = await store.stores.locks.break_lock("", "poll", actor="ann", reason="its host is gone")
    second = await store.stores.locks.break_lock("", "poll", actor="ann", reason="its host is gone")

    assert (first, second) == (True, False)
    assert await take(store, holder="b") is not None


async def test_a_fence_rises_even_after_old_locks_were_dropped(store: Store) -> None:
    first = await take(store)
    assert first is not None
    store.later(2 * DAY)

    await store.forget_unused()

    second = await take(store)
    assert second is not None
    assert second.fence > first.fence


async def test_the_lock_of_a_job_that_ended_badly_is_free_and_that_of_a_completed_one_is_kept(
    store: Store,
) -> None:
    died = await store.dead()
    await store.enqueue()
    claim = await store.claim_one()
    assert await take(store, "of the dead", holder="a", job_id=died) is not None
    assert await take(store, "of the living", holder="b", job_id=claim.id) is not None
    running = await take(store, "of the living", holder="c")
    await store.complete(claim)

    assert running is None
    assert await take(store, "of the living", holder="c") is None
    taken = await take(store, "of the dead", holder="c")
    assert taken is not None
    assert taken.holder == "c"
