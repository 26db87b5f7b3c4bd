"""Pauses that end by themselves and of tenants, and quotas: what is held goes on, and no more waits than may."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from backstay.errors import QuotaExceeded
from backstay.model.job import JobId
from backstay.model.states import State
from backstay.testing.contract.support import HOUR, MINUTE, SECOND, Store


async def _pause(store: Store, **what: Any) -> None:
    await store.stores.queues.pause(actor="ann", reason="moving", **what)


async def _quota(store: Store, most: int, *, tenant: str | None = "a", queue: str | None = None) -> None:
    await store.stores.quotas.set(tenant=tenant, queue=queue, most=most, actor="ann", reason="moving")


async def test_a_pause_ends_at_its_time(store: Store) -> None:
    await store.enqueue()
    await _pause(store, queue="default", length=HOUR)
    await _pause(store, kind="mail", until=store.now() + 2 * HOUR)

    assert await store.stores.upkeep.next_due() == HOUR
    assert await store.stores.queues.tend() == []
    assert await store.claim() == []
    store.later(HOUR)

    assert await store.stores.queues.tend() == ["default"]
    assert len(await store.claim()) == 1
    assert [(pause.kind, pause.ends_at) for pause in await store.stores.queues.pauses()] == [
        ("mail", store.now() + HOUR)
    ]


async def test_a_pause_without_an_end_stays(store: Store) -> None:
    await _pause(store, queue="default")
    store.later(100 * HOUR)

    await store.stores.queues.tend()

    assert len(await store.stores.queues.pauses()) == 1
    assert await store.stores.upkeep.next_due() is None


async def test_what_a_paused_tenant_has_waiting_is_held(store: Store) -> None:
    now, later = await store.enqueue(tenant="a"), await store.enqueue(tenant="a", delay=HOUR)
    other, nobodys = await store.enqueue(tenant="b"), await store.enqueue()

    await _pause(store, tenant="a")

    assert [await store.state(one) for one in (now, later)] == [State.HELD, State.HELD]
    assert (await store.job(now)).reason == "tenant paused"
    assert [await store.state(one) for one in (other, nobodys)] == [State.AVAILABLE, State.AVAILABLE]


async def test_what_a_paused_tenant_enqueues_arrives_held(store: Store) -> None:
    await _pause(store, tenant="a")

    job_id = await store.enqueue(tenant="a")
    keyed = await store.enqueue_keyed(tenant="a", unique_key="k")

    assert [await store.state(one) for one in (job_id, keyed.id)] == [State.HELD, State.HELD]


async def test_a_resumed_tenant_goes_on(store: Store) -> None:
    now, later = await store.enqueue(tenant="a"), await store.enqueue(tenant="a", delay=HOUR)
    held = await store.enqueue(tenant="a", held_for="an approval")
    await _pause(store, tenant="a")

    assert await store.stores.queues.resume(tenant="a", actor="ann")

    assert [await store.state(one) for one in (now, later)] == [State.AVAILABLE, State.SCHEDULED]
    assert await store.state(held) is State.HELD
    assert await store.stores.queues.pauses() == []
    assert not await store.stores.queues.resume(tenant="a", actor="ann")


async def test_the_pause_of_a_tenant_ends_at_its_time(store: Store) -> None:
    job_id = await store.enqueue(tenant="a")
    await _pause(store, tenant="a", length=HOUR)
    store.later(HOUR)

    assert await store.stores.upkeep.next_due() == timedelta(0)
    assert await store.stores.queues.tend() == ["default"]

    assert await store.state(job_id) is State.AVAILABLE
    assert await store.stores.upkeep.next_due() is None


async def test_what_comes_to_a_paused_tenant_by_other_ways_is_held_by_the_leader(store: Store) -> None:
    claim = await store.claimed(tenant="a")
    await _pause(store, tenant="a")
    await store.fail(claim)
    look = await _look(store)

    await store.stores.queues.tend()

    assert look.has_paused
    assert await store.state(claim.id) is State.HELD
    assert not (await _look(store)).has_paused


async def _look(store: Store) -> Any:
    from backstay.model.records import Vitals

    await store.register()
    tick = await store.stores.workers.tick("w", vitals=Vitals(), lease=MINUTE, overrun=SECOND)
    return tick.look


async def test_more_than_the_quota_of_a_tenant_is_refused(store: Store) -> None:
    await _quota(store, 2)
    await store.enqueue_many(2, tenant="a")

    with pytest.raises(QuotaExceeded, match="tenant 'a' may have 2 jobs waiting") as refused:
        await store.enqueue(tenant="a")

    assert (refused.value.tenant, refused.value.most) == ("a", 2)
    await store.enqueue(tenant="b")
    await store.enqueue()


async def test_a_batch_beyond_the_quota_is_refused_whole(store: Store) -> None:
    await _quota(store, 2)

    with pytest.raises(QuotaExceeded):
        await store.enqueue_many(3, tenant="a")

    assert await store.stores.jobs.counts() == []


async def test_a_keyed_job_beyond_the_quota_leaves_no_key(store: Store) -> None:
    await _quota(store, 1)
    kept = await store.enqueue_keyed(tenant="a", unique_key="first")

    with pytest.raises(QuotaExceeded):
        await store.enqueue_keyed(tenant="a", idempotency_key="k", fingerprint="f")
    again = await store.enqueue_keyed(tenant="a", unique_key="first")
    await store.cancel(kept.id)

    assert again.id == kept.id
    assert (await store.enqueue_keyed(tenant="a", idempotency_key="k", fingerprint="f")).is_new


async def test_running_and_ended_jobs_do_not_count(store: Store) -> None:
    await _quota(store, 1)
    claim = await store.claimed(tenant="a")

    second = await store.claimed(tenant="a")
    await store.complete(claim)
    await store.complete(second)

    await store.enqueue(tenant="a")


async def test_a_job_sent_again_is_not_beyond_the_quota(store: Store) -> None:
    await _quota(store, 1)
    job = store.new_job(tenant="a")
    await store.stores.enqueuing.enqueue([job])

    await store.stores.enqueuing.enqueue([job])

    assert await store.state(job.id) is State.AVAILABLE


async def test_a_quota_of_its_own_counts_instead_of_the_one_for_each(store: Store) -> None:
    await _quota(store, 1, tenant=None)
    await _quota(store, 3, tenant="a")

    await store.enqueue_many(3, tenant="a")

    with pytest.raises(QuotaExceeded):
        await store.enqueue_many(2, tenant="b")


async def test_a_quota_of_a_queue_counts_beside_the_one_for_all(store: Store) -> None:
    await _quota(store, 3)
    await _quota(store, 1, queue="mail")
    await store.enqueue(tenant="a", queue="mail")

    with pytest.raises(QuotaExceeded, match="in the queue 'mail'"):
        await store.enqueue(tenant="a", queue="mail")
    await store.enqueue_many(2, tenant="a")
    with pytest.raises(QuotaExceeded):
        await store.enqueue(tenant="a")


async def test_a_quota_can_be_looked_at_and_removed(store: Store) -> None:
    await _quota(store, 0)
    seen = [(one.tenant, one.queue, one.most, one.set_by) for one in await store.stores.quotas.all()]

    removed = await store.stores.quotas.remove(tenant="a", queue=None, actor="ann")
    again = await store.stores.quotas.remove(tenant="a", queue=None, actor="ann")

    assert seen == [("a", None, 0, "ann")]
    assert (removed, again) == (True, False)
    assert isinstance(await store.enqueue(tenant="a"), type(JobId(store.new_id())))
