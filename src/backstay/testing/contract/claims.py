"""Claiming: who gets which jobs, in what order, and how many."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from backstay.model.job import JobId
from backstay.model.states import State
from backstay.testing.contract.support import HOUR, LEASE, MINUTE, REPORT, SECOND, TIMEOUT, Store, ids, wanted


async def test_a_claim_takes_a_job_and_says_everything_about_it(store: Store) -> None:
    """ENG-030, ENG-035: running, worker, start, lease, heartbeat and attempt are set by the one statement."""
    job_id = await store.enqueue(
        args='{"page": 3}', tenant="acme", correlation_id="c-1", policy='{"priority": 1}'
    )
    store.later(MINUTE)

    claim = await store.claim_one(worker="w")

    job = await store.job(job_id)
    assert (job.state, job.worker, job.attempt, job.run) == (State.RUNNING, "w", 1, 1)
    assert job.started_at == job.heartbeat_at == job.updated_at == store.now()
    assert job.lease_expires_at == store.now() + LEASE
    assert (claim.id, claim.epoch, claim.args, claim.tenant) == (
        job_id,
        job.lease_epoch,
        '{"page": 3}',
        "acme",
    )
    assert (claim.correlation_id, claim.policy, claim.worker) == ("c-1", '{"priority": 1}', "w")
    assert (claim.timeout, claim.lease, claim.max_attempts) == (TIMEOUT, LEASE, 4)


async def test_the_epoch_is_odd_while_a_job_runs_and_even_while_it_does_not(store: Store) -> None:
    job_id = await store.enqueue()
    seen = [(await store.job(job_id)).lease_epoch]

    for _ in range(2):
        claim = await store.claim_one()
        seen.append((await store.job(job_id)).lease_epoch)
        await store.fail(claim)
        seen.append((await store.job(job_id)).lease_epoch)
        store.later(HOUR)
        await store.promote()

    assert seen == [0, 1, 2, 3, 4]


async def test_jobs_are_claimed_in_order_of_their_turn(store: Store) -> None:
    """ENG-032: priority first, then time, then id."""
    late = await store.enqueue(priority=8)
    first = await store.enqueue(priority=5)
    second = await store.enqueue(priority=5)
    urgent = await store.enqueue(priority=1)

    claims = await store.claim(limit=10)

    assert ids(claims) == [urgent, first, second, late]


async def test_the_order_holds_across_several_claims(store: Store) -> None:
    """ENG-032: a limit cuts the line, it does not shuffle it."""
    expected = [await store.enqueue(priority=priority) for priority in (1, 2, 3, 4, 5, 6)]

    claimed = [claim.id for _ in range(3) for claim in await store.claim(limit=2)]

    assert claimed == expected


async def test_a_claim_may_begin_where_another_has_ended(store: Store) -> None:
    jobs = []
    for _ in range(4):
        jobs.append(await store.enqueue())
        store.later(SECOND)
    [_, last] = await store.claim(limit=2)
    urgent = await store.enqueue(priority=1)

    onwards = await store.claim(limit=10, since=last.turn)

    assert ids(onwards) == jobs[2:]
    assert ids(await store.claim(limit=10)) == [urgent]


async def test_the_order_holds_across_queues_and_kinds(store: Store) -> None:
    """ENG-032: pairs of queue and kind are merged by turn, not served one after the other."""
    kinds = [("default", "report"), ("mail", "welcome"), ("mail", "report")]
    expected: list[JobId] = []
    for number in range(9):
        queue, kind = kinds[number % 3]
        expected.append(await store.enqueue(queue=queue, kind=kind))
        store.later(SECOND)

    claims = await store.claim(*(wanted(kind, queue) for queue, kind in kinds), limit=7)

    assert ids(claims) == expected[:7]


async def test_the_lowest_priority_waits_nine_steps_at_most(store: Store) -> None:
    """ENG-095: an urgent job that comes more than nine steps later no longer overtakes."""
    patient = await store.enqueue(priority=10, ageing_step=HOUR)
    store.later(9 * HOUR - SECOND)
    urgent_in_time = await store.enqueue(priority=1, ageing_step=HOUR)
    store.later(2 * SECOND)
    urgent_too_late = await store.enqueue(priority=1, ageing_step=HOUR)

    claims = await store.claim(limit=10)

    assert ids(claims) == [urgent_in_time, patient, urgent_too_late]


async def test_a_step_of_a_year_makes_priorities_strict(store: Store) -> None:
    year = timedelta(days=365)
    patient = await store.enqueue(priority=6, ageing_step=year)
    store.later(30 * 24 * HOUR)
    urgent = await store.enqueue(priority=5, ageing_step=year)

    claims = await store.claim(limit=2)

    assert ids(claims) == [urgent, patient]


async def test_only_wanted_kinds_and_queues_are_claimed(store: Store) -> None:
    """ENG-031, ENG-090: a job of a kind that this worker does not know waits for one that does."""
    await store.enqueue(kind="unknown")
    await store.enqueue(queue="elsewhere")
    mine = await store.enqueue()

    claims = await store.claim(limit=10)

    assert ids(claims) == [mine]


async def test_a_worker_that_wants_nothing_gets_nothing(store: Store) -> None:
    await store.enqueue()
    await store.register("w")

    claims = await store.stores.claims.claim([], worker="w", claim_id=store.new_job().id, limit=1, suspects=1)

    assert claims == []


@pytest.mark.parametrize(("limit", "expected"), [(1, 1), (3, 3), (5, 5), (10, 5)])
async def test_a_claim_takes_no_more_than_its_limit(store: Store, limit: int, expected: int) -> None:
    await store.enqueue_many(5)

    claims = await store.claim(limit=limit)

    assert len(claims) == expected


async def test_the_limit_counts_over_all_pairs_together(store: Store) -> None:
    for _ in range(5):
        for queue in ("a", "b", "c"):
            await store.enqueue_many(1, queue=queue)
            store.later(SECOND)

    claims = await store.claim(*(wanted("report", queue) for queue in ("a", "b", "c")), limit=4)

    assert [claim.queue for claim in claims] == ["a", "b", "c", "a"]


async def test_a_claimed_job_is_not_claimed_again(store: Store) -> None:
    """ENG-033."""
    await store.enqueue_many(3)

    first = await store.claim(limit=10, worker="a")
    second = await store.claim(limit=10, worker="b")

    assert (len(first), len(second)) == (3, 0)


async def test_a_job_that_is_not_due_is_not_claimed(store: Store) -> None:
    await store.enqueue(delay=SECOND)
    await store.enqueue(held_for="an approval")

    assert await store.claim(limit=10) == []


@pytest.mark.parametrize("state", ["stopping", "stopped"])
async def test_a_worker_that_stops_cannot_claim(store: Store, state: str) -> None:
    await store.enqueue()
    await store.register("w")

    await store.stores.workers.retire("w", state=state)

    assert await store.claim(worker="w") == []


async def test_a_worker_given_up_for_dead_cannot_claim(store: Store) -> None:
    """A frozen process that wakes up after its burial must start again under a new id."""
    await store.enqueue()
    await store.register("w")
    store.later(HOUR)

    dead = await store.stores.workers.declare_dead(silence=MINUTE)

    assert dead == ["w"]
    assert await store.claim(worker="w") == []


async def test_a_worker_that_never_registered_cannot_claim(store: Store) -> None:
    await store.enqueue()

    claims = await store.stores.claims.claim(
        [wanted("report")], worker="stranger", claim_id=store.new_job().id, limit=1, suspects=1
    )

    assert claims == []


@pytest.mark.parametrize("paused", [{"queue": "mail", "kind": None}, {"queue": None, "kind": "welcome"}])
async def test_a_paused_queue_or_kind_is_not_claimed_until_it_is_resumed(
    store: Store, paused: dict[str, Any]
) -> None:
    """ENG-093."""
    waiting = await store.enqueue(queue="mail", kind="welcome")
    other = await store.enqueue(queue="default", kind="report")
    pairs = wanted("welcome", "mail"), wanted("report")
    await store.stores.queues.pause(**paused, actor="ann", reason="provider down")

    while_paused = await store.claim(*pairs, limit=10)
    await store.stores.queues.resume(**paused, actor="ann")
    afterwards = await store.claim(*pairs, limit=10)

    assert (ids(while_paused), ids(afterwards)) == ([other], [waiting])


async def test_jobs_that_run_while_their_queue_is_paused_go_on(store: Store) -> None:
    """ENG-093: a pause stops claims only."""
    claim = await store.claimed()

    await store.stores.queues.pause(queue="default", kind=None, actor="ann", reason="maintenance")

    assert (await store.stores.claims.renew([claim])).held == {claim.id}
    assert (await store.complete(claim)).done == {claim.id}


async def test_at_most_one_suspect_is_claimed_beside_the_others(store: Store) -> None:
    """Jobs that were running when a worker died come back one at a time."""
    await store.enqueue_many(3)
    for crashed in await store.claim(limit=3, worker="doomed"):
        await store.crash_again(crashed)
    healthy = await store.enqueue_many(2)

    claims = await store.claim(limit=10, suspects=1)

    assert sum(claim.is_suspect for claim in claims) == 1
    assert {claim.id for claim in claims if not claim.is_suspect} == set(healthy)


async def test_no_suspect_is_claimed_where_none_is_asked_for(store: Store) -> None:
    crashed = await store.claimed()
    await store.crash_again(crashed)

    assert await store.claim(limit=10, suspects=0) == []


async def test_one_suspect_is_the_limit_over_all_pairs_together(store: Store) -> None:
    pairs = [wanted("report", queue) for queue in ("a", "b")]
    for queue in ("a", "b"):
        await store.enqueue(queue=queue)
    for crashed in await store.claim(*pairs, limit=2):
        await store.crash_again(crashed)

    claims = await store.claim(*pairs, limit=10, suspects=1)

    assert len(claims) == 1


async def test_a_jobs_own_numbers_outrank_those_of_its_kind(store: Store) -> None:
    """ENG-005, ENG-013: per-job overrides of time limit, lease and attempts."""
    await store.enqueue(max_attempts=9, timeout=2 * HOUR, lease=10 * MINUTE)

    claim = await store.claim_one()

    assert (claim.max_attempts, claim.timeout, claim.lease) == (9, 2 * HOUR, 10 * MINUTE)
    assert (await store.job(claim.id)).lease_expires_at == store.now() + 10 * MINUTE


async def test_a_changed_policy_counts_from_the_next_claim(store: Store) -> None:
    """ENG-009: fewer attempts than were already made break no rule of the tables."""
    claim = await store.claimed()
    await store.fail(claim)
    store.later(HOUR)
    await store.promote()

    [again] = await store.claim(wanted("report", max_attempts=1, timeout=SECOND))

    assert (again.attempt, again.max_attempts, again.timeout) == (2, 2, SECOND)


async def test_a_suspect_is_claimed_beside_the_limit_and_also_without_one(store: Store) -> None:
    claim = await store.claimed()
    store.later(LEASE + SECOND)
    await store.rescue(again=True)
    await store.enqueue()

    [suspect] = await store.claim(limit=0, suspects=1)

    assert (suspect.id, suspect.is_suspect) == (claim.id, True)
    assert await store.claim(limit=0, suspects=0) == []


async def test_a_claim_of_one_pair_without_suspects_says_the_same_of_a_job(store: Store) -> None:
    """It goes by a shorter statement, which must not differ in anything else."""
    own: dict[str, Any] = {
        "tenant": "acme",
        "correlation_id": "c-1",
        "policy": '{"priority": 1}',
        "timeout": SECOND,
        "lease": MINUTE,
        "max_attempts": 9,
        "deadline": store.now() + HOUR,
    }
    one, other = await store.enqueue(**own), await store.enqueue(**own)

    [short] = await store.claim(suspects=0)
    [usual] = await store.claim(suspects=1)

    assert (short.id, usual.id) == (one, other)
    assert short == usual._replace(id=one)
    ours, theirs = await store.job(one), await store.job(other)
    assert replace(ours, id=other) == theirs


async def test_a_claim_of_one_pair_takes_the_best_first_and_no_more_than_its_limit(store: Store) -> None:
    _, first, urgent = [await store.enqueue(priority=priority) for priority in (8, 5, 1)]
    await store.enqueue(queue="mail")
    await store.enqueue(kind="welcome")

    assert ids(await store.claim(limit=2, suspects=0)) == [urgent, first]


async def test_a_claim_of_one_pair_begins_where_it_is_told(store: Store) -> None:
    await store.enqueue()
    store.later(MINUTE)
    since, behind = store.now(), await store.enqueue()

    assert ids(await store.claim(limit=9, suspects=0, since=since)) == [behind]


@pytest.mark.parametrize("paused", [{"queue": "default", "kind": None}, {"queue": None, "kind": "report"}])
async def test_a_claim_of_one_pair_respects_pauses_and_who_was_given_up(
    store: Store, paused: dict[str, Any]
) -> None:
    await store.enqueue()
    await store.register("dead")
    await store.stores.workers.declare_one_dead("dead")
    by_the_dead = await store.claim(worker="dead", suspects=0)
    await store.stores.queues.pause(queue="other", kind=None, actor="ann", reason="x")
    await store.stores.queues.pause(**paused, actor="ann", reason="x")

    while_paused = await store.claim(suspects=0)
    await store.stores.queues.resume(**paused, actor="ann")

    assert (by_the_dead, while_paused) == ([], [])
    assert len(await store.claim(suspects=0)) == 1


async def test_a_worker_is_told_whether_anything_is_left_for_it(store: Store) -> None:
    claims = store.stores.claims
    assert not await claims.has_work([REPORT])

    await store.enqueue()
    waiting = await claims.has_work([REPORT])
    claim = await store.claim_one()
    running = await claims.has_work([REPORT])
    await store.complete(claim)

    assert (waiting, running) == (True, True)
    assert not await claims.has_work([REPORT])


async def test_what_is_due_later_paused_or_for_others_is_not_left(store: Store) -> None:
    await store.enqueue(delay=HOUR)
    await store.enqueue(kind="other")
    await store.enqueue(queue="other")
    claims = store.stores.claims

    assert not await claims.has_work([REPORT])

    store.later(HOUR)
    assert await claims.has_work([REPORT])
    await store.stores.queues.pause(queue="default", actor="ann", reason="because")
    assert not await claims.has_work([REPORT])
