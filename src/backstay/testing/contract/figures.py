"""What a store does with figures over time."""

from __future__ import annotations

from datetime import timedelta

from backstay.model.figures import Depth, Measure, Period, Tallied, TenantDepths
from backstay.model.outcome import Fail
from backstay.testing.contract.support import BOOM, DAY, HOUR, SECOND, Store

MINUTE = timedelta(minutes=1)
DONE = Tallied(queue="default", kind="report", measure=Measure.COMPLETED, bucket=3, jobs=2, took_ms=11)
FAILED = Tallied(queue="default", kind="report", measure=Measure.FAILED, bucket=1, jobs=1, took_ms=1)


async def read(store: Store, period: Period = Period.MINUTE, **filters: str | None) -> list[Tallied]:
    wanted = {"queue": None, "kind": None, **filters}
    now = store.clock()
    found = await store.stores.figures.read(
        period, since=now - 10 * DAY, until=now + DAY, limit=100, **wanted
    )
    return [one.tallied for one in found]


async def test_what_ended_in_the_same_minute_is_added_up(store: Store) -> None:
    await store.stores.figures.add([DONE, FAILED])
    await store.stores.figures.add([DONE])

    twice = Tallied(queue="default", kind="report", measure=Measure.COMPLETED, bucket=3, jobs=4, took_ms=22)
    assert await read(store) == [twice, FAILED]
    assert await read(store, Period.HOUR) == [twice, FAILED]


async def test_attempts_that_are_alike_may_come_one_by_one(store: Store) -> None:
    """As the crashes of a worker that had many jobs do."""
    crashed = Tallied(queue="default", kind="report", measure=Measure.CRASHED, bucket=0, jobs=1, took_ms=0)
    await store.stores.figures.add([crashed, DONE, crashed, crashed])

    assert {one.measure: one.jobs for one in await read(store)} == {Measure.CRASHED: 3, Measure.COMPLETED: 2}


async def test_minutes_and_hours_begin_where_they_do_on_a_clock(store: Store) -> None:
    began = store.clock()
    await store.stores.figures.add([DONE])
    store.later(MINUTE)
    await store.stores.figures.add([FAILED])

    starts = {
        Period.MINUTE: [at.replace(second=0, microsecond=0) for at in (began, began + MINUTE)],
        Period.HOUR: [at.replace(minute=0, second=0, microsecond=0) for at in (began, began + MINUTE)],
    }
    for period, expected in starts.items():
        found = await store.stores.figures.read(
            period, since=began - DAY, until=began + DAY, queue=None, kind=None, limit=9
        )
        at = {one.tallied.measure: one.at for one in found}
        assert [at[Measure.COMPLETED], at[Measure.FAILED]] == expected


async def test_figures_are_read_of_one_queue_or_kind(store: Store) -> None:
    other = Tallied(queue="mail", kind="send", measure=Measure.CRASHED, bucket=0, jobs=1, took_ms=0)
    await store.stores.figures.add([DONE, other])

    assert await read(store, queue="mail") == [other]
    assert await read(store, kind="report") == [DONE]
    assert await read(store, kind="report", queue="mail") == []


async def test_minutes_are_forgotten_before_hours(store: Store) -> None:
    await store.stores.figures.add([DONE])
    store.later(3 * DAY)
    await store.stores.figures.add([FAILED])

    await store.stores.figures.forget(minutes=2 * DAY, hours=4 * DAY)

    assert await read(store) == [FAILED]
    assert await read(store, Period.HOUR) == [FAILED, DONE]


async def test_depths_count_what_has_not_ended_or_is_dead(store: Store) -> None:
    await store.enqueue(delay=HOUR)
    dead = await store.claimed()
    await store.end(dead, Fail(BOOM, hopeless=True))
    await store.complete(await store.claimed())
    await store.claimed()
    store.later(SECOND)

    found = sorted(await store.stores.figures.depths(most=10), key=lambda depth: depth.state)

    assert found == [Depth(state, "default", "report", 1) for state in ("dead", "running", "scheduled")]


async def test_depths_stop_counting_at_the_limit(store: Store) -> None:
    await store.enqueue_many(5, delay=HOUR)

    [depth] = await store.stores.figures.depths(most=3)

    assert (depth.jobs, depth.is_capped) == (3, True)


async def test_many_jobs_of_one_queue_do_not_hide_those_of_another(store: Store) -> None:
    await store.enqueue_many(5, delay=HOUR, queue="first")
    await store.enqueue_many(2, delay=2 * HOUR, queue="second")

    found = await store.stores.figures.depths(most=3)

    assert {(depth.queue, depth.jobs, depth.is_capped) for depth in found} == {
        ("first", 3, True),
        ("second", 2, False),
    }


async def test_depths_of_a_tenant_are_its_own(store: Store) -> None:
    await store.enqueue(delay=HOUR, tenant="acme")
    await store.enqueue(tenant="acme")
    await store.enqueue(tenant="other")
    await store.enqueue()

    found = sorted(await store.stores.figures.depths(most=10, tenant="acme"), key=lambda depth: depth.state)

    assert found == [Depth(state, "default", "report", 1) for state in ("available", "scheduled")]


async def test_each_tenant_is_told_what_it_has_waiting_and_running(store: Store) -> None:
    await store.claimed(tenant="acme")
    await store.enqueue_many(3, tenant="acme")
    await store.enqueue(delay=HOUR, tenant="other")
    await store.complete(await store.claimed(kind="welcome", tenant="done"))
    await store.enqueue()

    found = await store.stores.figures.by_tenant(most=3, limit=10)
    first = await store.stores.figures.by_tenant(most=3, limit=1)

    assert found == [
        TenantDepths(tenant="acme", available=3, scheduled=0, held=0, running=1, is_capped=True),
        TenantDepths(tenant="other", available=0, scheduled=1, held=0, running=0),
    ]
    assert first == found[:1]
