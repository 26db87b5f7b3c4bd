"""A parent ends while its child is stored, in every order that two transactions can take; two parents end at once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from backstay.composition.connect import open_database, stores_on
from backstay.model.flows import WAITS, Dependency, DependencyType, NewFlow
from backstay.model.job import Claim, JobId, NewJob
from backstay.model.states import State
from backstay.stores import flows as flow_store
from backstay.stores.database.interface import Database
from backstay.stores.database.migrate import migrate
from backstay.stores.enqueuing import values_of
from backstay.testing import PrivatePostgres
from backstay.testing.clock import FrozenClock
from backstay.testing.contract.support import Store

RACES = 1000
BATCH = 50


@pytest.fixture
def url(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("races")
    yield postgres_server.url("races")
    postgres_server.drop_database("races")


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    opened = open_database(url)
    await migrate(opened)
    yield opened
    await opened.close()


@pytest.fixture
async def store(database: Database) -> Store:
    return Store(stores_on(database.lane("test", size=16)), FrozenClock())


def child_of(store: Store, *parents: Claim) -> NewFlow:
    child = store.new_job(held_for=WAITS)
    ties = [
        Dependency(job_id=child.id, parent_id=parent.id, type=DependencyType.SUCCESS) for parent in parents
    ]
    return NewFlow(id=JobId(store.new_id()), tenant="", jobs=[child], dependencies=ties, labels={})


async def claims(store: Store, number: int) -> list[Claim]:
    await store.enqueue_many(number)
    found = await store.claim(limit=number)
    assert len(found) == number
    return found


async def all_available(store: Store, jobs: list[NewJob]) -> None:
    held = [job.id for job in jobs if await store.state(job.id) is not State.AVAILABLE]
    assert held == []
    taken = await store.claim(limit=2 * len(jobs))
    assert sorted(claim.id for claim in taken) == sorted(job.id for job in jobs)


@pytest.mark.prove
async def test_a_thousand_parents_end_while_their_child_is_being_stored(store: Store) -> None:
    """At the same moment, as chance will have it; what slips between is found by one sweep."""
    chance = random.Random(3)

    async def complete(parent: Claim) -> None:
        await asyncio.sleep(chance.random() * 0.004)
        await store.complete(parent)

    async def add(flow: NewFlow) -> None:
        await asyncio.sleep(chance.random() * 0.004)
        await store.stores.flows.enqueue(flow)

    for _ in range(RACES // BATCH):
        parents = await claims(store, BATCH)
        flows = [child_of(store, parent) for parent in parents]
        await asyncio.gather(*map(complete, parents), *map(add, flows))
        await store.stores.flows.sweep(after=None, limit=1000)

        await all_available(store, [flow.jobs[0] for flow in flows])


@pytest.mark.prove
async def test_a_parent_that_ends_before_the_ties_to_it_are_committed_is_seen_by_who_stores_them(
    store: Store, database: Database
) -> None:
    """Forced: the child's rows are there but not committed when the parent ends and is followed."""
    lane = database.lane("child", size=1)
    for _ in range(RACES // BATCH):
        parents = await claims(store, BATCH)
        flows = [child_of(store, parent) for parent in parents]
        for parent, flow in zip(parents, flows, strict=True):
            async with lane.transaction() as connection:
                whose = await flow_store.check(connection, flow)
                await connection.fetch_each("jobs/enqueue", [values_of(job) for job in flow.jobs])
                await flow_store.tie(connection, flow, *whose)
                await store.complete(parent)
            await store.stores.flows.enqueue(flow)

        await all_available(store, [flow.jobs[0] for flow in flows])


@pytest.mark.prove
async def test_a_child_that_is_committed_before_its_parents_end_is_found_by_the_sweep(
    store: Store, database: Database
) -> None:
    """Forced: the parent's end was written before the child was stored, and is committed after the child has looked."""
    lane = database.lane("parent", size=1)
    for _ in range(RACES // BATCH):
        parents = await claims(store, BATCH)
        flows = [child_of(store, parent) for parent in parents]
        for parent, flow in zip(parents, flows, strict=True):
            async with lane.transaction() as connection:
                given = {"job_id": parent.id, "epoch": parent.epoch, "value": None}
                await connection.fetch_each("jobs/complete", [given])
                await store.stores.flows.enqueue(flow)
        between = {await store.state(flow.jobs[0].id) for flow in flows}
        await store.stores.flows.sweep(after=None, limit=1000)

        assert between == {State.HELD}
        await all_available(store, [flow.jobs[0] for flow in flows])


@pytest.mark.prove
async def test_a_child_of_parents_that_end_at_once_is_released_once(store: Store) -> None:
    for _ in range(10):
        parents = await claims(store, 100)
        flows = [child_of(store, *parents[start : start + 4]) for start in range(0, 100, 4)]
        for flow in flows:
            await store.stores.flows.enqueue(flow)
        random.Random(5).shuffle(parents)
        await asyncio.gather(*(store.complete(parent) for parent in parents))
        await store.stores.flows.sweep(after=None, limit=1000)

        await all_available(store, [flow.jobs[0] for flow in flows])


async def test_storing_a_child_does_not_wait_for_its_running_parent_nor_keep_it(
    store: Store, database: Database
) -> None:
    [parent] = await claims(store, 1)
    lane = database.lane("child", size=1)
    flow = child_of(store, parent)

    async with lane.transaction() as connection:
        whose = await flow_store.check(connection, flow)
        await connection.fetch_each("jobs/enqueue", [values_of(job) for job in flow.jobs])
        await flow_store.tie(connection, flow, *whose)
        renewed = await asyncio.wait_for(store.stores.claims.renew([parent]), 1.5)

    assert renewed.held == {parent.id}


async def test_a_parent_is_not_removed_while_a_child_is_being_stored(
    store: Store, database: Database
) -> None:
    [parent] = await claims(store, 1)
    await store.complete(parent)
    lane, flow = database.lane("child", size=1), child_of(store, parent)

    async with lane.transaction() as connection:
        whose = await flow_store.check(connection, flow)
        await connection.fetch_each("jobs/enqueue", [values_of(job) for job in flow.jobs])
        await flow_store.tie(connection, flow, *whose)
        found = await database.lane("removing").fetch("jobs/lock_finished", ids=[parent.id])

    assert found == []


@pytest.mark.prove
async def test_on_sqlite_nothing_slips_between(tmp_path: Path) -> None:
    """There is one writer, so that who comes second has seen what came first."""
    database = open_database(f"sqlite:///{tmp_path}/jobs.db")
    await migrate(database)
    store = Store(stores_on(database.lane("test", size=4)), FrozenClock())
    try:
        for _ in range(RACES // BATCH):
            parents = await claims(store, BATCH)
            flows = [child_of(store, parent) for parent in parents]
            work = [*map(store.complete, parents), *map(store.stores.flows.enqueue, flows)]
            random.Random(9).shuffle(work)
            await asyncio.gather(*work)

            await all_available(store, [flow.jobs[0] for flow in flows])
    finally:
        await database.close()
