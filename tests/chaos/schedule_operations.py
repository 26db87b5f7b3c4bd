"""Schedules and locks, ready to be cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from backstay.model.job import JobId, NewJob
from backstay.model.schedules.records import Lock
from backstay.model.schedules.schedule import Fire, Plan, Schedule, job_for, plan
from backstay.testing.contract.locks import take
from backstay.testing.contract.schedules import add, fire_due
from backstay.testing.contract.support import DAY, HOUR, MINUTE, Store
from chaos.operations import AUDITED, Operation

Due = tuple[Schedule, Plan, list[NewJob]]
SPAN = 400 * DAY


async def stored(store: Store) -> Schedule:
    return await add(store)


async def not_stored(store: Store) -> Schedule:
    """A schedule that is made, and taken back."""
    schedule = await add(store)
    await store.stores.schedules.remove("", schedule.name, **AUDITED)
    return schedule


async def due(store: Store) -> Due:
    """A schedule whose time has come, what was decided about it, and the job that comes of it."""
    schedule = await add(store)
    store.later(MINUTE)
    decided = plan(schedule, store.now())
    return schedule, decided, [job_for(schedule, one, JobId(store.new_id())) for one in decided.fires]


async def fired(store: Store) -> Schedule:
    schedule = await add(store)
    store.later(MINUTE)
    await fire_due(store)
    return schedule


async def one_has_to_wait(store: Store) -> None:
    """Of two fires that must not overlap the first has ended."""
    await add(store, overlap="queue", missed="catch_up", catch_up=9)
    store.later(2 * MINUTE)
    await fire_due(store)
    await store.complete(await store.claim_one())


async def long_fired(store: Store) -> None:
    await fired(store)
    store.later(SPAN)


async def held(store: Store) -> Lock:
    lock = await take(store)
    assert lock is not None
    return lock


async def long_free(store: Store) -> None:
    await held(store)
    store.later(SPAN)


async def nothing(store: Store) -> None:
    return None


def fire_apart(store: Store, given: Due) -> Any:
    schedule, _, jobs = given
    fires = [Fire(schedule.next_fire_at)] if schedule.next_fire_at else []
    return store.stores.schedules.fire_apart(schedule, fires, jobs, trigger="back_fill", actor="ann")


def rewrite(store: Store, schedule: Schedule) -> Any:
    later = replace(schedule, next_fire_at=store.now() + HOUR)
    return store.stores.schedules.rewrite(later, action="schedule.changed", **AUDITED)


ONCE: dict[str, Any] = {"is_repeated": False}

SCHEDULES = (
    Operation("schedules.add", not_stored, lambda s, one: s.stores.schedules.add(one, actor="ann"), **ONCE),
    Operation("schedules.rewrite", stored, rewrite, **ONCE),
    Operation(
        "schedules.remove", fired, lambda s, one: s.stores.schedules.remove("", one.name, **AUDITED), **ONCE
    ),
    Operation("schedules.fire", due, lambda s, given: s.stores.schedules.fire(*given)),
    Operation("schedules.fire_apart", due, fire_apart),
    Operation("schedules.let_go", one_has_to_wait, lambda s, _: s.stores.schedules.let_go(limit=9)),
    Operation("upkeep.forget_unused", long_fired, lambda s, _: s.forget_unused()),
    Operation("schedules.now", nothing, lambda s, _: s.stores.schedules.now()),
    Operation("schedules.get", stored, lambda s, one: s.stores.schedules.get("", one.name)),
    Operation("schedules.all", stored, lambda s, _: s.stores.schedules.all(tenant=None, kind=None, limit=9)),
    Operation("schedules.successes", fired, lambda s, _: s.stores.schedules.successes(newest=9)),
    Operation("schedules.due", due, lambda s, _: s.stores.schedules.due(limit=9)),
    Operation("schedules.look", due, lambda s, _: s.stores.schedules.look()),
    Operation(
        "schedules.existing", fired, lambda s, one: s.stores.schedules.existing(one, s.now() - DAY, s.now())
    ),
    Operation(
        "schedules.history",
        fired,
        lambda s, one: s.stores.schedules.history("", one.name, before=None, limit=9),
    ),
)

LOCKS = (
    Operation("locks.acquire", nothing, lambda s, _: take(s)),
    Operation(
        "locks.extend", held, lambda s, lock: s.stores.locks.extend("", lock.id, fence=lock.fence, ttl=HOUR)
    ),
    Operation("locks.release", held, lambda s, lock: s.stores.locks.release("", lock.id, fence=lock.fence)),
    Operation(
        "locks.break_lock", held, lambda s, lock: s.stores.locks.break_lock("", lock.id, **AUDITED), **ONCE
    ),
    Operation("locks.get", held, lambda s, lock: s.stores.locks.get("", lock.id)),
    Operation("locks.all", held, lambda s, _: s.stores.locks.all(tenant=None, limit=9)),
    Operation("upkeep.forget_unused", long_free, lambda s, _: s.forget_unused()),
)
