"""Jobs that wait until nothing more comes under their key: one runs, with the arguments that came last."""

from __future__ import annotations

from typing import Any

from backstay.model.job import Stored
from backstay.model.states import State
from backstay.testing.contract.support import MINUTE, SECOND, Store

DELAY = 5 * SECOND


async def _enqueue(store: Store, number: int, **options: Any) -> Stored:
    given = {
        "args": f'{{"page":{number}}}',
        "delay": DELAY,
        "debounce_key": "report:k",
        "longest_debounce": MINUTE,
        **options,
    }
    return await store.enqueue_keyed(**given)


async def test_the_last_arguments_win_and_the_time_moves(store: Store) -> None:
    first = await _enqueue(store, 1)
    store.later(3 * SECOND)
    second = await _enqueue(store, 2)

    job = await store.job(first.id)
    assert (first.is_new, second) == (True, Stored(first.id, is_new=False))
    assert (job.state, job.args, job.run_at) == (State.SCHEDULED, {"page": 2}, store.now() + DELAY)
    store.later(DELAY)
    assert await store.promote() == ["default"]
    assert len(await store.claim(limit=10)) == 1


async def test_it_is_put_off_only_so_long(store: Store) -> None:
    first = await _enqueue(store, 0)
    begun = store.now()
    for number in range(1, 30):
        store.later(4 * SECOND)
        if store.now() - begun >= MINUTE:
            break
        assert (await _enqueue(store, number)).id == first.id

    assert (await store.job(first.id)).run_at == begun + MINUTE


async def test_what_has_become_available_is_left_alone(store: Store) -> None:
    first = await _enqueue(store, 1)
    store.later(DELAY)
    await store.promote()

    second = await _enqueue(store, 2)
    third = await _enqueue(store, 3)

    assert second.is_new
    assert third == Stored(second.id, is_new=False)
    assert [(await store.job(one.id)).args for one in (first, second)] == [{"page": 1}, {"page": 3}]


async def test_keys_and_tenants_have_jobs_of_their_own(store: Store) -> None:
    stored = [
        await _enqueue(store, 1),
        await _enqueue(store, 1, debounce_key="report:other"),
        await _enqueue(store, 1, tenant="a"),
    ]

    assert len({one.id for one in stored}) == 3


async def test_a_job_sent_again_is_there_once(store: Store) -> None:
    """The reply to the first sending may have been lost."""
    job = store.new_job(delay=DELAY, debounce_key="report:k", longest_debounce=MINUTE)
    await store.stores.enqueuing.enqueue_keyed([job])

    again = await store.stores.enqueuing.enqueue_keyed([job])

    assert again == [Stored(job.id, is_new=True)]


async def test_after_a_cancel_the_key_is_free(store: Store) -> None:
    first = await _enqueue(store, 1)
    await store.cancel(first.id)

    assert (await _enqueue(store, 2)).is_new


async def test_keys_of_jobs_that_wait_no_longer_are_dropped(store: Store) -> None:
    first = await _enqueue(store, 1)
    other = await _enqueue(store, 1, debounce_key="report:other")
    await store.cancel(first.id)

    await store.stores.upkeep.forget_keys()

    assert (await _enqueue(store, 2, debounce_key="report:other")).id == other.id
    assert (await _enqueue(store, 2)).is_new
