"""Locks with a time to live, once for both databases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from backstay.model.job import JobId
from backstay.model.schedules.records import Lock
from backstay.stores import audit, schedule_rows
from backstay.stores.database.interface import Lane


@dataclass(frozen=True, slots=True)
class LockStore:
    """Keeps locks on one lane."""

    lane: Lane

    async def acquire(
        self, tenant: str, lock_id: str, *, holder: str, job_id: JobId | None, ttl: timedelta
    ) -> Lock | None:
        found = await self.lane.fetch(
            "locks/acquire", tenant=tenant, id=lock_id, holder=holder, job_id=job_id, ttl=ttl
        )
        return schedule_rows.lock(found[0]) if found else None

    async def extend(self, tenant: str, lock_id: str, *, fence: int, ttl: timedelta) -> bool:
        return bool(await self.lane.fetch("locks/extend", tenant=tenant, id=lock_id, fence=fence, ttl=ttl))

    async def release(self, tenant: str, lock_id: str, *, fence: int | None) -> bool:
        return bool(await self.lane.fetch("locks/release", tenant=tenant, id=lock_id, fence=fence))

    async def break_lock(self, tenant: str, lock_id: str, *, actor: str, reason: str) -> bool:
        async with self.lane.transaction() as connection:
            found = await connection.fetch("locks/release", tenant=tenant, id=lock_id, fence=None)
            if found:
                line = audit.Line(
                    tenant=tenant, actor=actor, action="lock.broken", reason=reason, details={"lock": lock_id}
                )
                await audit.record(connection, [line])
            return bool(found)

    async def get(self, tenant: str, lock_id: str) -> Lock | None:
        found = await self.lane.fetch("locks/get", tenant=tenant, id=lock_id)
        return schedule_rows.lock(found[0]) if found else None

    async def all(self, *, tenant: str | None, limit: int) -> list[Lock]:
        return [
            schedule_rows.lock(row) for row in await self.lane.fetch("locks/all", tenant=tenant, limit=limit)
        ]
