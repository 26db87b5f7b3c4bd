"""Keeping schedules and making jobs of their fires, once for both databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from backstay.model.job import JobId, NewJob
from backstay.model.schedules.records import Fired, HistoryEntry, ScheduleLook
from backstay.model.schedules.schedule import Fire, Overlap, Plan, Schedule, Trigger
from backstay.stores import audit, rows, schedule_rows
from backstay.stores.database.interface import Connection, Lane
from backstay.stores.enqueuing import values_of

NOTHING: Mapping[str, Any] = {}
SKIPPED = "an earlier run has not ended"
WAITS = "waits for an earlier run of schedule {name}"


@dataclass(frozen=True, slots=True)
class ScheduleStore:
    """Keeps schedules on one lane."""

    lane: Lane

    async def now(self) -> datetime:
        return rows.moment((await self.lane.fetch("schedules/look"))[0]["now"])

    async def add(self, schedule: Schedule, *, actor: str) -> bool:
        async with self.lane.transaction() as connection:
            if not await connection.fetch_each("schedules/insert", [schedule_rows.values(schedule)]):
                return False
            await audit.record(connection, [_line(schedule, actor, "schedule.created", None)])
            return True

    async def rewrite(self, schedule: Schedule, *, actor: str, action: str, reason: str | None) -> bool:
        values = schedule_rows.values(schedule)
        del values["tenant"], values["name"]
        pause = {"paused_by": schedule.paused_by, "pause_reason": schedule.pause_reason}
        async with self.lane.transaction() as connection:
            before = await connection.fetch("schedules/get", tenant=schedule.tenant, name=schedule.name)
            found = await connection.fetch("schedules/rewrite", version=schedule.version, **values, **pause)
            if found:
                told = audit.changed(_facts(schedule_rows.schedule(before[0])), _facts(schedule))
                await audit.record(connection, [_line(schedule, actor, action, reason, told)])
            return bool(found)

    async def remove(self, tenant: str, name: str, *, actor: str, reason: str) -> bool:
        async with self.lane.transaction() as connection:
            found = await connection.fetch("schedules/remove", tenant=tenant, name=name)
            if found:
                line = audit.Line(
                    tenant=tenant,
                    actor=actor,
                    action="schedule.removed",
                    reason=reason,
                    details={"schedule": name},
                )
                await audit.record(connection, [line])
            return bool(found)

    async def get(self, tenant: str, name: str) -> Schedule | None:
        found = await self.lane.fetch("schedules/get", tenant=tenant, name=name)
        return schedule_rows.schedule(found[0]) if found else None

    async def all(
        self, *, tenant: str | None, kind: str | None, limit: int, name: str | None = None
    ) -> list[Schedule]:
        found = await self.lane.fetch("schedules/all", tenant=tenant, kind=kind, name=name, limit=limit)
        return [schedule_rows.schedule(row) for row in found]

    async def successes(self, *, newest: int) -> dict[UUID, datetime]:
        found = await self.lane.fetch("schedules/successes", newest=newest)
        return {UUID(str(row["id"])): rows.moment(row["at"]) for row in found if row["at"] is not None}

    async def due(self, *, limit: int) -> list[tuple[Schedule, datetime]]:
        found = await self.lane.fetch("schedules/due", limit=limit)
        return [(schedule_rows.schedule(row), rows.moment(row["now"])) for row in found]

    async def look(self) -> ScheduleLook:
        return schedule_rows.look((await self.lane.fetch("schedules/look"))[0])

    async def fire(self, schedule: Schedule, plan: Plan, jobs: Sequence[NewJob]) -> Fired | None:
        async with self.lane.transaction() as connection:
            moved = await connection.fetch(
                "schedules/advance",
                id=schedule.id,
                version=schedule.version,
                due=schedule.next_fire_at,
                next_fire_at=plan.next_fire_at,
                last_fire_at=plan.fires[-1].fire_time if plan.fires else None,
                missed=plan.dropped,
            )
            if not moved:
                return None
            return await _fire(connection, schedule, plan.fires, jobs, trigger="schedule", actor="scheduler")

    async def fire_apart(
        self,
        schedule: Schedule,
        fires: Sequence[Fire],
        jobs: Sequence[NewJob],
        *,
        trigger: Trigger,
        actor: str,
    ) -> Fired:
        async with self.lane.transaction() as connection:
            await connection.fetch("schedules/lock", id=schedule.id)
            fired = await _fire(connection, schedule, fires, jobs, trigger=trigger, actor=actor)
            # Sent again after a lost reply it finds everything written, and has nothing to tell either.
            if fired.jobs or fired.skipped:
                await audit.record(connection, [_line(schedule, actor, f"schedule.{trigger}", None)])
            return fired

    async def let_go(self, *, limit: int) -> list[str]:
        waiting = await self.lane.fetch("fires/waiting", limit=limit)
        queues: list[str] = []
        for row in waiting:
            async with self.lane.transaction() as connection:
                queues += await _let_go(connection, row["schedule_id"])
        return queues

    async def existing(self, schedule: Schedule, first: datetime, last: datetime) -> set[datetime]:
        found = await self.lane.fetch("fires/existing", schedule_id=schedule.id, first=first, last=last)
        return {rows.moment(row["fire_time"]) for row in found}

    async def history(
        self, tenant: str, name: str, *, before: datetime | None, limit: int
    ) -> list[HistoryEntry]:
        found = await self.lane.fetch("fires/history", tenant=tenant, name=name, before=before, limit=limit)
        return [schedule_rows.history_entry(row) for row in found]


async def _fire(
    connection: Connection,
    schedule: Schedule,
    fires: Sequence[Fire],
    jobs: Sequence[NewJob],
    *,
    trigger: Trigger,
    actor: str,
) -> Fired:
    """Write fires down and store the jobs of those that nobody has written down before."""
    overlap = schedule.definition.overlap
    is_busy = overlap != "allow" and await _is_busy(connection, schedule.id)
    entries = [
        _entry(schedule, fire, job, overlap if is_busy or turn else "allow", trigger=trigger, actor=actor)
        for turn, (fire, job) in enumerate(zip(fires, jobs, strict=True))
    ]
    written = {rows.moment(row["fire_time"]) for row in await connection.fetch_each("fires/record", entries)}
    ready = [
        job._replace(held_for=WAITS.format(name=schedule.name) if entry["status"] == "queued" else None)
        for entry, job in zip(entries, jobs, strict=True)
        if entry["fire_time"] in written and entry["status"] != "skipped"
    ]
    if ready:
        await connection.fetch_each("jobs/enqueue", [values_of(job) for job in ready])
        if trigger == "schedule":
            await connection.fetch("schedules/count", id=schedule.id, runs=len(ready))
    skipped = sum(entry["status"] == "skipped" and entry["fire_time"] in written for entry in entries)
    free = frozenset(job.queue for job in ready if job.held_for is None)
    return Fired(tuple(job.id for job in ready), free, skipped)


def _entry(
    schedule: Schedule, fire: Fire, job: NewJob, overlap: Overlap, *, trigger: Trigger, actor: str
) -> dict[str, Any]:
    is_skipped = overlap == "skip"
    status = {"allow": "enqueued", "skip": "skipped", "queue": "queued"}[overlap]
    return {
        "schedule_id": schedule.id,
        "fire_time": fire.fire_time,
        "reference_time": fire.reference,
        "trigger_source": trigger,
        "status": status,
        # Only those that others may have to wait for are looked at again.
        "is_open": schedule.definition.overlap != "allow" and not is_skipped,
        "job_id": None if is_skipped else job.id,
        "reason": SKIPPED if is_skipped else None,
        "missed": fire.missed,
        "created_by": actor,
    }


async def _is_busy(connection: Connection, schedule_id: Any) -> bool:
    await connection.fetch("fires/close", schedule_id=schedule_id)
    return bool(await connection.fetch("fires/open", schedule_id=schedule_id, limit=1))


async def _let_go(connection: Connection, schedule_id: Any) -> list[str]:
    await connection.fetch("schedules/lock", id=schedule_id)
    await connection.fetch("fires/close", schedule_id=schedule_id)
    still_open = await connection.fetch("fires/open", schedule_id=schedule_id, limit=1000)
    if not still_open or any(row["status"] != "queued" for row in still_open):
        return []
    first = still_open[0]
    await connection.fetch("fires/let_go", schedule_id=schedule_id, fire_time=first["fire_time"])
    freed = await connection.fetch_each("jobs/release", [{"job_id": JobId(first["job_id"])}])
    return [row["queue"] for row in freed]


def _facts(schedule: Schedule) -> dict[str, Any]:
    """What people change of a schedule, as plain values; the arguments of its jobs may be private."""
    wanted: dict[str, Any] = msgspec.to_builtins(schedule.definition)
    wanted.pop("job")
    return {**wanted, "paused_by": schedule.paused_by, "pause_reason": schedule.pause_reason}


def _line(
    schedule: Schedule,
    actor: str,
    action: str,
    reason: str | None,
    changed: Mapping[str, Any] = NOTHING,
) -> audit.Line:
    return audit.Line(
        tenant=schedule.tenant,
        actor=actor,
        action=action,
        reason=reason,
        details={"schedule": schedule.name, "kind": schedule.declared.job.kind, **changed},
    )
