"""Reactions: an end that a kind reacts to has a job stored in the same transaction, however it came about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from backstay.model.job import Job, JobId
from backstay.model.outcome import Crashed, Stopped
from backstay.model.reactions import Reaction, to_json
from backstay.model.records import JobFilter, KindRecord
from backstay.model.states import FINISHED, State
from backstay.testing.contract.support import HOUR, LEASE, POLICY, SECOND, Store

TOLD = Reaction(kind="tell", queue="news", argument="what", priority=3)
REPORTS = KindRecord(
    kind="report",
    queue="default",
    policy={},
    arguments=None,
    fingerprint="1",
    reactions=to_json(dict.fromkeys(sorted(FINISHED), TOLD)),
)


async def completes(store: Store) -> JobId:
    claim = await store.claimed(tenant="acme")
    await store.stores.claims.complete([(claim, "1")], reacts=True)
    return claim.id


async def fails(store: Store) -> JobId:
    return await store.dead(tenant="acme")


async def crashes(store: Store) -> JobId:
    claim = await store.claimed(tenant="acme")
    store.later(LEASE + SECOND)
    [seized] = await store.seize()
    await store.end(seized.claim, Crashed("w", was_alone=True), policy=replace(POLICY, max_crashes=1))
    return claim.id


async def is_late(store: Store) -> JobId:
    job_id = await store.enqueue(tenant="acme", deadline_in=HOUR)
    store.later(HOUR)
    await store.stores.upkeep.miss_deadlines(limit=10)
    return job_id


async def expires(store: Store) -> JobId:
    job_id = await store.enqueue(tenant="acme", expires_in=HOUR)
    store.later(HOUR)
    await store.stores.upkeep.expire(limit=10)
    return job_id


async def is_cancelled(store: Store) -> JobId:
    job_id = await store.enqueue(tenant="acme")
    await store.cancel(job_id)
    return job_id


async def stops(store: Store) -> JobId:
    claim = await store.claimed(tenant="acme")
    await store.end(claim, Stopped("seen enough"))
    return claim.id


async def stops_on_request(store: Store) -> JobId:
    claim = await store.claimed(tenant="acme")
    await store.cancel(claim.id)
    await store.fail(claim)
    return claim.id


ENDS: list[tuple[Callable[[Store], Awaitable[JobId]], State]] = [
    (completes, State.COMPLETED),
    (fails, State.DEAD),
    (crashes, State.DEAD),
    (is_late, State.DEAD),
    (expires, State.CANCELLED),
    (is_cancelled, State.CANCELLED),
    (stops, State.CANCELLED),
    (stops_on_request, State.CANCELLED),
]


@pytest.mark.parametrize(("end", "state"), ENDS, ids=lambda part: getattr(part, "__name__", None))
async def test_every_way_to_end_stores_the_reaction(
    store: Store, end: Callable[[Store], Awaitable[JobId]], state: State
) -> None:
    await store.stores.kinds.declare([REPORTS])

    job_id = await end(store)

    job, [reaction] = await store.job(job_id), await reactions(store)
    assert (job.state, reaction.state, reaction.queue) == (state, State.AVAILABLE, "news")
    assert (reaction.tenant, reaction.parent_id, reaction.priority) == ("acme", job_id, 3)
    assert reaction.correlation_id == str(job_id)
    told = reaction.args["what"]
    assert (told["job_id"], told["kind"], told["state"]) == (str(job_id), "report", state.value)
    assert (told["reason"], told["tenant"], "args" in told) == (job.reason, "acme", False)


async def test_a_reaction_is_told_the_error_without_its_traceback(store: Store) -> None:
    await store.stores.kinds.declare([REPORTS])

    await store.dead()

    [reaction] = await reactions(store)
    assert reaction.args["what"]["error"] == {
        "type": "ValueError",
        "message": "boom",
        "error_class": "unknown",
    }


async def test_a_resolved_job_has_a_reaction_and_a_retried_one_has_none(store: Store) -> None:
    await store.stores.kinds.declare([REPORTS])
    retried, resolved = await store.dead(), await store.dead()

    await store.retry(retried)
    await store.resolve(resolved)

    states = [reaction.args["what"]["state"] for reaction in await reactions(store)]
    assert sorted(states) == ["dead", "dead", "resolved"]


async def test_each_death_of_a_job_has_a_reaction_of_its_own(store: Store) -> None:
    await store.stores.kinds.declare([REPORTS])
    job_id = await store.dead()
    await store.retry(job_id)

    await store.fail_for_good(await store.claim_one())

    first, second = await reactions(store)
    assert first.idempotency_key != second.idempotency_key
    assert {first.parent_id, second.parent_id} == {job_id}


async def test_a_settlement_that_is_sent_twice_has_one_reaction(store: Store) -> None:
    await store.stores.kinds.declare([REPORTS])
    claim = await store.claimed()

    for _ in range(2):
        await store.stores.claims.complete([(claim, None)], reacts=True)

    assert len(await reactions(store)) == 1


async def test_the_end_of_a_reaction_has_none(store: Store) -> None:
    again = replace(REPORTS, kind="tell", queue="news")
    await store.stores.kinds.declare([REPORTS, again])
    await store.dead()
    [reaction] = await reactions(store)

    await store.cancel(reaction.id)

    assert [job.id for job in await reactions(store)] == [reaction.id]


async def test_an_end_without_a_reaction_stores_nothing(store: Store) -> None:
    only_dead = to_json({State.DEAD: TOLD})
    await store.stores.kinds.declare([replace(REPORTS, reactions=only_dead)])

    await stops(store)
    await completes(store)

    assert await reactions(store) == []


async def test_a_tenants_quota_does_not_refuse_a_reaction(store: Store) -> None:
    await store.stores.kinds.declare([REPORTS])
    claim = await store.claimed(tenant="acme")
    await store.stores.quotas.set(tenant="acme", queue=None, most=0, actor="ann", reason="full")

    await store.fail_for_good(claim)

    assert len(await reactions(store)) == 1


async def reactions(store: Store) -> list[Job]:
    """The jobs that were stored because of ends, oldest first."""
    found = await store.stores.jobs.search(JobFilter(kind="tell"), before=None, limit=100)
    return sorted(found, key=lambda job: job.id)
