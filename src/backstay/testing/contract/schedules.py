"""Schedules: every fire becomes one job, whoever else fires, and operators' words stay."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from backstay.model.job import Job, JobId
from backstay.model.schedules.records import Fired, HistoryEntry
from backstay.model.schedules.schedule import (
    Definition,
    Fire,
    JobTemplate,
    Plan,
    Schedule,
    ScheduleOverride,
    job_for,
    plan,
)
from backstay.model.states import State
from backstay.testing.contract.support import DAY, HOUR, MINUTE, SECOND, Store

REPORT = JobTemplate(kind="report", queue="default")


async def add(store: Store, name: str = "reports", **wanted: Any) -> Schedule:
    """A schedule that fires every minute, from the next one on."""
    definition = Definition(**{"job": REPORT, "every": MINUTE, "starting": store.now(), **wanted})
    schedule = Schedule(
        id=store.new_id(),
        name=name,
        tenant="",
        declared=definition,
        source="runtime",
        declared_by="ann",
        next_fire_at=definition.next_after(store.now()),
        tzdata="2025b",
    )
    assert await store.stores.schedules.add(schedule, actor="ann")
    return await get(store, name)


async def get(store: Store, name: str = "reports") -> Schedule:
    """The schedule as it is stored now."""
    found = await store.stores.schedules.get("", name)
    assert found is not None
    return found


async def fire(store: Store, schedule: Schedule, decided: Plan) -> Fired | None:
    """Do what was decided."""
    jobs = [job_for(schedule, one, JobId(store.new_id())) for one in decided.fires]
    return await store.stores.schedules.fire(schedule, decided, jobs)


async def fire_due(store: Store) -> list[JobId]:
    """Fire what is due, as a scheduler would."""
    made: list[JobId] = []
    for schedule, now in await store.stores.schedules.due(limit=100):
        fired = await fire(store, schedule, plan(schedule, now))
        made += fired.jobs if fired else ()
    return made


async def history(store: Store, name: str = "reports") -> list[HistoryEntry]:
    """Everything that the schedule has done, newest first."""
    return await store.stores.schedules.history("", name, before=None, limit=1000)


async def job_of(store: Store, entry: HistoryEntry) -> Job:
    """The job of a fire."""
    assert entry.job_id is not None
    return await store.job(entry.job_id)


async def rewritten(store: Store, schedule: Schedule, **changes: Any) -> bool:
    """Change a schedule as an operator would."""
    return await store.stores.schedules.rewrite(
        replace(schedule, **changes), actor="ann", action="schedule.changed", reason="because"
    )


async def test_a_schedule_is_kept_as_it_was_given(store: Store) -> None:
    wanted = Definition(
        job=replace(REPORT, args='{"day":"{fire_date}"}', timeout=HOUR, tags='["a"]'),
        cron="30 2 * * MON",
        zone="Europe/Berlin",
        gap="skip",
        month_end="clamp",
        missed="catch_up",
        catch_up=7,
        overlap="queue",
        jitter=5 * SECOND,
        max_runs=3,
        expires_at=store.now() + DAY,
    )
    schedule = Schedule(
        id=store.new_id(),
        name="s",
        tenant="t",
        declared=wanted,
        source="code",
        declared_by="host 1.0",
        tzdata="x",
    )

    assert await store.stores.schedules.add(schedule, actor="ann")

    kept = await store.stores.schedules.get("t", "s")
    assert kept == replace(schedule, created_at=store.now(), updated_at=store.now())


async def test_a_name_is_taken_once_in_each_tenant(store: Store) -> None:
    first = await add(store)

    again = replace(first, id=store.new_id())
    elsewhere = replace(first, id=store.new_id(), tenant="other")

    assert not await store.stores.schedules.add(again, actor="bob")
    assert await store.stores.schedules.add(elsewhere, actor="bob")


async def test_a_schedule_fires_when_its_time_comes_and_not_before(store: Store) -> None:
    await add(store)
    assert await fire_due(store) == []
    assert (await store.stores.schedules.look()).fires_in == MINUTE

    store.later(MINUTE)
    [job_id] = await fire_due(store)

    job = await store.job(job_id)
    assert (job.kind, job.state, job.created_by) == ("report", State.AVAILABLE, "schedule:reports")
    assert job.args == {"reference_time": store.now().isoformat().replace("+00:00", "Z")}
    assert await fire_due(store) == []


async def test_it_stands_at_its_next_fire_and_counts_its_runs(store: Store) -> None:
    await add(store)
    store.later(MINUTE + 7 * SECOND)

    await fire_due(store)

    kept = await get(store)
    begun = store.now() - MINUTE - 7 * SECOND
    assert (kept.next_fire_at, kept.last_fire_at) == (begun + 2 * MINUTE, begun + MINUTE)
    assert (kept.run_count, kept.missed_count, kept.version) == (1, 0, 2)


async def test_of_many_schedulers_that_read_the_same_fire_one_makes_the_job(store: Store) -> None:
    await add(store)
    store.later(MINUTE)
    [(schedule, now)] = await store.stores.schedules.due(limit=9)

    fired = await asyncio.gather(*(fire(store, schedule, plan(schedule, now)) for _ in range(10)))

    assert len([one for one in fired if one is not None]) == 1
    assert len(await history(store)) == 1


async def test_a_scheduler_that_slept_after_reading_makes_nothing_twice(store: Store) -> None:
    await add(store)
    store.later(MINUTE)
    [(schedule, now)] = await store.stores.schedules.due(limit=9)
    decided = plan(schedule, now)
    await fire_due(store)
    store.later(10 * MINUTE)
    await fire_due(store)

    late = await fire(store, schedule, decided)

    assert late is None
    assert len(await history(store)) == 2


async def test_a_fire_that_is_written_down_makes_no_second_job(store: Store) -> None:
    schedule = await add(store)
    store.later(MINUTE)
    due = [Fire(store.now())]
    jobs = [job_for(schedule, one, JobId(store.new_id())) for one in due]
    await store.stores.schedules.fire_apart(schedule, due, jobs, trigger="back_fill", actor="ann")

    made = await fire_due(store)

    assert made == []
    assert [entry.trigger for entry in await history(store)] == ["back_fill"]
    assert (await get(store)).next_fire_at == store.now() + MINUTE


async def test_a_paused_schedule_does_not_fire_even_if_it_was_read_before(store: Store) -> None:
    await add(store)
    store.later(MINUTE)
    [(schedule, now)] = await store.stores.schedules.due(limit=9)
    assert await rewritten(store, schedule, paused_at=store.now(), paused_by="ann", pause_reason="outage")

    assert await fire(store, schedule, plan(schedule, now)) is None
    assert await fire_due(store) == []
    assert (await store.stores.schedules.look()).fires_in is None

    kept = await get(store)
    assert (kept.is_paused, kept.paused_by, kept.pause_reason) == (True, "ann", "outage")


async def test_a_change_of_what_has_fired_since_is_refused(store: Store) -> None:
    schedule = await add(store)
    store.later(MINUTE)
    await fire_due(store)

    assert not await rewritten(store, schedule, declared_by="bob")
    assert await rewritten(store, await get(store), declared_by="bob")


async def test_overrides_are_kept_beside_the_declaration(store: Store) -> None:
    schedule = await add(store)
    overrides = {
        "every": ScheduleOverride(HOUR, "ann", store.now(), "too often"),
        "expires_at": ScheduleOverride(store.now() + DAY, "ann", store.now(), "for today"),
    }

    assert await rewritten(store, schedule, overrides=overrides)

    kept = await get(store)
    assert kept.overrides == overrides
    assert (kept.declared.every, kept.definition.every) == (MINUTE, HOUR)
    assert kept.definition.expires_at == store.now() + DAY


async def test_missed_fires_become_one_run_and_are_counted(store: Store) -> None:
    await add(store)
    store.later(DAY)

    [job_id] = await fire_due(store)

    [entry] = await history(store)
    assert (entry.job_id, entry.missed, entry.fire_time) == (job_id, 1439, store.now())
    assert (await get(store)).missed_count == 1439


async def test_no_more_than_the_allowed_runs(store: Store) -> None:
    await add(store, max_runs=2, missed="catch_up")
    store.later(5 * MINUTE)

    first, second = await fire_due(store), await fire_due(store)

    assert (len(first), second) == (2, [])
    kept = await get(store)
    assert (kept.run_count, kept.is_exhausted) == (2, True)


async def test_once_is_once(store: Store) -> None:
    await add(store, every=None, starting=None, at=store.now() + HOUR)
    store.later(2 * HOUR)

    assert len(await fire_due(store)) == 1
    assert await fire_due(store) == []
    assert (await get(store)).is_exhausted


async def test_a_run_asked_for_by_a_person_does_not_move_the_schedule(store: Store) -> None:
    schedule = await add(store, max_runs=1)
    asked = [Fire(store.now(), reference_time=store.now() - DAY)]
    jobs = [job_for(schedule, one, JobId(store.new_id())) for one in asked]

    fired = await store.stores.schedules.fire_apart(schedule, asked, jobs, trigger="run_now", actor="ann")

    [entry] = await history(store)
    kept = await get(store)
    assert fired.queues == {"default"}
    assert (entry.trigger, entry.created_by, entry.reference_time) == ("run_now", "ann", store.now() - DAY)
    assert (
        (await job_of(store, entry)).args["reference_time"].startswith((store.now() - DAY).date().isoformat())
    )
    assert (kept.run_count, kept.next_fire_at) == (0, schedule.next_fire_at)


async def test_a_back_fill_leaves_out_what_has_fired(store: Store) -> None:
    schedule = await add(store)
    store.later(MINUTE)
    await fire_due(store)
    asked = [Fire(store.now() - turn * MINUTE) for turn in range(3)]
    jobs = [job_for(schedule, one, JobId(store.new_id())) for one in asked]

    found = await store.stores.schedules.existing(schedule, store.now() - HOUR, store.now())
    fired = await store.stores.schedules.fire_apart(schedule, asked, jobs, trigger="back_fill", actor="ann")

    assert found == {store.now()}
    assert fired.jobs == tuple(job.id for job in jobs[1:])


async def test_a_removed_schedule_is_gone_with_its_history_and_its_jobs_stay(store: Store) -> None:
    await add(store)
    store.later(MINUTE)
    [job_id] = await fire_due(store)

    first = await store.stores.schedules.remove("", "reports", actor="ann", reason="done")
    second = await store.stores.schedules.remove("", "reports", actor="ann", reason="done")

    assert (first, second) == (True, False)
    assert await store.state(job_id) is State.AVAILABLE
    assert await store.stores.schedules.get("", "reports") is None


async def test_schedules_are_listed_by_name_and_kind(store: Store) -> None:
    await add(store, "b")
    await add(store, "a")
    await add(store, "c", job=replace(REPORT, kind="other"))

    everything = await store.stores.schedules.all(tenant=None, kind=None, limit=9)
    reports = await store.stores.schedules.all(tenant="", kind="report", limit=9)

    assert [one.name for one in everything] == ["a", "b", "c"]
    assert [one.name for one in reports] == ["a", "b"]
