"""Archiving: old jobs are written, read again, and only then removed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar
from uuid import UUID

from backstay.client.archive import packing
from backstay.client.archive.places import NEEDS, Place, open_place
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.errors import ArchiveFailed, InvalidSettings
from backstay.model.archive import JOBS, ArchiveCheck, Archived, ArchiveFile, Restored
from backstay.model.policy.policy import Policy
from backstay.model.states import State
from backstay.model.text.durations import Duration, duration
from backstay.runtime.env import Env
from backstay.stores.contract import Archive as ArchiveStore
from backstay.stores.contract.archive import WholeJob

T = TypeVar("T")
BATCH = 1000
READ_AT_ONCE = 50
MOST_BYTES = 16 * 1024 * 1024
"""A file takes so many bytes of jobs, before they are compressed, and a few jobs more: they are held in memory."""
PAUSE = 0.05
FINAL = (State.COMPLETED, State.CANCELLED, State.RESOLVED)
START = UUID(int=0)


def kept_for(policy: Policy) -> dict[State, timedelta]:
    """How long jobs of each final state are kept; those that are kept forever are not named."""
    lengths = (policy.keep_completed, policy.keep_cancelled, policy.keep_resolved)
    return {state: length for state, length in zip(FINAL, lengths, strict=True) if length is not None}


@dataclass(frozen=True)
class Archiving:
    """Moves old jobs of one database to one place, a batch at a time, and no more of it than `most_bytes`."""

    store: ArchiveStore
    place: Place
    env: Env
    most_bytes: int = MOST_BYTES
    read_at_once: int = READ_AT_ONCE

    async def run(self, keep: Mapping[State, timedelta]) -> Archived:
        """Archive every job that was kept long enough; dead jobs stay until a person has decided."""
        files, removed = list[ArchiveFile](), 0
        after: UUID | None = START if keep else None
        while after is not None:
            ended = await self.store.ended(keep, after=after, limit=BATCH)
            after = ended.go_on
            async for jobs in self._bundles(ended.ids):
                file, gone = await self._move(jobs, ended.finished_before)
                files.append(file)
                removed += gone
            if after is not None:
                # Small steps with pauses, so that nobody who works has to wait.
                await self.env.sleep(PAUSE)
        return Archived(sum(file.jobs for file in files), removed, tuple(files))

    async def _bundles(self, ids: Sequence[UUID]) -> AsyncIterator[list[WholeJob]]:
        """The jobs of one file after the other."""
        jobs, size = list[WholeJob](), 0
        for at in range(0, len(ids), self.read_at_once):
            read = await self.store.whole(ids[at : at + self.read_at_once])
            jobs, size = jobs + read, size + sum(map(packing.size_of, read))
            if size >= self.most_bytes:
                yield jobs
                jobs, size = [], 0
        if jobs:
            yield jobs

    async def _move(self, jobs: Sequence[WholeJob], finished_before: datetime) -> tuple[ArchiveFile, int]:
        content = await in_thread(partial(packing.pack, jobs))
        file = packing.describe(jobs, content, self.env.wall())
        await in_thread(partial(self._keep, file, content))
        written = [UUID(job[JOBS][0]["id"]) for job in jobs]
        return file, await self.store.remove(written, finished_before=finished_before)

    def _keep(self, file: ArchiveFile, content: bytes) -> None:
        """Write the file, read it again, and only then say by a manifest that it is there."""
        self.place.write(file.name + packing.DATA, content)
        problem = packing.problem_of(file, self.place.read(file.name + packing.DATA))
        if problem is not None:
            raise ArchiveFailed(f"{file.name} was written and read again, but {problem}; no job was removed")
        self.place.write(file.name + packing.MANIFEST, packing.to_manifest(file))


@dataclass(frozen=True)
class Archive:
    """The archive of one application, from one event loop.

    `to` and `place` name a folder or a bucket; where they are left out, the setting `archive_to` counts.
    """

    _enqueuer: Enqueuer
    _default: str | None = None

    async def run(self, *, to: str | None = None, older_than: Duration | None = None) -> Archived:
        """Write finished jobs that were kept long enough, verify what was written, and remove them.

        `older_than` counts for all of them, instead of the policy's `keep_completed`, `keep_cancelled` and
        `keep_resolved`. Raises ArchiveFailed, and removes nothing, where the place cannot be used.
        """
        keep = kept_for(self._enqueuer.builder.general)
        if older_than is not None:
            keep = dict.fromkeys(FINAL, duration(older_than, field="older_than"))
        return await Archiving(self._enqueuer.stores.archive, self._place(to), self._enqueuer.env).run(keep)

    async def files(self, *, place: str | None = None) -> list[ArchiveFile]:
        """Every file, the oldest first, as its manifest tells."""
        return await in_thread(partial(_files, self._place(place)))

    async def verify(self, name: str | None = None, *, place: str | None = None) -> list[ArchiveCheck]:
        """Read a file, or all of them, and hold them against what their manifests say."""
        return await in_thread(partial(_check, self._place(place), name))

    async def restore(self, name: str, *, place: str | None = None) -> Restored:
        """Put the jobs of a file back as they were; jobs that are there stay as they are.

        Raises ArchiveFailed, and stores nothing, where the file is not what its manifest says. Where workers keep
        this database in order they remove the jobs again when they next look, because they have been kept long enough.
        """
        jobs = await in_thread(partial(_read, self._place(place), name))
        new = 0
        for start in range(0, len(jobs), BATCH):
            new += await self._enqueuer.stores.archive.put_back(jobs[start : start + BATCH])
        return Restored(jobs=new, there=len(jobs) - new)

    def _place(self, given: str | None) -> Place:
        url = given or self._default
        if url is None:
            raise InvalidSettings(f"there is no archive: name {NEEDS}, or set archive_to")
        return open_place(url)


async def in_thread(work: Callable[[], T]) -> T:
    """Do what blocks beside the event loop, which others use."""
    return await asyncio.to_thread(work)


def _files(place: Place) -> list[ArchiveFile]:
    names = [name.removesuffix(packing.MANIFEST) for name in place.names(packing.MANIFEST)]
    return sorted(map(partial(_file, place), names), key=lambda file: (file.made_at, file.first))


def _file(place: Place, name: str) -> ArchiveFile:
    content = place.read(name + packing.MANIFEST)
    if content is None:
        raise ArchiveFailed(
            f"the archive has no file {name!r}: 'backstay archive list' shows which there are"
        )
    return packing.from_manifest(name, content)


def _check(place: Place, name: str | None) -> list[ArchiveCheck]:
    files = _files(place) if name is None else [_file(place, name)]
    return [ArchiveCheck(file.name, file.jobs, _problem(place, file)) for file in files]


def _problem(place: Place, file: ArchiveFile) -> str | None:
    try:
        return packing.problem_of(file, place.read(file.name + packing.DATA))
    except ArchiveFailed as error:
        return str(error)


def _read(place: Place, name: str) -> list[WholeJob]:
    file = _file(place, name)
    content = place.read(name + packing.DATA)
    problem = packing.problem_of(file, content)
    if content is None or problem is not None:
        raise ArchiveFailed(f"{name} is not what its manifest says: {problem}; nothing was restored")
    return packing.unpack(name, content)
