"""Removes what has been kept long enough; dead jobs stay until a person has decided."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from windlass.configuration import Settings
from windlass.env import Env
from windlass.events import Emit
from windlass.policy import Policy
from windlass.states import State
from windlass.stores.contract import Upkeep

BATCH = 1000
PAUSE = 0.05
KEEP_HISTORY = timedelta(days=400)
KEEP_LOCKS = timedelta(days=1)


class Archiver:
    """Works through old jobs in small batches, so that nothing else has to wait for it."""

    def __init__(self, upkeep: Upkeep, policy: Policy, *, settings: Settings, emit: Emit, env: Env) -> None:
        self._upkeep, self._emit, self._env = upkeep, emit, env
        self._every = settings.archive_every.total_seconds()
        self._keep_workers = settings.forget_workers_after
        kept = {
            State.COMPLETED: policy.keep_completed,
            State.CANCELLED: policy.keep_cancelled,
            State.RESOLVED: policy.keep_resolved,
        }
        self._keep = {state: length for state, length in kept.items() if length is not None}
        self._due_at = env.monotonic() + min(60.0, self._every)

    async def run_if_due(self) -> None:
        """Remove what is old, if the last time is long enough ago."""
        if self._env.monotonic() < self._due_at:
            return
        self._due_at = self._env.monotonic() + self._every
        await self._remove_jobs()
        await self._upkeep.forget_keys()
        await self._upkeep.forget_unused(fires=KEEP_HISTORY, locks=KEEP_LOCKS, workers=self._keep_workers)

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
