"""Ordering keys: one at a time, the oldest first, and what may hold a line up."""

from __future__ import annotations

from typing import Any

from backstay.model.job import JobId
from backstay.model.limits.declared import KindLimits
from backstay.model.states import State
from backstay.testing.contract.limits import limited, of_customer, take
from backstay.testing.contract.support import HOUR, SECOND, Store, ids

IN_ORDER = KindLimits(ordered_by="account:{customer}")


async def in_line(store: Store, number: int, *, account: int = 7, **options: Any) -> list[JobId]:
    """Store jobs of one account, each a moment after the other."""
    jobs = []
    for _ in range(number):
        jobs.append(await of_customer(store, account, order_key=f"account:{account}", **options))
        store.later(SECOND / 10)
    return jobs


async def test_jobs_of_an_ordering_key_run_one_by_one_the_oldest_first(store: Store) -> None:
    jobs = await in_line(store, 3, priority=9)
    jobs += await in_line(store, 2, priority=1)
    other = await in_line(store, 1, account=8)
    pair = limited(IN_ORDER)

    first = await take(store, pair)
    done = []
    for _ in jobs:
        mine = next(claim for claim in first if claim.id not in other)
        done.append(mine.id)
        await store.complete(mine)
        first = await take(store, pair)

    assert (done, first) == (jobs, [])


async def test_a_job_in_line_says_that_an_older_one_comes_first(store: Store) -> None:
    _, second = await in_line(store, 2)
    await take(store, limited(IN_ORDER))

    assert (await store.job(second)).reason == "limit: an older job of order account:7 comes first"


async def test_a_job_that_waits_for_a_retry_blocks_its_line(store: Store) -> None:
    first, second = await in_line(store, 2)
    pair = limited(IN_ORDER)
    [claim] = await take(store, pair)

    await store.fail(claim)
    blocked = await take(store, pair)
    store.later(HOUR)
    await store.promote()

    assert (blocked, ids(await take(store, pair))) == ([], [first])
    assert await store.state(second) is State.HELD


async def test_a_job_that_waits_for_a_retry_lets_others_pass_where_that_is_declared(store: Store) -> None:
    first, second = await in_line(store, 2)
    pair = limited(KindLimits(ordered_by="account:{customer}", on_retry="yield"))
    [claim] = await take(store, pair)

    await store.fail(claim)
    [passing] = await take(store, pair)
    store.later(HOUR)
    await store.promote()
    both = await take(store, pair)
    await store.complete(passing)

    assert (passing.id, both) == (second, [])
    assert ids(await take(store, pair)) == [first]


async def test_a_line_goes_on_after_a_job_that_died_or_was_cancelled(store: Store) -> None:
    _, second, third, fourth = await in_line(store, 4)
    pair = limited(IN_ORDER)
    [claim] = await take(store, pair)

    await store.fail_for_good(claim)
    [next_one] = await take(store, pair)
    await store.cancel(third)
    await store.complete(next_one)

    assert (next_one.id, ids(await take(store, pair))) == (second, [fourth])


async def test_a_line_goes_on_when_its_first_is_cancelled_while_it_waits(store: Store) -> None:
    first, second = await in_line(store, 2)
    pair = limited(IN_ORDER)
    await store.stores.jobs.hold(first, reason="ask Bob", actor="ann")
    blocked = await take(store, pair)

    await store.cancel(first)

    assert (blocked, ids(await take(store, pair))) == ([], [second])


async def test_a_line_goes_on_when_its_first_expires_or_misses_its_deadline(store: Store) -> None:
    pair = limited(IN_ORDER)
    for account, limit in ((1, {"expires_in": SECOND}), (2, {"deadline_in": SECOND})):
        await in_line(store, 1, account=account, delay=HOUR, **limit)
        [second] = await in_line(store, 1, account=account)
        assert await take(store, pair) == []
        store.later(2 * SECOND)

        ended = await store.stores.upkeep.expire(limit=9) + await store.stores.upkeep.miss_deadlines(limit=9)

        assert (ended, ids(await take(store, pair))) == (1, [second])


async def test_a_line_that_nobody_let_go_on_is_repaired(store: Store) -> None:
    _, second = await in_line(store, 2)
    pair = limited(IN_ORDER)
    [claim] = await take(store, pair)
    # A process that settles and dies.
    await store.complete(claim._replace(limits=()))
    blocked = await take(store, pair)

    await store.stores.limits.repair("", limit=10)

    assert (blocked, ids(await take(store, pair))) == ([], [second])


async def test_jobs_from_before_their_kind_went_in_order_still_run_one_by_one(store: Store) -> None:
    jobs = [await of_customer(store, 7) for _ in range(3)]
    pair = limited(IN_ORDER)

    for job in jobs:
        claims = await take(store, pair)
        assert ids(claims) == [job]
        await store.complete(claims[0])
