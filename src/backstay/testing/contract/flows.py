"""Jobs that wait for other jobs: released once, when all parents have ended as they want."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from backstay.errors import InvalidFlow
from backstay.model.flows import WAITS, Condition, Dependency, DependencyType, NewFlow, OnFailure, Verdict
from backstay.model.job import JobId, NewJob
from backstay.model.states import State
from backstay.testing.contract.support import HOUR, MINUTE, SECOND, Store

NO_DELAY = timedelta(0)


async def child_of(store: Store, *parents: JobId, args: str = "{}", **facts: Any) -> JobId:
    """Store a job that waits for these."""
    child = store.new_job(args=args, held_for=WAITS)
    await add(store, [child], [Dependency(job_id=child.id, parent_id=parent, **facts) for parent in parents])
    return child.id


async def add(
    store: Store, jobs: Sequence[NewJob], dependencies: Sequence[Dependency], **facts: Any
) -> JobId:
    """Store a flow."""
    flow_id = JobId(store.new_id())
    given = {"tenant": "", "labels": {}, **facts}
    await store.stores.flows.enqueue(NewFlow(id=flow_id, jobs=jobs, dependencies=dependencies, **given))
    return flow_id


async def verdicts(store: Store, job_id: JobId) -> list[Verdict | None]:
    found = await store.stores.flows.of_job(job_id)
    return [one.verdict for one in found if one.dependency.job_id == job_id]


async def test_a_child_is_available_when_its_parent_has_completed(store: Store) -> None:
    parent = await store.claimed()
    child = await child_of(store, parent.id)
    waiting = await store.job(child)

    await store.complete(parent)

    assert (waiting.state, waiting.reason) == (State.HELD, WAITS)
    assert await store.state(child) is State.AVAILABLE
    assert await verdicts(store, child) == [Verdict.MET]


async def test_a_child_of_two_waits_for_both(store: Store) -> None:
    parents = [await store.claimed(), await store.claimed()]
    child = await child_of(store, *(parent.id for parent in parents))

    await store.complete(parents[0])
    between = await store.state(child)
    await store.complete(parents[1])

    assert between is State.HELD
    assert await store.state(child) is State.AVAILABLE


async def test_a_child_of_two_that_complete_in_one_batch_is_released_once(store: Store) -> None:
    parents = [await store.claimed(), await store.claimed()]
    child = await child_of(store, *(parent.id for parent in parents))

    await store.stores.claims.complete([(parent, None) for parent in parents])

    assert (await store.claim_one()).id == child
    assert await store.claim() == []


async def test_of_two_parents_that_end_at_once_one_releases_the_child(store: Store) -> None:
    for _ in range(5):
        parents = [await store.claimed(kind="other"), await store.claimed(kind="other")]
        child = await child_of(store, *(parent.id for parent in parents))

        await asyncio.gather(*map(store.complete, parents))

        assert (await store.claim_one()).id == child
        assert await store.claim() == []


async def test_an_end_that_is_told_twice_counts_once(store: Store) -> None:
    first, second = await store.claimed(), await store.claimed()
    child = await child_of(store, first.id, second.id)

    await store.complete(first)
    await store.complete(first)
    await store.stores.flows.sweep(after=None, limit=10)

    assert await store.state(child) is State.HELD


async def test_a_child_of_a_job_that_has_ended_need_not_wait(store: Store) -> None:
    parent = await store.claimed()
    await store.complete(parent)

    child = await child_of(store, parent.id)

    assert await store.state(child) is State.AVAILABLE


async def test_results_become_arguments(store: Store) -> None:
    first, second = await store.claimed(), await store.claimed()
    child = store.new_job(args='{"pages":[null,null],"title":"x"}', held_for=WAITS)
    places = [(first.id, "/pages/0"), (second.id, "/pages/1")]
    data = [
        Dependency(job_id=child.id, parent_id=parent, type=DependencyType.DATA, place=place)
        for parent, place in places
    ]
    await add(store, [child], data)

    await store.complete(second, '{"n":2}')
    await store.complete(first, '"one"')

    assert (await store.claim_one()).args == '{"pages":["one",{"n":2}],"title":"x"}'


async def test_results_that_make_the_arguments_too_large_cancel_the_child(store: Store) -> None:
    parent = await store.claimed()
    child = await child_of(store, parent.id, args='{"page":null}', type=DependencyType.DATA, place="/page")
    grandchild = await child_of(store, child)

    await store.complete(parent, json.dumps("x" * 1_048_570))

    assert await store.state(child) is State.CANCELLED
    assert "do not fit its arguments" in str((await store.job(child)).reason)
    assert await store.state(grandchild) is State.CANCELLED


async def test_a_condition_takes_one_branch_and_cancels_the_other(store: Store) -> None:
    parent = await store.claimed()
    high, low = [
        await child_of(
            store, parent.id, type=DependencyType.CONDITIONAL, condition=Condition("/score", operator, 5)
        )
        for operator in (">", "<=")
    ]
    after_low = await child_of(store, low)

    await store.complete(parent, '{"score":7}')

    assert await store.state(high) is State.AVAILABLE
    assert await store.state(low) is State.CANCELLED
    assert (await store.job(low)).reason == f"parent {parent.id} completed, but /score <= 5 does not hold"
    assert (await store.job(after_low)).reason == f"parent {low} was cancelled"


async def test_the_policy_says_what_a_cancelled_parent_means(store: Store) -> None:
    parent = await store.enqueue()
    children = {policy: await child_of(store, parent, on_failure=policy) for policy in OnFailure}
    end = await child_of(store, parent, type=DependencyType.COMPLETION)

    await store.cancel(parent)

    assert await store.state(children[OnFailure.CANCEL]) is State.CANCELLED
    assert await store.state(children[OnFailure.RUN]) is State.AVAILABLE
    kept = await store.job(children[OnFailure.HOLD])
    assert (kept.state, kept.reason) == (State.HELD, f"parent {parent} was cancelled")
    assert await store.state(end) is State.AVAILABLE


async def test_a_child_that_is_kept_goes_on_when_a_person_releases_it(store: Store) -> None:
    parent, other = await store.enqueue(), await store.claimed(kind="other")
    child = await child_of(store, parent, other.id, on_failure=OnFailure.HOLD)
    await store.cancel(parent)
    await store.complete(other)
    kept = await store.state(child)

    await store.stores.jobs.release(child, actor="ann")

    assert kept is State.HELD
    assert await store.state(child) is State.AVAILABLE


async def test_a_child_of_a_dead_parent_waits_for_a_persons_decision(store: Store) -> None:
    parent = await store.claimed()
    child = await child_of(store, parent.id)

    await store.fail_for_good(parent)
    blocked = await store.job(child)
    await store.retry(parent.id)
    waiting = await store.job(child)
    await store.complete(await store.claim_one())

    assert (blocked.state, waiting.state) == (State.HELD, State.HELD)
    assert f"parent {parent.id} is dead" in str(blocked.reason)
    assert waiting.reason == WAITS
    assert await store.state(child) is State.AVAILABLE


@pytest.mark.parametrize("ignored", [True, False])
async def test_a_child_of_a_dead_parent_is_cancelled_when_the_letter_is_closed(
    store: Store, ignored: bool
) -> None:
    parent = await store.claimed()
    child = await child_of(store, parent.id)
    await store.fail_for_good(parent)

    await store.resolve(parent.id, ignored=ignored)

    job = await store.job(child)
    assert (job.state, job.reason) == (
        State.CANCELLED,
        f"parent {parent.id} died and was closed without another run",
    )


async def test_a_child_waits_for_the_job_that_takes_its_dead_parents_place(store: Store) -> None:
    parent = await store.claimed()
    child = await child_of(store, parent.id)
    await store.fail_for_good(parent)

    await store.stores.dead_letters.retry_as_new(
        parent.id, new_id=JobId(store.new_id()), actor="ann", reason="fixed", delay=NO_DELAY
    )
    held = await store.state(child)
    await store.complete(await store.claim_one())

    assert held is State.HELD
    assert await store.state(child) is State.AVAILABLE


async def test_who_waits_for_the_end_or_runs_anyway_goes_on_when_the_parent_is_dead(store: Store) -> None:
    parent = await store.claimed()
    end = await child_of(store, parent.id, type=DependencyType.COMPLETION)
    anyway = await child_of(
        store,
        parent.id,
        args='{"page":1}',
        type=DependencyType.DATA,
        place="/page",
        on_failure=OnFailure.RUN,
    )

    await store.fail_for_good(parent)

    assert await store.state(end) is State.AVAILABLE
    job = await store.job(anyway)
    assert (job.state, job.args) == (State.AVAILABLE, {"page": None})


async def test_every_way_to_end_is_followed(store: Store) -> None:
    expiring = await store.enqueue(expires_in=SECOND)
    late = await store.enqueue(deadline_in=SECOND)
    stopped = await store.claimed(kind="other")
    children = [
        await child_of(store, parent, type=DependencyType.COMPLETION)
        for parent in (expiring, late, stopped.id)
    ]
    await store.cancel(stopped.id)
    store.later(MINUTE)

    await store.stores.upkeep.expire(limit=10)
    await store.stores.upkeep.miss_deadlines(limit=10)
    await store.fail(stopped)

    assert [await store.state(child) for child in children] == [State.AVAILABLE] * 3


async def test_a_chain_is_cancelled_to_its_end(store: Store) -> None:
    first = await store.enqueue()
    chain = [first]
    for _ in range(12):
        chain.append(await child_of(store, chain[-1]))

    await store.cancel(first)

    assert {await store.state(job_id) for job_id in chain} == {State.CANCELLED}


async def test_a_child_with_a_time_of_its_own_waits_for_that_too(store: Store) -> None:
    parent = await store.claimed()
    child = store.new_job(held_for=WAITS, delay=HOUR)
    await add(store, [child], [Dependency(job_id=child.id, parent_id=parent.id)])

    await store.complete(parent)

    assert await store.state(child.id) is State.SCHEDULED


async def test_a_released_or_ended_child_is_left_alone_by_its_parents(store: Store) -> None:
    parent = await store.claimed()
    released, cancelled = await child_of(store, parent.id), await child_of(store, parent.id)

    await store.stores.jobs.release(released, actor="ann")
    await store.cancel(cancelled)
    await store.complete(parent)

    assert await store.state(released) is State.AVAILABLE
    assert (await store.job(cancelled)).reason == "not needed"
    assert await verdicts(store, released) == await verdicts(store, cancelled) == [Verdict.VOID]


@pytest.mark.parametrize("tenant", ["", "acme"])
async def test_a_parent_must_be_a_job_of_the_same_tenant(store: Store, tenant: str) -> None:
    stranger = await store.enqueue(tenant="other")

    for parent in (stranger, JobId(UUID(int=1))):
        child = store.new_job(held_for=WAITS, tenant=tenant)
        with pytest.raises(InvalidFlow, match=f"there is no job {parent} .* to wait for"):
            await add(store, [child], [Dependency(job_id=child.id, parent_id=parent)], tenant=tenant)
        assert await store.stores.jobs.get(child.id) is None


async def test_more_than_a_thousand_parents_are_refused(store: Store) -> None:
    parents = await store.enqueue_many(1001)
    child = store.new_job(held_for=WAITS)

    with pytest.raises(InvalidFlow, match=r"has 1,001 parents, the limit is 1,000"):
        await add(store, [child], [Dependency(job_id=child.id, parent_id=parent) for parent in parents])
    assert await store.stores.jobs.get(child.id) is None

    await add(store, [child], [Dependency(job_id=child.id, parent_id=parent) for parent in parents[:1000]])
    assert await store.state(child.id) is State.HELD


async def test_many_children_of_one_parent_all_go_on(store: Store) -> None:
    parent = await store.claimed()
    children = [store.new_job(held_for=WAITS) for _ in range(1200)]
    await add(store, children, [Dependency(job_id=child.id, parent_id=parent.id) for child in children])

    await store.complete(parent)

    assert len(await store.claim(limit=2000)) == 1200
