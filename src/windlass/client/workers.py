"""Workers and kinds, as the database knows them."""

from __future__ import annotations

from dataclasses import dataclass

from windlass.client.jobs import Jobs
from windlass.records import KindRecord, WorkerRecord


@dataclass(frozen=True)
class Workers:
    """The workers of one application, from one event loop."""

    jobs: Jobs

    async def all(self, *, limit: int = 200) -> list[WorkerRecord]:
        """Workers, the living first."""
        return await self.jobs.stores.workers.all(limit=limit)

    async def kinds(self) -> list[KindRecord]:
        """Every kind that any worker has declared."""
        return await self.jobs.stores.kinds.all()
