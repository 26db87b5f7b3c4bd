"""Enqueuing without keys: stored whole, all or none, and safe to send again."""

from __future__ import annotations

from typing import Any

import pytest

from backstay.errors import StoreError
from backstay.model.job import AlikeJobs, JobId
from backstay.model.states import State
from backstay.testing.contract.support import DAY, HOUR, MINUTE, SECOND, Store, ids

STATES: list[tuple[dict[str, Any], State]] = [
    ({}, State.AVAILABLE),
    ({"delay": MINUTE}, State.SCHEDULED),
    ({"delay": 0 * SECOND}, State.AVAILABLE),
    ({"held_for": "an approval"}, State.HELD),
    ({"held_for": "an approval", "delay": MINUTE}, State.HELD),
]


@pytest.mark.parametrize(("options", "state"), STATES)
async def test_a_new_job_waits_for_a_worker_for_time_or_for_something_else(
    store: Store, options: dict[str, Any], state: State
) -> None:
    """ENG-023."""
    job_id = await store.enqueue(**options)

    job = await store.job(job_id)
    assert job.state is state
    assert job.reason == options.get("held_for")
    assert job.run_at == store.now() + options.get("delay", 0 * SECOND)


async def test_a_job_for_a_given_time_is_scheduled(store: Store) -> None:
    """ENG-010."""
    job_id = await store.enqueue(run_at=store.now() + DAY)

    job = await store.job(job_id)
    assert (job.state, job.run_at) == (State.SCHEDULED, store.now() + DAY)


async def test_a_time_in_the_past_counts_as_now(store: Store) -> None:
    """ENG-011: nothing overtakes by claiming to be old, and run_at is never before created_at."""
    first = await store.enqueue()
    backdated = await store.enqueue(run_at=store.now() - DAY)

    job = await store.job(backdated)
    assert (job.state, job.run_at) == (State.AVAILABLE, store.now())
    assert ids(await store.claim(limit=2)) == [first, backdated]


async def test_everything_about_a_job_is_kept(store: Store) -> None:
    """ENG-001 to ENG-005, ENG-016, ENG-017: every field comes back as it went in."""
    parent = await store.enqueue()
    job_id = await store.enqueue(
        args='{"page": 3, "näme": "…"}',
        priority=2,
        tenant="acme",
        name="Monthly report",
        description="For the board",
        tags='["pdf", "board"]',
        metadata='{"source": "import"}',
        policy='{"max_attempts": 7}',
        max_attempts=7,
        timeout=HOUR,
        parent_id=parent,
        correlation_id="c-1",
        created_by="ann",
        idempotency_key=None,
        expires_in=DAY,
        deadline_in=2 * DAY,
    )

    job = await store.job(job_id)

    assert (job.args, job.priority, job.tenant) == ({"page": 3, "näme": "…"}, 2, "acme")
    assert (job.name, job.description, job.tags) == ("Monthly report", "For the board", ("pdf", "board"))
    assert (job.metadata, job.policy["max_attempts"]) == ({"source": "import"}, 7)
    assert (job.parent_id, job.correlation_id, job.created_by) == (parent, "c-1", "ann")
    assert (job.expires_at, job.deadline) == (store.now() + DAY, store.now() + 2 * DAY)


async def test_a_plain_job_starts_empty(store: Store) -> None:
    """ENG-005, ENG-006, ENG-008: no attempts, no result, no error, no worker."""
    job = await store.job(await store.enqueue())

    assert (job.attempt, job.run, job.crashes, job.lease_epoch) == (0, 0, 0, 0)
    assert (job.result, job.error, job.worker, job.started_at, job.finished_at) == (None,) * 5
    assert (job.tags, job.metadata, job.policy, job.tenant) == ((), {}, {}, "")


async def test_ten_thousand_jobs_are_stored_in_one_go(store: Store) -> None:
    ids_sent = await store.enqueue_many(10_000)

    [count] = await store.stores.jobs.counts()

    assert (count.jobs, count.state) == (10_000, State.AVAILABLE)
    assert len(set(ids_sent)) == 10_000


async def test_sending_the_same_jobs_again_changes_nothing(store: Store) -> None:
    """ENG-018: the reply was lost, so the caller sends again; one of them runs already."""
    jobs = [store.new_job() for _ in range(3)]
    await store.stores.enqueuing.enqueue(jobs)
    claim = await store.claim_one()
    before = [await store.job(job.id) for job in jobs]
    store.later(MINUTE)

    await store.stores.enqueuing.enqueue(jobs)

    assert [await store.job(job.id) for job in jobs] == before
    assert await store.state(claim.id) is State.RUNNING


async def test_sending_a_batch_again_stores_only_what_was_missing(store: Store) -> None:
    known, missing = store.new_job(), store.new_job()
    await store.stores.enqueuing.enqueue([known])

    await store.stores.enqueuing.enqueue([known, missing])

    [count] = await store.stores.jobs.counts()
    assert count.jobs == 2


async def test_jobs_that_are_alike_are_stored_each_with_its_own_arguments_and_once(store: Store) -> None:
    """ENG-018: what arrived before only its reply was lost stays as it is."""
    first = store.new_job(is_plain=True, priority=3)
    alike = AlikeJobs(
        first, [first.id, *(JobId(store.new_id()) for _ in range(2))], ['{"n":1}', '{"n":2}', '{"n":3}']
    )
    await store.stores.enqueuing.enqueue(alike[:2])
    before = [await store.job(job_id) for job_id in alike.ids[:2]]
    store.later(MINUTE)

    await store.stores.enqueuing.enqueue(alike)

    stored = [await store.job(job_id) for job_id in alike.ids]
    assert [(job.args, job.priority, job.kind) for job in stored] == [
        ({"n": 1}, 3, first.kind),
        ({"n": 2}, 3, first.kind),
        ({"n": 3}, 3, first.kind),
    ]
    assert stored[:2] == before


async def test_a_batch_with_a_bad_job_is_refused_whole(store: Store) -> None:
    """ENG-092: priorities are 1 to 10, and nothing of the batch is stored."""
    jobs = [store.new_job(), store.new_job(priority=11), store.new_job()]

    with pytest.raises(StoreError):
        await store.stores.enqueuing.enqueue(jobs)

    assert await store.stores.jobs.counts() == []


@pytest.mark.parametrize("priority", [0, 11, -1])
async def test_priorities_outside_one_to_ten_are_refused(store: Store, priority: int) -> None:
    """ENG-092."""
    with pytest.raises(StoreError):
        await store.enqueue(priority=priority)


async def test_nothing_to_store_is_not_an_error(store: Store) -> None:
    await store.stores.enqueuing.enqueue([])

    assert await store.stores.jobs.counts() == []


async def test_a_job_that_does_not_exist_is_none(store: Store) -> None:
    assert await store.stores.jobs.get(JobId(store.new_job().id)) is None


async def test_large_arguments_come_back_whole(store: Store) -> None:
    """ENG-022."""
    text = "a" * 200_000

    job_id = await store.enqueue(args=f'{{"text": "{text}"}}')

    assert (await store.job(job_id)).args == {"text": text}
