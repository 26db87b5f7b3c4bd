"""Takes over at once from workers of this machine whose process has died."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import psutil

from windlass.env import Env
from windlass.errors import StoreError
from windlass.events import Emit
from windlass.maintenance.rescuer import Rescuer
from windlass.records import Neighbour
from windlass.stores.contract import Workers

LOOK_EVERY = 0.5
LOOK_AGAIN_AFTER = 3.0
"""A claim that was under way when its worker died may be stored a moment later."""


def process_is_gone(neighbour: Neighbour) -> bool:
    """Whether the neighbour's process has ended; its number may belong to another process by now."""
    try:
        process = psutil.Process(neighbour.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return True
        started = datetime.fromtimestamp(process.create_time(), UTC)
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False
    return (
        neighbour.process_started is not None
        and abs((started - neighbour.process_started).total_seconds()) > 1
    )


class Neighbours:
    """Looks twice a second whether the other workers of this machine live; that costs no query."""

    def __init__(
        self,
        workers: Workers,
        rescuer: Rescuer,
        *,
        emit: Emit,
        env: Env,
        is_gone: Callable[[Neighbour], bool] = process_is_gone,
    ) -> None:
        self._workers, self._rescuer, self._emit, self._env, self._is_gone = (
            workers,
            rescuer,
            emit,
            env,
            is_gone,
        )
        self._known: dict[str, Neighbour] = {}
        self._buried: dict[str, float] = {}

    def know(self, neighbours: Sequence[Neighbour]) -> None:
        """Look after these from now on."""
        self._known = {neighbour.id: neighbour for neighbour in neighbours}

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self._env.sleep(LOOK_EVERY)
            try:
                await self.look()
            except StoreError as error:
                self._emit("store.failed", doing="take over from a neighbour", error=str(error))

    async def look(self) -> None:
        """Take over from every neighbour that is gone, and once more from those buried a moment ago."""
        for neighbour in [known for known in self._known.values() if self._is_gone(known)]:
            if await self._workers.bury_one(neighbour.id):
                self._emit("worker.buried", worker=neighbour.id, reason="its process is gone")
                self._buried[neighbour.id] = self._env.monotonic()
                await self._rescuer.take_over(neighbour.id)
            self._known.pop(neighbour.id, None)
        for worker, buried_at in list(self._buried.items()):
            if self._env.monotonic() - buried_at > LOOK_AGAIN_AFTER:
                await self._rescuer.take_over(worker)
                del self._buried[worker]
