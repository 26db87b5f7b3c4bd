"""Removes finished jobs when they have been kept long enough; dead ones stay until a person has decided."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from windlass.env import Env
from windlass.events import Emit
from windlass.policy import Policy
from windlass.states import State
from windlass.stores.contract import Upkeep

BATCH = 1000
PAUSE = 0.05


class Archiver:
    """Works through old jobs in small batches, so that nothing else has to wait for it."""

    def __init__(self, upkeep: Upkeep, policy: Policy, *, every: timedelta, emit: Emit, env: Env) -> None:
        self._upkeep, self._every, self._emit, self._env = upkeep, every.total_seconds(), emit, env
        self._keep: dict[State, timedelta | None] = {
            State.COMPLETED: policy.keep_completed,
            State.CANCELLED: policy.keep_cancelled,
            State.RESOLVED: policy.keep_resolved,
        }
        self._due_at = env.monotonic() + min(60.0, self._every)

    async def run_if_due(self) -> bool:
        """Remove what is old, if the last time is long enough ago."""
        if self._env.monotonic() < self._due_at:
            return False
        self._due_at = self._env.monotonic() + self._every
        for state, keep in self._keep.items():
            if keep is not None:
                await self.remove(state, older_than=keep)
        return True

    async def remove(self, state: State, *, older_than: timedelta) -> None:
        """Remove the jobs of one state that ended longer ago than this."""
        after: UUID | None = UUID(int=0)
        batches = 0
        while after is not None:
            after = await self._upkeep.delete_finished(state, older_than=older_than, after=after, limit=BATCH)
            batches += 1
            if after is not None:
                await self._env.sleep(PAUSE)
        if batches > 1:
            self._emit("jobs.removed", state=state.value, batches=batches)
