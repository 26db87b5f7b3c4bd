"""Looking: searching, counting and reading how a job ended."""

from __future__ import annotations

from typing import Any

import pytest

from backstay.model.job import JobId
from backstay.model.records import JobFilter
from backstay.model.states import State
from backstay.testing.contract.support import HOUR, MINUTE, Store


async def _found(
    store: Store, *, before: JobId | None = None, limit: int = 10, **filters: Any
) -> list[JobId]:
    return [
        job.id for job in await store.stores.jobs.search(JobFilter(**filters), before=before, limit=limit)
    ]


async def test_a_search_lists_the_newest_first_page_by_page(store: Store) -> None:
    jobs = await store.enqueue_many(5)

    first = await _found(store, limit=2)
    second = await _found(store, limit=2, before=first[-1])

    assert first + second == list(reversed(jobs))[:4]


@pytest.mark.parametrize(
    ("options", "filters"),
    [
        ({"delay": HOUR}, {"state": State.SCHEDULED}),
        ({"kind": "welcome"}, {"kind": "welcome"}),
        ({"queue": "mail"}, {"queue": "mail"}),
        ({"tenant": "acme"}, {"tenant": "acme"}),
        ({"tags": '["pdf", "board"]'}, {"tag": "board"}),
        ({"correlation_id": "c-1"}, {"correlation_id": "c-1"}),
    ],
    ids=["state", "kind", "queue", "tenant", "tag", "correlation"],
)
async def test_a_search_finds_what_fits_its_filter(
    store: Store, options: dict[str, Any], filters: dict[str, Any]
) -> None:
    await store.enqueue(tags='["other"]')
    wanted = await store.enqueue(**options)
    await store.enqueue()

    assert await _found(store, **filters) == [wanted]


async def test_a_search_finds_children_and_times(store: Store) -> None:
    parent = await store.enqueue()
    store.later(MINUTE)
    child = await store.enqueue(parent_id=parent)

    assert await _found(store, parent_id=parent) == [child]
    assert await _found(store, created_from=store.now()) == [child]
    assert await _found(store, created_to=store.now()) == [parent]


async def test_a_search_by_worker_finds_what_it_runs_and_ended(store: Store) -> None:
    claim = await store.claimed(worker="w")
    await store.claimed(worker="other")

    assert await _found(store, worker="w") == [claim.id]


async def test_filters_work_together(store: Store) -> None:
    await store.enqueue(kind="welcome", queue="default")
    both = await store.enqueue(kind="welcome", queue="mail")

    assert await _found(store, kind="welcome", queue="mail") == [both]


async def test_jobs_are_counted_by_queue_kind_and_state(store: Store) -> None:
    await store.enqueue_many(3)
    await store.enqueue(queue="mail", delay=HOUR)
    await store.claim_one()

    counts = await store.stores.jobs.counts()

    assert {(count.queue, count.kind, count.state, count.jobs) for count in counts} == {
        ("default", "report", State.AVAILABLE, 2),
        ("default", "report", State.RUNNING, 1),
        ("mail", "report", State.SCHEDULED, 1),
    }


async def test_how_a_job_ended_is_told(store: Store) -> None:
    """ENG-006: the result on success, the error and the reason otherwise."""
    completed, dead = await store.claimed(), await store.claimed(kind="welcome")
    await store.complete(completed, '{"pages": 7}')
    await store.fail_for_good(dead)

    good, bad = await store.stores.jobs.ending(completed.id), await store.stores.jobs.ending(dead.id)

    assert good is not None
    assert bad is not None
    assert (good.state, good.result, good.error) == (State.COMPLETED, '{"pages": 7}', None)
    assert (bad.state, bad.result, bad.reason) == (State.DEAD, None, "hopeless")
    assert await store.stores.jobs.ending(JobId(store.new_job().id)) is None
