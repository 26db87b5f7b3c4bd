"""Removes what has been kept long enough; dead jobs stay until a person has decided."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from uuid import UUID

from backstay.client.archive.archive import Archiving, in_thread, kept_for
from backstay.client.archive.places import open_place
from backstay.model.events import Emit
from backstay.model.policy.policy import Policy
from backstay.runtime.env import Env
from backstay.settings.sources import Settings
from backstay.stores.contract import Stores

BATCH = 1000
PAUSE = 0.05
KEEP_HISTORY = timedelta(days=400)
KEEP_LOCKS = timedelta(days=1)
KEEP_MINUTES = timedelta(days=2)
KEEP_CHANGES = timedelta(hours=1)
FORGET_CHANGES_EVERY = 60.0
KEEP_OPERATIONS = timedelta(days=90)


class Archiver:
    """Works through old jobs in small batches, so that nothing else has to wait for it."""

    def __init__(
        self,
        stores: Stores,
        policy: Policy,
        *,
        settings: Settings,
        emit: Emit,
        env: Env,
    ) -> None:
        self._upkeep, self._figures, self._outbox = stores.upkeep, stores.figures, stores.service.outbox
        self._operations, self._archive = stores.service.operations, stores.archive
        self._emit, self._env = emit, env
        self._every = settings.archive_every.total_seconds()
        self._keep_workers = settings.forget_workers_after
        self._keep, self._to = kept_for(policy), settings.archive_to
        self._keep_letters = policy.keep_letters
        self._due_at = env.monotonic() + min(60.0, self._every)
        self._changes_due_at = env.monotonic() + FORGET_CHANGES_EVERY

    async def run_if_due(self) -> None:
        """Remove what is old, if the last time is long enough ago."""
        await self._forget_changes_if_due()
        if self._env.monotonic() < self._due_at:
            return
        self._due_at = self._env.monotonic() + self._every
        try:
            await (self._remove_jobs() if self._to is None else self._archive_jobs(self._to))
        finally:
            # Also where the archive cannot be used: its jobs stay until the next time.
            await self._forget()

    async def _forget(self) -> None:
        if self._keep_letters is not None:
            await self._upkeep.forget_letters(keep=self._keep_letters)
        await self._upkeep.forget_keys()
        await self._operations.forget(keep=KEEP_OPERATIONS)
        await self._upkeep.forget_unused(fires=KEEP_HISTORY, locks=KEEP_LOCKS, workers=self._keep_workers)
        await self._figures.forget(minutes=KEEP_MINUTES, hours=KEEP_HISTORY)

    async def _forget_changes_if_due(self) -> None:
        """More often than the rest: a listener that has left should soon cost nothing."""
        if self._env.monotonic() >= self._changes_due_at:
            self._changes_due_at = self._env.monotonic() + FORGET_CHANGES_EVERY
            await self._outbox.forget(keep=KEEP_CHANGES)

    async def _archive_jobs(self, to: str) -> None:
        place = await in_thread(partial(open_place, to))
        done = await Archiving(self._archive, place, self._env).run(self._keep)
        if done.jobs:
            self._emit("jobs.archived", jobs=done.jobs, removed=done.removed, files=len(done.files))

    async def _remove_jobs(self) -> None:
        after: UUID | None = UUID(int=0)
        batches = 0
        while after is not None:
            after = await self._upkeep.delete_finished(self._keep, after=after, limit=BATCH)
            batches += 1
            if after is not None:
                await self._env.sleep(PAUSE)
        if batches > 1:
            self._emit("jobs.removed", batches=batches)
