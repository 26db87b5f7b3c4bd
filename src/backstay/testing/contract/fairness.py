"""Fair queues: tenants take turns, whatever each has waiting, and nobody's job is forgotten."""

from __future__ import annotations

from collections import Counter
from typing import Any

from backstay.model.job import Claim
from backstay.model.limits.fairness import Fair
from backstay.model.records import Wanted
from backstay.testing.contract.support import HOUR, SECOND, Store, wanted

FAIR = Fair()


def _pair(kind: str = "report", fair: Fair = FAIR, **numbers: Any) -> Wanted:
    return wanted(kind, queue="import", fair=fair, **numbers)


async def _fill(store: Store, **counts: int) -> None:
    for tenant, count in counts.items():
        await store.enqueue_many(count, queue="import", tenant=tenant)
        store.later(SECOND)


async def _one_by_one(store: Store, number: int, *pairs: Wanted) -> list[str]:
    served: list[str] = []
    for _ in range(number):
        served += [claim.tenant for claim in await store.claim(*(pairs or (_pair(),)))]
    return served


def _tenants(claims: list[Claim]) -> Counter[str]:
    return Counter(claim.tenant for claim in claims)


async def test_tenants_take_turns_one_job_at_a_time(store: Store) -> None:
    await _fill(store, a=10, b=2, c=5)

    assert await _one_by_one(store, 9) == ["a", "b", "c", "a", "b", "c", "a", "c", "a"]


async def test_tenants_share_one_claim(store: Store) -> None:
    await _fill(store, a=100, b=2, c=100)

    assert _tenants(await store.claim(_pair(), limit=10)) == {"a": 4, "b": 2, "c": 4}


async def test_the_newcomer_of_one_job_is_among_the_next(store: Store) -> None:
    await _fill(store, a=1000)
    await store.claim(_pair(), limit=20)

    await _fill(store, b=1)

    assert "b" in await _one_by_one(store, 2)


async def test_a_tenant_has_as_many_jobs_in_a_turn_as_its_weight(store: Store) -> None:
    await _fill(store, a=20, b=20)
    pair = _pair(fair=Fair((("a", 3),)))

    assert await _one_by_one(store, 8, pair) == ["a", "a", "a", "b", "a", "a", "a", "b"]
    assert _tenants(await store.claim(pair, limit=8)) == {"a": 6, "b": 2}


async def test_one_tenant_alone_has_everything(store: Store) -> None:
    await _fill(store, a=20)

    claims = await store.claim(_pair(), limit=15)

    assert len(claims) == 15
    assert len(await store.claim(_pair(), limit=15)) == 5
    assert await store.claim(_pair(), limit=15) == []


async def test_a_tenant_has_its_jobs_in_order_of_turn(store: Store) -> None:
    later = await store.enqueue(queue="import", tenant="a", priority=9)
    sooner = await store.enqueue(queue="import", tenant="a", priority=1)

    assert [claim.id for claim in await store.claim(_pair(), limit=2)] == [sooner, later]


async def test_kinds_of_a_fair_queue_share_the_turns_of_a_tenant(store: Store) -> None:
    await _fill(store, a=3)
    await store.enqueue_many(3, queue="import", tenant="b", kind="mail")

    claims = await store.claim(_pair(), _pair("mail"), limit=4)

    assert Counter((claim.tenant, claim.kind) for claim in claims) == {("a", "report"): 2, ("b", "mail"): 2}


async def test_jobs_without_a_tenant_are_claimed_when_there_is_room(store: Store) -> None:
    await store.enqueue_many(2, queue="import")
    await _fill(store, a=2)

    assert _tenants(await store.claim(_pair(), limit=10)) == {"": 2, "a": 2}


async def test_jobs_without_a_tenant_do_not_wait_for_ever(store: Store) -> None:
    await store.enqueue(queue="import")
    await _fill(store, a=50, b=50)

    assert "" in await _one_by_one(store, 20)


async def test_fair_queues_and_others_share_the_slots(store: Store) -> None:
    await store.enqueue_many(20)
    await _fill(store, a=20)

    taken = [await store.claim(_pair(), wanted("report"), limit=5) for _ in range(2)]

    assert {claim.queue for claims in taken for claim in claims} == {"default", "import"}


async def test_suspects_of_a_fair_queue_are_claimed_apart(store: Store) -> None:
    job_id = await store.enqueue(queue="import", tenant="a")
    claim = (await store.claim(_pair()))[0]
    await store.crash_again(claim)

    claims = await store.claim(_pair(), limit=2, suspects=1)

    assert [(claim.id, claim.is_suspect) for claim in claims] == [(job_id, True)]


async def test_a_paused_fair_queue_is_not_claimed(store: Store) -> None:
    await _fill(store, a=2)
    await store.stores.queues.pause(queue="import", kind=None, actor="ann", reason="moving")

    assert await store.claim(_pair(), limit=10) == []


async def test_no_job_is_overtaken_by_one_that_comes_nine_steps_later(store: Store) -> None:
    """The bound of ageing: between the worst and the best priority lie nine steps, an hour each by default."""
    patient = await store.enqueue(priority=10)
    store.later(9 * HOUR - SECOND)
    just_in_time = await store.enqueue(priority=1)
    store.later(2 * SECOND)
    too_late = await store.enqueue(priority=1)

    claims = await store.claim(limit=3)

    assert [claim.id for claim in claims] == [just_in_time, patient, too_late]


async def test_no_job_of_a_fair_queue_is_claimed_twice(store: Store) -> None:
    await _fill(store, a=30, b=3, c=17)
    seen: list[Claim] = []

    while claims := await store.claim(_pair(), limit=7):
        seen += claims

    assert len(seen) == len({claim.id for claim in seen}) == 50
