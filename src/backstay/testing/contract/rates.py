"""Rates: tokens by the store's clock, whoever claims."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from backstay.model.limits.declared import KindLimits, QueueLimits, Rate
from backstay.model.limits.fairness import Fair
from backstay.model.records import Vitals
from backstay.model.states import State
from backstay.testing.contract.limits import limited, of_customer, take, try_claim
from backstay.testing.contract.support import HOUR, LEASE, SECOND, Store, ids


async def test_no_more_jobs_start_than_tokens_come(store: Store) -> None:
    """G5: by the store's clock, whoever claims."""
    await store.enqueue_many(20)
    pair = limited(KindLimits(rate=Rate("2/s", burst=3)))

    starts: list[datetime] = []
    for _ in range(12):
        claimed = await try_claim(store, pair, worker=f"w{len(starts)}")
        starts += [store.now()] * len(claimed.claims)
        assert claimed.waits["default", "report"] == SECOND / 2
        store.later(SECOND / 2)

    assert [len([one for one in starts if one == at]) for at in dict.fromkeys(starts)] == [3] + [1] * 11


async def test_unused_tokens_are_kept_up_to_the_burst_and_no_further(store: Store) -> None:
    await store.enqueue_many(9)
    pair = limited(KindLimits(rate=Rate("1/s", burst=3)))
    await take(store, pair)

    store.later(HOUR)

    assert len(await take(store, pair)) == 3


async def test_a_job_beyond_its_keys_rate_is_held_until_the_token_comes(store: Store) -> None:
    pair = limited(KindLimits(key_rate=Rate("1/s", key="c:{customer}")))
    jobs = [await of_customer(store, 7) for _ in range(3)]
    other = await of_customer(store, 8)

    claimed = await try_claim(store, pair)

    limits = store.stores.limits
    assert (ids(claimed.claims), claimed.is_late) == ([jobs[0], other], True)
    assert (
        await store.job(jobs[1])
    ).reason == "limit: rate key c:7 is out of tokens (1 at once, then one every 1s)"
    assert (await limits.next_due(), await limits.release_due(limit=10)) == (SECOND, (False, frozenset()))
    for job in jobs[1:]:
        store.later(SECOND)
        assert await limits.release_due(limit=10) == (True, frozenset({"default"}))
        assert ids(await take(store, pair)) == [job]
    assert (await limits.next_due(), [await store.state(job) for job in jobs]) == (None, [State.RUNNING] * 3)


async def test_waiting_for_a_token_shows_in_the_leaders_look(store: Store) -> None:
    pair = limited(KindLimits(key_rate=Rate("1/10s", key="c:{customer}")))
    for _ in range(2):
        await of_customer(store, 7)
    await take(store, pair)

    tick = await store.stores.workers.tick("w", vitals=Vitals(), lease=LEASE, overrun=SECOND)
    look = tick.look

    assert look is not None
    assert (look.has_parked, look.token_in) == (True, timedelta(seconds=10))


async def test_tenants_take_turns_under_a_limit_that_all_of_them_share(store: Store) -> None:
    """A ceiling, or the limit of a queue, says how many start and not whose."""
    for tenant, number in (("a", 20), ("b", 2)):
        await store.enqueue_many(number, tenant=tenant)
    pair = replace(
        limited(KindLimits(), of_queue=QueueLimits(limit=2, rate=Rate("2/s", burst=4))), fair=Fair()
    )

    first = await try_claim(store, pair)
    full = await try_claim(store, pair)
    for claim in first.claims:
        await store.complete(claim)
    second = await try_claim(store, pair)
    for claim in second.claims:
        await store.complete(claim)
    dry = await try_claim(store, pair)

    assert [sorted(claim.tenant for claim in one.claims) for one in (first, second)] == [["a", "b"]] * 2
    assert {claim.limits for claim in first.claims} == {("queue default",)}
    assert (full.claims, full.waits) == ([], {("default", "report"): None})
    assert (dry.claims, dry.waits) == ([], {("default", "report"): SECOND / 2})


async def test_a_suspect_of_a_fair_queue_counts_under_its_limit(store: Store) -> None:
    await store.enqueue(tenant="a")
    pair = replace(limited(KindLimits(), of_queue=QueueLimits(limit=1)), fair=Fair())
    await take(store, pair)
    store.later(LEASE + SECOND)
    [suspect] = await store.rescue(again=True)
    await store.enqueue_many(3, tenant="b")

    claims = await take(store, pair)

    assert ids(claims) == [suspect]


async def test_a_rate_may_count_what_a_job_costs(store: Store) -> None:
    pair = limited(KindLimits(rate=Rate("10/s", burst=10, cost="tokens")))
    jobs = [await store.enqueue(args=f'{{"tokens": {tokens}}}') for tokens in (6, 4, 1, 500)]

    started = []
    for _ in range(3):
        started.append(ids(await take(store, pair)))
        store.later(SECOND)

    # What costs more than there can ever be takes all of it.
    assert started == [jobs[:2], jobs[2:3], jobs[3:]]


async def test_a_key_has_tokens_of_its_own_for_what_its_jobs_cost(store: Store) -> None:
    pair = limited(KindLimits(key_rate=Rate("10/s", burst=10, key="c:{customer}", cost="tokens")))
    jobs = [
        await store.enqueue(args=f'{{"customer": {customer}, "tokens": {tokens}}}')
        for customer, tokens in ((1, 8), (1, 8), (2, 8))
    ]

    first = ids(await take(store, pair))
    store.later(SECOND)
    await store.stores.limits.release_due(limit=10)

    assert first == [jobs[0], jobs[2]]
    assert ids(await take(store, pair)) == [jobs[1]]
