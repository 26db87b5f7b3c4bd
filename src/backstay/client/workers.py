"""Workers and kinds, as the database knows them."""

from __future__ import annotations

from dataclasses import dataclass

from backstay.client.arguments import who, why
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.errors import NotFound
from backstay.model.records import KindRecord, WorkerRecord
from backstay.wakeups.contract import WORKERS


@dataclass(frozen=True)
class Workers:
    """The workers of one application, from one event loop."""

    _enqueuer: Enqueuer

    async def all(self, *, limit: int = 200) -> list[WorkerRecord]:
        """Workers, the living first."""
        return await self._enqueuer.stores.workers.all(limit=limit)

    async def kinds(self) -> list[KindRecord]:
        """Every kind that any worker has declared."""
        return await self._enqueuer.stores.kinds.all()

    async def drain(self, worker_id: str, *, reason: str, by: str = "client") -> None:
        """Let a living worker finish what it has and claim no more, until `resume`; raises NotFound.

        It stays and does its other duties. It hears of this within a tick, at once where the database has hints.
        """
        await self._tell(worker_id, "drain", by=by, reason=why(reason))

    async def resume(self, worker_id: str, *, by: str = "client") -> None:
        """Let a worker that was told to drain claim again; raises NotFound."""
        await self._tell(worker_id, "resume", by=by, reason=None)

    async def stop(self, worker_id: str, *, reason: str, by: str = "client") -> None:
        """Let a living worker finish what it has and leave, as after a signal; raises NotFound.

        What starts workers, such as a supervisor or a container's host, may start another in its place.
        """
        await self._tell(worker_id, "stop", by=by, reason=why(reason))

    async def _tell(self, worker_id: str, told: str, *, by: str, reason: str | None) -> None:
        if not await self._enqueuer.stores.workers.tell(worker_id, told, actor=who(by), reason=reason):
            raise NotFound("living worker", worker_id)
        self._enqueuer.wakeups.send(WORKERS)
