"""Makes scheduled jobs available when their time comes, and those that have waited long enough for a signal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from backstay.errors import StoreError
from backstay.maintenance.alarm import Alarm
from backstay.model.events import Emit
from backstay.runtime.env import Env
from backstay.stores.contract import Queues, Signals, Upkeep
from backstay.wakeups.contract import ANYTHING, LATER, Wakeups, queue_hint

BATCH = 1000
SHORTEST_WAIT = 0.05


class Promoter:
    """Sleeps until the next job is due; woken when a sooner one is stored, and by the regular look at the tables."""

    def __init__(
        self,
        upkeep: Upkeep,
        signals: Signals,
        queues: Queues,
        wakeups: Wakeups,
        *,
        emit: Emit,
        env: Env,
    ) -> None:
        self._signals, self._queues = signals, queues
        self._upkeep, self._wakeups, self._emit, self._env = upkeep, wakeups, emit, env
        self._alarm = Alarm(0.0, shortest=SHORTEST_WAIT)

    def on_hint(self, hint: str) -> None:
        """Look again: something may be due sooner than known."""
        if hint in (LATER, ANYTHING):
            self._alarm.set(0.0)

    def next_due_in(self, due_in: timedelta | None) -> None:
        """What the regular look found."""
        self._alarm.set(None if due_in is None else due_in.total_seconds())

    async def tend_pauses(self) -> None:
        """Hold what paused tenants have, also what came to them on other ways than by being enqueued."""
        queues = await self._queues.tend()
        if queues:
            self._promoted(queues)

    async def tend_misfits(self) -> None:
        """Let go on what was refused by a worker's code, where another's may fit."""
        while queues := await self._upkeep.tend_misfits(limit=BATCH):
            self._promoted(queues)

    async def run(self) -> None:
        """Promote until cancelled."""
        await self._alarm.call(self._promote_due)

    async def _promote_due(self) -> None:
        try:
            while True:
                while queues := await self._upkeep.promote(limit=BATCH):
                    self._promoted(queues)
                due_in = await self._upkeep.next_due()
                self._alarm.due_in = None if due_in is None else due_in.total_seconds()
                if self._alarm.due_in != 0 or not (queues := await self._other_due()):
                    return
                self._promoted(queues)
        except StoreError as error:
            self._emit("store.failed", doing="promote", error=str(error))
            self._alarm.due_in = 1.0

    async def _other_due(self) -> list[str]:
        """What is due and no scheduled job: waits for signals whose time is over, pauses that end."""
        return await self._signals.time_out(limit=BATCH) or await self._queues.tend()

    def _promoted(self, queues: Sequence[str]) -> None:
        self._emit("jobs.promoted", jobs=len(queues))
        # A kind that goes on may be in any queue.
        self._wakeups.send(*(queue_hint(queue) if queue else ANYTHING for queue in set(queues)))
