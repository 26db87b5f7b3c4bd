"""How many jobs of a tenant may wait, once for both databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from backstay.errors import QuotaExceeded, StoreBusy
from backstay.model.job import NewJob
from backstay.model.pauses import Quota
from backstay.stores import audit, rows
from backstay.stores.database.interface import Connection, Lane, Row


@dataclass(frozen=True, slots=True)
class QuotaStore:
    """Keeps quotas on one lane; they are held to where jobs are stored."""

    lane: Lane

    async def set(self, *, tenant: str | None, queue: str | None, most: int, actor: str, reason: str) -> None:
        async with self.lane.transaction() as connection:
            before = await _most(connection, tenant, queue)
            await connection.fetch(
                "quotas/set", tenant=tenant or "", queue=queue or "", most=most, by=actor, reason=reason
            )
            line = _line("quota.set", tenant, queue, actor=actor, reason=reason, before=before, after=most)
            await audit.record(connection, [line])

    async def remove(self, *, tenant: str | None, queue: str | None, actor: str) -> bool:
        async with self.lane.transaction() as connection:
            before = await _most(connection, tenant, queue)
            removed = bool(await connection.fetch("quotas/remove", tenant=tenant or "", queue=queue or ""))
            if removed:
                line = _line(
                    "quota.removed", tenant, queue, actor=actor, reason=None, before=before, after=None
                )
                await audit.record(connection, [line])
            return removed

    async def all(self) -> list[Quota]:
        return [_quota(row) for row in await self.lane.fetch("quotas/all")]


def groups(jobs: Sequence[NewJob]) -> list[dict[str, object]]:
    """How many of these jobs each tenant would have in each queue."""
    counts = Counter((job.tenant, job.queue) for job in jobs if job.tenant)
    return [
        {"tenant": tenant, "queue": queue, "number": number}
        for (tenant, queue), number in sorted(counts.items())
    ]


async def refuse_crowded(connection: Connection, jobs: Sequence[NewJob], stored: Sequence[Row]) -> None:
    """Raise QuotaExceeded where jobs were not stored because too many wait already.

    Those that are there from an earlier sending are not meant.
    """
    kept = {rows.job_id(row["id"]) for row in stored}
    missing = [job for job in jobs if job.tenant and job.id not in kept]
    if not missing:
        return
    there = await connection.fetch_each("jobs/states", [{"job_id": job.id} for job in missing])
    known = {rows.job_id(row["id"]) for row in there}
    refused = [job for job in missing if job.id not in known and job.unique_key is None]
    if refused:
        raise exceeded(await connection.fetch_each("quotas/crowded", groups(jobs)))


def exceeded(crowded: Sequence[Row]) -> QuotaExceeded | StoreBusy:
    """What to tell the caller who wanted to store the jobs."""
    if not crowded:
        return StoreBusy(
            "a tenant's quota was reached while the jobs were stored, and is free again: try again"
        )
    first = crowded[0]
    return QuotaExceeded(first["tenant"], queue=first["queue"] or None, most=first["most"])


def _quota(row: Row) -> Quota:
    return Quota(
        tenant=row["tenant"] or None,
        queue=row["queue"] or None,
        most=row["most"],
        set_at=rows.moment(row["set_at"]),
        set_by=row["set_by"],
        reason=row["reason"],
    )


def _line(
    action: str,
    tenant: str | None,
    queue: str | None,
    *,
    actor: str,
    reason: str | None,
    before: int | None,
    after: int | None,
) -> audit.Line:
    details = {"queue": queue, "before": before, "after": after}
    return audit.Line(tenant=tenant or "", actor=actor, action=action, reason=reason, details=details)


async def _most(connection: Connection, tenant: str | None, queue: str | None) -> int | None:
    """How many jobs may wait by now; None without a quota."""
    kept = [_quota(row) for row in await connection.fetch("quotas/all")]
    return next((one.most for one in kept if (one.tenant, one.queue) == (tenant, queue)), None)
