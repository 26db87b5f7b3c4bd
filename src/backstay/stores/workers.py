"""The register of workers and who leads, once for both databases."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import timedelta

import msgspec

from backstay.model.records import NewWorker, Tick, TickInfo, Vitals, WorkerRecord
from backstay.stores import audit, rows, schedule_rows
from backstay.stores.database.interface import Connection, Lane

MAINTENANCE = "maintenance"


@dataclass(frozen=True, slots=True)
class WorkerStore:
    """Keeps the register on one lane."""

    lane: Lane

    async def register(self, worker: NewWorker) -> None:
        values = asdict(worker)
        values["kinds"] = msgspec.json.encode(worker.kinds).decode()
        values["queues"] = msgspec.json.encode(worker.queues).decode()
        signatures = values.pop("signatures")
        signed = [{"worker": worker.id, "kind": kind, "signature": of} for kind, of in signatures.items()]
        async with self.lane.transaction() as connection:
            await connection.fetch("workers/register", **values)
            await connection.fetch_each("workers/sign", signed)

    async def tick_info(self, worker: str) -> TickInfo:
        return await _tick_info(self.lane, worker)

    async def tick(self, worker: str, *, vitals: Vitals, lease: timedelta, overrun: timedelta) -> Tick:
        async with self.lane.transaction() as connection:
            alive = await connection.fetch("workers/beat", id=worker, **asdict(vitals))
            if not alive:
                return Tick(is_alive=False, is_leader=False)
            learnt = Tick(
                is_alive=True,
                is_leader=False,
                now=rows.moment(alive[0]["now"]),
                tick_info=await _tick_info(connection, worker),
            )
            if not await connection.fetch("workers/lead", duty=MAINTENANCE, worker=worker, lease=lease):
                return learnt
            look = await connection.fetch("jobs/look", overrun=overrun)
            schedules = schedule_rows.look((await connection.fetch("schedules/look"))[0])
            return replace(learnt, is_leader=True, look=rows.look(look[0]), schedules=schedules)

    async def retire(self, worker: str, *, state: str) -> None:
        await self.lane.fetch("workers/retire", id=worker, state=state)

    async def tell(self, worker: str, told: str, *, actor: str, reason: str | None) -> bool:
        async with self.lane.transaction() as connection:
            if not await connection.fetch("workers/tell", id=worker, told=told, actor=actor):
                return False
            line = audit.Line(actor=actor, action=f"worker.{told}", reason=reason, details={"worker": worker})
            await audit.record(connection, [line])
            return True

    async def declare_dead(self, *, silence: timedelta) -> list[str]:
        return [row["id"] for row in await self.lane.fetch("workers/declare_dead", silence=silence)]

    async def declare_one_dead(self, worker: str) -> bool:
        return bool(await self.lane.fetch("workers/declare_one_dead", id=worker))

    async def all(self, *, limit: int = 200) -> list[WorkerRecord]:
        return [rows.worker(row) for row in await self.lane.fetch("workers/all", limit=limit)]

    async def resign(self, worker: str) -> None:
        await self.lane.fetch("workers/resign", duty=MAINTENANCE, worker=worker)


async def _tick_info(on: Connection | Lane, worker: str) -> TickInfo:
    routes = await on.fetch("kinds/routes")
    others = await on.fetch("workers/neighbours", id=worker)
    [found] = await on.fetch("workers/competitors", id=worker)
    return TickInfo(
        routes=frozenset((row["queue"], row["kind"]) for row in routes),
        neighbours=tuple(map(rows.neighbour, others)),
        has_competitors=bool(found["has_competitors"]),
        overrides=tuple(map(rows.override, await on.fetch("overrides/all"))),
        told=found["told"],
        other_code=frozenset(row["kind"] for row in await on.fetch("workers/other_code", id=worker)),
    )
