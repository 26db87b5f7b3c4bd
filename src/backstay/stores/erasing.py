"""Removing jobs of a person or a tenant for good, once for both databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backstay.model.job import JobId
from backstay.stores import audit
from backstay.stores.database.interface import Lane


@dataclass(frozen=True, slots=True)
class ErasingStore:
    """Removes on one lane."""

    lane: Lane

    async def remove(self, job_ids: Sequence[JobId]) -> tuple[int, int]:
        async with self.lane.transaction() as connection:
            free = await connection.fetch("jobs/lock_finished", ids=sorted(job_ids))
            gone = await connection.fetch("erasing/remove", ids=[row["id"] for row in free])
            if not gone:
                return 0, 0
            keys = [
                {"tenant": row["tenant"], "key": row["idempotency_key"], "job_id": row["id"]}
                for row in gone
                if row["idempotency_key"] is not None
            ]
            await connection.fetch_each("erasing/remove_keys", keys)
            letters = await connection.fetch("erasing/remove_letters", ids=[row["id"] for row in gone])
            return len(gone), len(letters)

    async def remove_left(
        self, *, tenant: str | None, kind: str | None, field: str | None, value: str | None
    ) -> int:
        return len(
            await self.lane.fetch("erasing/remove_left", tenant=tenant, kind=kind, field=field, value=value)
        )

    async def note(self, *, tenant: str, actor: str, reason: str, details: Mapping[str, Any]) -> None:
        line = audit.Line(
            tenant=tenant, actor=actor, action="jobs.erased", reason=reason, details=dict(details)
        )
        await audit.record(self.lane, [line])
