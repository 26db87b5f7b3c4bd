"""Archiving jobs, and counting letters by the hour, ready to be cut."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from backstay.model.job import JobId
from backstay.model.states import State
from backstay.stores.contract.archive import WholeJob
from backstay.testing.contract.support import DAY, HOUR, Store
from chaos.erasing_operations import ended_jobs
from chaos.operations import Operation, dead_job

FROM_THE_FIRST = UUID(int=0)


async def old_jobs(store: Store) -> list[JobId]:
    jobs = await ended_jobs(store)
    store.later(DAY)
    return jobs


async def archived_jobs(store: Store) -> list[WholeJob]:
    jobs = await old_jobs(store)
    whole = await store.stores.archive.whole(jobs)
    assert await store.stores.archive.remove(jobs, finished_before=store.now()) == len(jobs)
    return whole


async def ended(store: Store, _: Any) -> None:
    await store.stores.archive.ended({State.COMPLETED: HOUR}, after=FROM_THE_FIRST, limit=9)


async def by_hour(store: Store, _: Any) -> None:
    await store.stores.dead_letters.by_hour(since=store.now() - DAY, tenant=None, limit=9)


ARCHIVE = (
    Operation("archive.ended", old_jobs, ended),
    Operation("archive.whole", old_jobs, lambda s, jobs: s.stores.archive.whole(jobs)),
    Operation(
        "archive.remove", old_jobs, lambda s, jobs: s.stores.archive.remove(jobs, finished_before=s.now())
    ),
    Operation("archive.put_back", archived_jobs, lambda s, whole: s.stores.archive.put_back(whole)),
    Operation("dead_letters.by_hour", dead_job, by_hour),
)
