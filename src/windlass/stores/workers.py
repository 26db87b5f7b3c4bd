"""The register of workers and who leads, once for both databases."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta

import msgspec

from windlass.stores import rows
from windlass.stores.contract import NewWorker, WorkerRecord
from windlass.stores.database import Lane


@dataclass(frozen=True, slots=True)
class WorkerStore:
    """Keeps the register on one lane."""

    lane: Lane

    async def register(self, worker: NewWorker) -> None:
        values = asdict(worker)
        values["kinds"] = msgspec.json.encode(worker.kinds).decode()
        values["queues"] = msgspec.json.encode(worker.queues).decode()
        await self.lane.fetch("workers/register", **values)

    async def beat(self, worker: str, *, running: int) -> bool:
        return bool(await self.lane.fetch("workers/beat", id=worker, running=running))

    async def retire(self, worker: str, *, state: str) -> None:
        await self.lane.fetch("workers/retire", id=worker, state=state)

    async def bury(self, *, silence: timedelta) -> list[str]:
        return [row["id"] for row in await self.lane.fetch("workers/bury", silence=silence)]

    async def all(self, *, limit: int = 200) -> list[WorkerRecord]:
        return [rows.worker(row) for row in await self.lane.fetch("workers/all", limit=limit)]

    async def lead(self, duty: str, *, worker: str, lease: timedelta) -> bool:
        return bool(await self.lane.fetch("workers/lead", duty=duty, worker=worker, lease=lease))

    async def resign(self, duty: str, *, worker: str) -> None:
        await self.lane.fetch("workers/resign", duty=duty, worker=worker)

    async def forget(self, *, silence: timedelta) -> None:
        await self.lane.fetch("workers/forget", silence=silence)
