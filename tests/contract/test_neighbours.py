"""Workers of one machine know each other, and only one of them buries a dead one."""

from __future__ import annotations

from typing import Any

import pytest

from backstay.model.records import Vitals
from backstay.testing.contract.support import SECOND, Store, new_worker


async def tick(store: Store, worker: str) -> list[str]:
    seen = await store.stores.workers.tick(worker, vitals=Vitals(), lease=SECOND, overrun=SECOND)
    return [neighbour.id for neighbour in seen.tick_info.neighbours]


async def test_neighbours_are_the_living_workers_of_the_same_start_of_the_same_machine(store: Store) -> None:
    for name, facts in {
        "me": {},
        "beside me": {"pid": 7},
        "on another machine": {"host": "elsewhere"},
        "before the restart": {"boot_id": "an earlier one"},
        "gone": {},
    }.items():
        await store.stores.workers.register(new_worker(name, **facts))
    await store.stores.workers.retire("gone", state="stopped")

    assert await tick(store, "me") == ["beside me"]


async def test_looking_around_tells_the_same_as_a_tick_and_is_no_sign_of_life(store: Store) -> None:
    for name in ("me", "beside me"):
        await store.stores.workers.register(new_worker(name))
    await store.stores.kinds.add_routes([("mail", "report")])
    store.clock.advance(SECOND)

    near = await store.stores.workers.tick_info("me")

    assert [neighbour.id for neighbour in near.neighbours] == ["beside me"]
    assert near.routes == {("mail", "report")}
    assert {worker.silent_for for worker in await store.stores.workers.all()} == {SECOND}


async def test_a_worker_that_cannot_tell_its_machine_has_no_neighbours(store: Store) -> None:
    for name in ("me", "perhaps beside me"):
        await store.stores.workers.register(new_worker(name, boot_id=None))

    assert await tick(store, "me") == []


async def test_a_dead_worker_is_declared_dead_by_one_neighbour_only(store: Store) -> None:
    await store.stores.workers.register(new_worker("dead"))

    assert await store.stores.workers.declare_one_dead("dead")
    assert not await store.stores.workers.declare_one_dead("dead")


@pytest.mark.parametrize(
    ("other", "has_competitors"),
    [
        ({"host": "elsewhere"}, True),
        ({"kinds": ("mail", "report"), "queues": ("slow", "default")}, True),
        ({"kinds": ("mail",)}, False),
        ({"queues": ("slow",)}, False),
        ({"kinds": ()}, False),
    ],
)
async def test_competitors_take_jobs_of_the_same_kinds_and_queues_on_any_machine(
    store: Store, other: dict[str, Any], has_competitors: bool
) -> None:
    workers = store.stores.workers
    await workers.register(new_worker("me", kinds=("report", "scan"), queues=("default", "night")))
    assert not (await workers.tick_info("me")).has_competitors

    await workers.register(new_worker("other", **other))
    assert (await workers.tick_info("me")).has_competitors is has_competitors

    await workers.retire("other", state="stopping")
    assert not (await workers.tick_info("me")).has_competitors
