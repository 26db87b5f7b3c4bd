"""Archiving on every store: what is written is what was there, and comes back as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from raw_sql import run_sql

from backstay.client.archive import packing
from backstay.client.archive.archive import FINAL, Archiving
from backstay.client.archive.folder import Folder
from backstay.errors import ArchiveFailed
from backstay.model.archive import TABLES, ArchiveFile
from backstay.model.job import JobId
from backstay.model.states import State
from backstay.runtime.env import SYSTEM
from backstay.stores.database.interface import Database
from backstay.testing.contract.support import DAY, HOUR, Store

KEEP = dict.fromkeys(FINAL, 7 * DAY)
START = UUID(int=0)


async def varied(store: Store) -> list[JobId]:
    """Jobs that ended in every way, with attempts, letters, steps and whatever else belongs to one."""
    done = await store.claimed(tags='["Grün","b"]', metadata='{"a":[1,null]}', name="Zoë's", tenant="acme")
    await store.complete(done, '{"text": "line\\nbreak \\u2028 ü", "n": 1e3}')
    tried = await store.claimed()
    await store.fail(tried)
    store.later(HOUR)
    await store.promote()
    again = await store.claim_one()
    await store.fail_for_good(again)
    await store.resolve(tried.id)
    stopped = await store.enqueue(timeout=HOUR, lease=HOUR / 60)
    await store.cancel(stopped)
    return [done.id, tried.id, stopped]


async def all_rows(store: Store, ids: list[JobId]) -> list[Any]:
    return await store.stores.archive.whole(ids)


async def test_what_was_archived_comes_back_as_it_was(store: Store, tmp_path: Path) -> None:
    ids = await varied(store)
    waiting, dead = await store.enqueue(delay=30 * DAY), await store.dead()
    before = await all_rows(store, ids)
    jobs_before = [await store.job(job_id) for job_id in ids]
    store.later(8 * DAY)

    done = await Archiving(store.stores.archive, Folder(str(tmp_path)), SYSTEM).run(KEEP)

    (file,) = done.files
    assert (done.jobs, done.removed, file.states) == (3, 3, {"completed": 1, "resolved": 1, "cancelled": 1})
    assert file.rows["attempts"] == 2
    assert file.rows["dead_letters"] == 1
    assert (await store.job(waiting)).state is State.SCHEDULED
    assert (await store.job(dead)).state is State.DEAD
    assert await all_rows(store, ids) == []

    content = Folder(str(tmp_path)).read(file.name + packing.DATA)
    assert content is not None
    assert await store.stores.archive.put_back(packing.unpack(file.name, content)) == 3
    assert await all_rows(store, ids) == before
    assert [await store.job(job_id) for job_id in ids] == jobs_before


async def test_large_jobs_are_written_and_removed_a_few_at_a_time(store: Store, tmp_path: Path) -> None:
    claims = [await store.claimed(args=f'{{"text": "{"x" * 5000}"}}') for _ in range(5)]
    for claim in claims:
        await store.complete(claim)
    store.later(8 * DAY)
    place = Folder(str(tmp_path))

    done = await Archiving(store.stores.archive, place, SYSTEM, most_bytes=8000, read_at_once=1).run(KEEP)

    assert [file.jobs for file in done.files] == [2, 2, 1]
    assert (done.jobs, done.removed) == (5, 5)
    kept = [job for file in done.files for job in packing.unpack(file.name, read(place, file))]
    assert {job["jobs"][0]["id"] for job in kept} == {str(claim.id) for claim in claims}


def read(place: Folder, file: ArchiveFile) -> bytes:
    content = place.read(file.name + packing.DATA)
    assert content is not None
    return content


async def test_putting_back_twice_changes_nothing(store: Store) -> None:
    ids = await varied(store)
    jobs = await all_rows(store, ids)

    assert await store.stores.archive.put_back(jobs) == 0
    assert await all_rows(store, ids) == jobs


async def test_a_column_that_an_older_release_did_not_write_is_left_empty(store: Store) -> None:
    ids = await varied(store)
    jobs = await all_rows(store, ids)
    await store.stores.archive.remove(ids, finished_before=store.now() + DAY)
    older = [
        {**job, "jobs": [{name: one for name, one in job["jobs"][0].items() if name != "name"}]}
        for job in jobs
    ]

    assert await store.stores.archive.put_back(older) == 3
    assert (await store.job(ids[0])).name is None


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_every_column_is_archived(store: Store, database: Database) -> None:
    """A table that gets another column, or a job another table, gets it here too."""
    columns = [
        line.split()[1].partition(".") for line in await database.describe() if line.startswith("column ")
    ]
    for table, (key, others) in TABLES.items():
        found = {column for name, _, column in columns if name == table}

        assert found == {key, *others}, table


async def test_a_parent_whose_child_still_waits_is_left_alone(store: Store, database: Database) -> None:
    parent, child = (await store.claimed()).id, await store.enqueue(held_for="an approval")
    await store.cancel(parent)
    await run_sql(
        database,
        f"UPDATE backstay.jobs SET state = 'cancelled', reason = 'test', lease_expires_at = NULL, lease_epoch = 2, "
        f"heartbeat_at = NULL, finished_at = created_at WHERE id = '{parent}'",
    )
    await run_sql(
        database,
        f"INSERT INTO backstay.dependencies (job_id, parent_id, place, type, on_failure) "
        f"VALUES ('{child}', '{parent}', '', 'completion', 'run')",
    )

    assert await all_rows(store, [parent]) == []


class Forgetful(Folder):
    """Says that it has written, and has written something else."""

    def write(self, name: str, content: bytes) -> None:
        super().write(name, content[:-1] + b"x")


class Full(Folder):
    """Takes nothing."""

    def write(self, name: str, content: bytes) -> None:
        raise ArchiveFailed("cannot write: no space left")


@pytest.mark.parametrize("place", [Forgetful, Full])
async def test_no_job_is_removed_unless_its_file_is_whole(
    store: Store, tmp_path: Path, place: type[Folder]
) -> None:
    ids = await varied(store)
    store.later(8 * DAY)

    with pytest.raises(ArchiveFailed):
        await Archiving(store.stores.archive, place(str(tmp_path)), SYSTEM).run(KEEP)

    assert len(await all_rows(store, ids)) == 3
    assert Folder(str(tmp_path)).names(packing.MANIFEST) == []


async def test_many_jobs_go_in_batches(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backstay.client.archive.archive.BATCH", 10)
    ids = await store.enqueue_many(25)
    for job_id in ids:
        await store.cancel(job_id)
    store.later(8 * DAY)

    done = await Archiving(store.stores.archive, Folder(str(tmp_path)), SYSTEM).run(KEEP)

    assert [file.jobs for file in done.files] == [10, 10, 5]
    assert (done.jobs, done.removed) == (25, 25)


def test_the_same_jobs_make_the_same_bytes() -> None:
    jobs = [{"jobs": [{"id": str(START), "state": "completed"}]}]

    assert packing.pack(jobs) == packing.pack(jobs)
    assert packing.unpack("x", packing.pack(jobs)) == jobs


def test_a_manifest_of_a_newer_form_is_refused(store_free_file: ArchiveFile) -> None:
    told = packing.to_manifest(store_free_file).replace(b'"format": 1', b'"format": 2')

    with pytest.raises(ArchiveFailed, match="of format 2: a newer Backstay reads it"):
        packing.from_manifest("x", told)


@pytest.fixture
def store_free_file() -> ArchiveFile:
    jobs = [{"jobs": [{"id": str(START), "state": "completed"}]}]
    return packing.describe(jobs, packing.pack(jobs), SYSTEM.wall())
