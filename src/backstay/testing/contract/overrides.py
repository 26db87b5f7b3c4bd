"""Overrides: numbers that operators change, kept apart from what kinds declare."""

from __future__ import annotations

from backstay.model.records import KindRecord, Override, Vitals
from backstay.testing.contract.support import SECOND, Store

KIND = KindRecord(kind="report", queue="default", policy={"max_attempts": 3}, arguments=None, fingerprint="1")


async def _set(store: Store, *, change: str = '{"max_attempts":9}', reason: str = "outage") -> None:
    await store.stores.overrides.set(
        "kind", "report", "max_attempts", change=change, actor="ada", reason=reason
    )


async def test_a_change_is_kept_with_who_when_and_why(store: Store) -> None:
    await _set(store)

    assert await store.stores.overrides.all() == [
        Override(
            scope="kind",
            name="report",
            field="max_attempts",
            change='{"max_attempts":9}',
            set_at=store.now(),
            set_by="ada",
            reason="outage",
        )
    ]


async def test_a_later_word_replaces_an_earlier_one(store: Store) -> None:
    await _set(store)
    store.later(SECOND)

    await _set(store, change='{"max_attempts":2}', reason="over")

    [kept] = await store.stores.overrides.all()
    assert (kept.change, kept.reason, kept.set_at) == ('{"max_attempts":2}', "over", store.now())


async def test_a_queue_and_a_kind_of_one_name_are_two(store: Store) -> None:
    await _set(store)

    await store.stores.overrides.set(
        "queue", "report", "max_attempts", change='{"max_attempts":1}', actor="ada", reason="x"
    )

    assert [one.scope for one in await store.stores.overrides.all()] == ["kind", "queue"]


async def test_a_removed_change_is_gone_and_removing_it_again_does_nothing(store: Store) -> None:
    await _set(store)

    first = await store.stores.overrides.remove("kind", "report", "max_attempts", actor="ada")
    second = await store.stores.overrides.remove("kind", "report", "max_attempts", actor="ada")

    assert (first, second, await store.stores.overrides.all()) == (True, False, [])


async def test_a_deploy_changes_what_is_declared_and_not_what_is_overridden(store: Store) -> None:
    await store.stores.kinds.declare([KIND])
    await _set(store)

    newer = KindRecord(
        kind="report", queue="default", policy={"max_attempts": 5}, arguments=None, fingerprint="2"
    )
    await store.stores.kinds.declare([newer])

    [known] = await store.stores.kinds.all()
    [kept] = await store.stores.overrides.all()
    assert (known.policy, kept.change) == ({"max_attempts": 5}, '{"max_attempts":9}')


async def test_every_worker_learns_of_changes_with_its_sign_of_life(store: Store) -> None:
    for worker in ("leader", "other"):
        await store.register(worker)
    await _set(store)

    ticks = [
        await store.stores.workers.tick(worker, vitals=Vitals(), lease=30 * SECOND, overrun=10 * SECOND)
        for worker in ("leader", "other")
    ]

    assert [[one.field for one in tick.tick_info.overrides] for tick in ticks] == [["max_attempts"]] * 2
