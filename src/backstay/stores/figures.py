"""Figures over time, once for both databases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backstay.model.figures import KEPT, Depth, Measure, Period, Tallied, TalliedAt, TenantDepths
from backstay.stores import rows
from backstay.stores.database.interface import Lane, Row


@dataclass(frozen=True, slots=True)
class FigureStore:
    """Counts attempts on one lane."""

    lane: Lane

    async def add(self, tallied: Sequence[Tallied]) -> None:
        # One row a key, because a statement changes no row twice; in one order, so that two workers that add at the
        # same moment cannot wait for each other.
        sums: defaultdict[tuple[str, str, str, int], list[int]] = defaultdict(lambda: [0, 0])
        for one in tallied:
            kept = sums[one.queue, one.kind, one.measure.value, one.bucket]
            kept[0] += one.jobs
            kept[1] += one.took_ms
        await self.lane.fetch_each(
            "figures/add",
            [
                {
                    "period": period.value,
                    "queue": queue,
                    "kind": kind,
                    "measure": measure,
                    "bucket": bucket,
                    "jobs": jobs,
                    "took_ms": took_ms,
                }
                for period in KEPT
                for (queue, kind, measure, bucket), (jobs, took_ms) in sorted(sums.items())
            ],
        )

    async def read(
        self,
        period: Period,
        *,
        since: datetime,
        until: datetime,
        queue: str | None,
        kind: str | None,
        limit: int,
    ) -> list[TalliedAt]:
        found = await self.lane.fetch(
            "figures/read", period=period.value, since=since, until=until, queue=queue, kind=kind, limit=limit
        )
        return [_tallied(row) for row in found]

    async def depths(self, *, most: int, tenant: str | None = None) -> list[Depth]:
        if tenant is None:
            found = await self.lane.fetch("figures/depths", most=most)
        else:
            found = await self.lane.fetch("figures/tenant_depths", most=most, tenant=tenant)
        return [_depth(row) for row in found]

    async def by_tenant(self, *, most: int, limit: int) -> list[TenantDepths]:
        found = await self.lane.fetch("figures/by_tenant", most=most, limit=limit)
        return [_tenant_depths(row, most) for row in found]

    async def count(self, name: str, number: int) -> int:
        return int((await self.lane.fetch("figures/count", name=name, number=number))[0]["total"])

    async def counters(self) -> dict[str, int]:
        return {row["name"]: row["total"] for row in await self.lane.fetch("figures/counters")}

    async def forget(self, *, minutes: timedelta, hours: timedelta) -> None:
        await self.lane.fetch("figures/forget", minutes=minutes, hours=hours)


def _depth(row: Row) -> Depth:
    return Depth(row["state"], row["queue"], row["kind"], row["jobs"], is_capped=bool(row["is_capped"]))


def _tenant_depths(row: Row, most: int) -> TenantDepths:
    counts = {state: int(row[state]) for state in ("available", "scheduled", "held", "running")}
    return TenantDepths(tenant=row["tenant"], **counts, is_capped=max(counts.values()) >= most)


def _tallied(row: Row) -> TalliedAt:
    tallied = Tallied(
        queue=row["queue"],
        kind=row["kind"],
        measure=Measure(row["measure"]),
        bucket=row["bucket"],
        jobs=row["jobs"],
        took_ms=row["took_ms"],
    )
    return TalliedAt(rows.moment(row["at"]), tallied)
