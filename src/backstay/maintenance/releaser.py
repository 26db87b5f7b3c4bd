"""Lets jobs go on that wait for a limit: when a token comes, and where a crash has left them waiting."""

from __future__ import annotations

from backstay.errors import StoreError
from backstay.maintenance.alarm import Alarm
from backstay.model.events import Emit
from backstay.model.records import MaintenanceLook
from backstay.runtime.env import Env
from backstay.stores.contract import Limits
from backstay.wakeups.contract import ANYTHING, TOKENS, Wakeups, freed_hints

BATCH = 200
SHORTEST_WAIT = 0.01
LOOK_AFTER_ANYTHING = 0.25


class Releaser:
    """Sleeps until the next token that a job waits for; permits are freed where a job ends, not here."""

    def __init__(self, limits: Limits, wakeups: Wakeups, *, emit: Emit, env: Env) -> None:
        self._limits, self._wakeups, self._emit, self._env = limits, wakeups, emit, env
        self._alarm = Alarm(None, shortest=SHORTEST_WAIT)
        self._after = ""

    def on_hint(self, hint: str) -> None:
        """Look again: a job may have begun to wait for a token."""
        if hint == TOKENS:
            self._alarm.set(0.0)
        elif hint == ANYTHING and self._alarm.due_in is None:
            # It may have been about anything: many of them are worth one look.
            self._alarm.set(LOOK_AFTER_ANYTHING)

    async def repair(self, look: MaintenanceLook) -> None:
        """Follow the regular look: the next limits that jobs wait for are gone through, a bounded number."""
        self._alarm.set(None if look.token_in is None else look.token_in.total_seconds())
        if look.has_parked:
            after, queues = await self._limits.repair(self._after, limit=BATCH)
            self._after = after or ""
            self._tell(queues)

    async def run(self) -> None:
        """Let go on what waits for tokens, until cancelled."""
        await self._alarm.call(self._release_due)

    async def _release_due(self) -> None:
        try:
            is_any = True
            while is_any:
                is_any, queues = await self._limits.release_due(limit=BATCH)
                self._tell(queues)
            due_in = await self._limits.next_due()
            self._alarm.due_in = None if due_in is None else due_in.total_seconds()
        except StoreError as error:
            self._emit("store.failed", doing="release what waits for tokens", error=str(error))
            self._alarm.due_in = 1.0

    def _tell(self, queues: frozenset[str]) -> None:
        if queues:
            self._emit("jobs.released", queues=sorted(queues))
            self._wakeups.send(*freed_hints(queues))
