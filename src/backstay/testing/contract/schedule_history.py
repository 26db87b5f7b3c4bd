"""Schedules: fires that overlap, and what the history tells of each."""

from __future__ import annotations

import json
from datetime import timedelta
from uuid import UUID

from backstay.model.states import State
from backstay.testing.contract.schedules import add, fire_due, get, history
from backstay.testing.contract.support import DAY, MINUTE, SECOND, Store


async def test_an_overlapping_fire_is_skipped_and_says_so(store: Store) -> None:
    await add(store, overlap="skip")
    store.later(MINUTE)
    await fire_due(store)
    store.later(MINUTE)

    assert await fire_due(store) == []

    newest, _ = await history(store)
    assert (newest.status, newest.reason, newest.job_id) == ("skipped", "an earlier run has not ended", None)
    assert (await get(store)).run_count == 1


async def test_after_the_earlier_run_has_ended_the_next_fire_runs(store: Store) -> None:
    await add(store, overlap="skip")
    store.later(MINUTE)
    await fire_due(store)
    await store.complete(await store.claim_one())
    store.later(MINUTE)

    assert len(await fire_due(store)) == 1


async def test_of_fires_that_are_caught_up_together_the_later_ones_overlap_too(store: Store) -> None:
    await add(store, overlap="skip", missed="catch_up")
    store.later(3 * MINUTE)

    assert len(await fire_due(store)) == 1
    assert [entry.status for entry in await history(store)] == ["skipped", "skipped", "available"]


async def test_queued_fires_run_one_after_the_other_in_order(store: Store) -> None:
    await add(store, overlap="queue", missed="catch_up")
    store.later(3 * MINUTE)
    made = await fire_due(store)
    assert (await store.stores.schedules.look()).has_queued
    assert (await store.job(made[1])).reason == "waits for an earlier run of schedule reports"

    ran = []
    for _ in made:
        claim = await store.claim_one()
        assert await store.stores.schedules.let_go(limit=9) == []
        assert await store.claim() == []
        ran.append(claim.id)
        await store.complete(claim)
        await store.stores.schedules.let_go(limit=9)

    assert ran == made
    assert not (await store.stores.schedules.look()).has_queued


async def test_a_queued_fire_that_was_cancelled_does_not_stop_the_others(store: Store) -> None:
    await add(store, overlap="queue", missed="catch_up")
    store.later(3 * MINUTE)
    _, second, third = await fire_due(store)
    await store.complete(await store.claim_one())

    await store.cancel(second)

    assert await store.stores.schedules.let_go(limit=9) == ["default"]
    assert (await store.claim_one()).id == third


async def test_a_queued_fire_that_was_let_go_by_hand_holds_up_the_next(store: Store) -> None:
    await add(store, overlap="queue", missed="catch_up")
    store.later(3 * MINUTE)
    _, second, _ = await fire_due(store)
    await store.complete(await store.claim_one())

    await store.stores.jobs.release(second, actor="ann")

    assert await store.stores.schedules.let_go(limit=9) == []
    await store.complete(await store.claim_one())
    assert await store.stores.schedules.let_go(limit=9) == ["default"]


async def test_the_history_tells_what_came_of_each_run(store: Store) -> None:
    await add(store)
    for ending in ("complete", "fail"):
        store.later(MINUTE)
        await fire_due(store)
        claim = await store.claim_one()
        store.later(2 * SECOND)
        if ending == "complete":
            await store.complete(claim, '{"items":12}')
        else:
            await store.fail_for_good(claim)
    store.later(MINUTE)
    await fire_due(store)

    waiting, failed, done = await history(store)

    assert (waiting.status, waiting.started_at, waiting.items) == ("available", None, None)
    assert (failed.status, failed.items) == ("dead", None)
    assert failed.error is not None
    assert failed.error["message"] == "boom"
    assert (done.status, done.items, done.worker, done.attempt, done.duration_ms) == (
        "completed",
        12,
        "w",
        1,
        2000,
    )
    assert done.reference_time == done.fire_time
    assert done.finished_at == done.started_at + timedelta(seconds=2) if done.started_at else False


async def test_a_run_that_found_its_lock_taken_is_shown_as_skipped(store: Store) -> None:
    await add(store)
    store.later(MINUTE)
    await fire_due(store)

    await store.complete(await store.claim_one(), json.dumps({"skipped": "locked by another"}))

    [entry] = await history(store)
    assert (entry.status, entry.reason) == ("skipped", "locked by another")


async def test_the_history_outlives_the_jobs(store: Store) -> None:
    await add(store)
    store.later(MINUTE)
    await fire_due(store)
    await store.complete(await store.claim_one(), '{"items":3}')
    [before] = await history(store)
    store.later(8 * DAY)

    await store.stores.upkeep.delete_finished({State.COMPLETED: 7 * DAY}, after=UUID(int=0), limit=100)

    assert before.job_id is not None
    assert await store.stores.jobs.get(before.job_id) is None
    assert await history(store) == [before]


async def test_old_history_is_dropped(store: Store) -> None:
    await add(store)
    store.later(MINUTE)
    await fire_due(store)
    store.later(401 * DAY)

    await store.forget_unused(fires=400 * DAY)

    assert await history(store) == []


async def test_the_last_success_of_a_schedule_is_known_also_when_its_job_is_gone(store: Store) -> None:
    schedule = await add(store, missed="catch_up")
    store.later(2 * MINUTE)
    await fire_due(store)
    assert await store.stores.schedules.successes(newest=9) == {}

    await store.complete(await store.claim_one())
    at = store.now()
    store.later(SECOND)
    await store.fail(await store.claim_one())

    assert await store.stores.schedules.successes(newest=9) == {schedule.id: at}
