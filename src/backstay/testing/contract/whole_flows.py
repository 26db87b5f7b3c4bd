"""Flows as a whole: callbacks, children added later, retention, the sweep, cancelling, running again, listing."""

from __future__ import annotations

from uuid import UUID

import pytest

from backstay.errors import ClaimLost
from backstay.model.flows import WAITS, Dependency, DependencyType, NewFlow, Verdict
from backstay.model.job import JobId
from backstay.model.records import Vitals
from backstay.model.states import State
from backstay.testing.contract.flows import add, child_of, verdicts
from backstay.testing.contract.support import DAY, MINUTE, Store


async def test_sending_a_flow_again_changes_nothing(store: Store) -> None:
    parent = store.new_job()
    child = store.new_job(held_for=WAITS)
    flow = NewFlow(
        id=JobId(store.new_id()),
        tenant="",
        jobs=[parent, child],
        dependencies=[Dependency(job_id=child.id, parent_id=parent.id)],
        name="pair",
        labels={parent.id: "first"},
    )
    await store.stores.flows.enqueue(flow)
    await store.complete(await store.claim_one())

    await store.stores.flows.enqueue(flow)

    assert await store.state(child.id) is State.AVAILABLE
    assert await verdicts(store, child.id) == [Verdict.MET]
    record = await store.stores.flows.get(flow.id)
    assert record is not None
    assert (record.name, record.total, record.ended) == ("pair", 2, 1)
    assert [one.label for one in await store.stores.flows.jobs(flow.id)] == ["first", None]


async def test_a_callback_waits_for_jobs_that_are_added_later(store: Store) -> None:
    first, callback = store.new_job(), store.new_job(kind="other", held_for=WAITS)
    end = DependencyType.COMPLETION
    flow_id = await add(
        store,
        [first, callback],
        [Dependency(job_id=callback.id, parent_id=first.id, type=end)],
        name="grows",
        callback_id=callback.id,
    )
    claim = await store.claim_one()
    late = store.new_job()
    await add(store, [late], [], within=(claim.id, claim.epoch))

    await store.complete(claim)
    between = await store.state(callback.id)
    await store.complete(await store.claim_one())

    assert between is State.HELD
    assert await store.state(callback.id) is State.AVAILABLE
    assert len(await store.stores.flows.jobs(flow_id)) == 3


async def test_a_claim_that_is_lost_adds_nothing(store: Store) -> None:
    claim = await store.claimed()
    await store.complete(claim)
    late = store.new_job()

    with pytest.raises(ClaimLost):
        await add(store, [late], [], within=(claim.id, claim.epoch))

    assert await store.stores.jobs.get(late.id) is None


async def test_a_parent_stays_as_long_as_a_held_child_may_want_its_result(store: Store) -> None:
    done, open_ = await store.claimed(), await store.claimed()
    child = await child_of(store, done.id, open_.id)
    await store.complete(done)
    store.later(10 * DAY)

    await remove_old(store)
    kept = await store.stores.jobs.get(done.id)
    await store.complete(open_)
    await remove_old(store)

    assert kept is not None
    assert await store.stores.jobs.get(done.id) is None
    assert await store.state(child) is State.AVAILABLE
    assert [one.dependency.parent_id for one in await store.stores.flows.of_job(child)] == [open_.id]


async def remove_old(store: Store) -> None:
    await store.stores.upkeep.delete_finished({State.COMPLETED: 7 * DAY}, after=UUID(int=0), limit=100)


async def test_the_sweep_finds_what_nobody_followed(store: Store) -> None:
    parent = await store.claimed()
    child = await child_of(store, parent.id)
    await complete_unseen(store, parent.id)
    before = await store.state(child)

    await store.stores.flows.sweep(after=None, limit=100)

    assert before is State.HELD
    assert await store.state(child) is State.AVAILABLE


async def test_the_sweep_goes_through_all_parents_in_pages(store: Store) -> None:
    parents = [await store.claimed() for _ in range(5)]
    children = [await child_of(store, parent.id) for parent in parents]
    for parent in parents:
        await complete_unseen(store, parent.id)

    pages, after = 1, await store.stores.flows.sweep(after=None, limit=2)
    while after is not None:
        pages, after = pages + 1, await store.stores.flows.sweep(after=after, limit=2)

    assert pages == 3
    assert {await store.state(child) for child in children} == {State.AVAILABLE}


async def complete_unseen(store: Store, job_id: JobId) -> None:
    """End a job as a process does that is killed before it could follow."""
    lane = store.stores.claims.lane  # type: ignore[attr-defined]  # the stores of Backstay have one
    epoch = (await store.job(job_id)).lease_epoch
    await lane.fetch_each("jobs/complete", [{"job_id": job_id, "epoch": epoch, "value": None}])


async def test_only_what_waits_makes_the_leader_look(store: Store) -> None:
    await store.register("w")
    parent = await store.claimed()
    looks = [await look(store)]
    await child_of(store, parent.id)
    looks.append(await look(store))
    await store.complete(parent)
    looks.append(await look(store))

    assert looks == [False, True, False]


async def look(store: Store) -> bool:
    tick = await store.stores.workers.tick("w", vitals=Vitals(), lease=MINUTE, overrun=MINUTE)
    assert tick.look is not None
    return tick.look.has_waiting_children


async def test_the_rest_of_a_flow_can_be_cancelled(store: Store) -> None:
    first, second, third = store.new_job(), store.new_job(held_for=WAITS), store.new_job()
    await add(store, [first, second, third], [Dependency(job_id=second.id, parent_id=first.id)], name="three")
    running = await store.claim_one()

    reached = await store.stores.flows.cancel([first.id, second.id, third.id], actor="ann", reason="enough")

    assert sorted(reached) == sorted([first.id, second.id, third.id])
    assert (await store.job(running.id)).cancel_requested_at is not None
    assert [await store.state(one.id) for one in (second, third)] == [State.CANCELLED] * 2


async def test_a_part_of_a_flow_can_be_run_again(store: Store) -> None:
    first, second, third = (
        store.new_job(),
        store.new_job(held_for=WAITS, args='{"page":null}'),
        store.new_job(held_for=WAITS),
    )
    data = Dependency(job_id=second.id, parent_id=first.id, type=DependencyType.DATA, place="/page")
    flow_id = await add(
        store,
        [first, second, third],
        [data, Dependency(job_id=third.id, parent_id=second.id)],
        name="three",
    )
    await store.complete(await store.claim_one(), "1")
    for _ in range(2):
        await store.complete(await store.claim_one())
    copies = {second.id: JobId(store.new_id()), third.id: JobId(store.new_id())}

    await store.stores.flows.run_again(second.id, copies, actor="ann", reason="wrong page")

    again = await store.claim_one()
    assert (again.id, again.args) == (copies[second.id], '{"page":1}')
    assert await store.state(copies[third.id]) is State.HELD
    await store.complete(again)
    assert await store.state(copies[third.id]) is State.AVAILABLE
    assert len(await store.stores.flows.jobs(flow_id)) == 5


async def test_flows_are_listed_newest_first_with_their_progress(store: Store) -> None:
    ids = [await add(store, [store.new_job()], [], name=name) for name in ("one", "two")]
    await add(store, [store.new_job(tenant="acme")], [], name="theirs", tenant="acme")
    await store.complete(await store.claim_one())

    found = await store.stores.flows.all(tenant="", before=None, limit=10)

    assert [(one.id, one.name) for one in found] == [(ids[1], "two"), (ids[0], "one")]
    assert [one.jobs for one in found] == [{State.AVAILABLE: 1}, {State.COMPLETED: 1}]
    assert [one.is_finished for one in found] == [False, True]
    assert len(await store.stores.flows.all(tenant=None, before=ids[1], limit=10)) == 1
