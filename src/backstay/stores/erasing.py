"""Removing jobs of a person or a tenant for good, once for both databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backstay.model.job import JobId
from backstay.stores import audit
from backstay.stores.contract.erasing import Erasure
from backstay.stores.database.interface import Lane


@dataclass(frozen=True, slots=True)
class ErasingStore:
    """Removes on one lane."""

    lane: Lane

    async def remove(self, job_ids: Sequence[JobId], erasure: Erasure) -> tuple[int, int]:
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
            await audit.record(connection, [_line(erasure, jobs=len(gone), letters=len(letters))])
            return len(gone), len(letters)

    async def remove_left(
        self, erasure: Erasure, *, tenant: str | None, kind: str | None, field: str | None, value: str | None
    ) -> int:
        async with self.lane.transaction() as connection:
            letters = await connection.fetch(
                "erasing/remove_left", tenant=tenant, kind=kind, field=field, value=value
            )
            if letters:
                await audit.record(connection, [_line(erasure, jobs=0, letters=len(letters))])
            return len(letters)

    async def note(self, erasure: Erasure, **counts: int) -> None:
        await audit.record(self.lane, [_line(erasure, **counts)])


def _line(erasure: Erasure, **counts: int) -> audit.Line:
    return audit.Line(
        tenant=erasure.tenant,
        actor=erasure.actor,
        action="jobs.erased",
        reason=erasure.reason,
        details={"filter": dict(erasure.filter), **counts},
    )
