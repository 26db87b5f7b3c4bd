"""Limits: letting jobs go on when there is room again, and what is known of each limit, once for both databases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backstay.model.job import Claim
from backstay.model.limits.admission import LimitRecord, PermitHolder, Usage, next_token, room_under, spend
from backstay.model.limits.declared import NO_TIME, ORDER
from backstay.stores import rows
from backstay.stores.claims.limited import permit_rows, usage_of
from backstay.stores.database.interface import Connection, Lane, Row

SHARED = ("all", "queue ", "kind ")
MOST_AT_ONCE = 200
MOST_TOKENS = 1000


@dataclass(frozen=True, slots=True)
class LimitStore:
    """Frees and shows limits on one lane."""

    lane: Lane

    async def let_go(self, claims: Sequence[Claim]) -> frozenset[str]:
        return await let_go(self.lane, claims)

    async def release(self, keys: Iterable[str]) -> frozenset[str]:
        return await release(self.lane, keys)

    async def release_due(self, *, limit: int) -> tuple[bool, frozenset[str]]:
        found = await self.lane.fetch("limits/due", limit=limit)
        keys = [row["key"] for row in found]
        return bool(keys), await release(self.lane, keys)

    async def next_due(self) -> timedelta | None:
        row = (await self.lane.fetch("limits/next_due"))[0]
        due = rows.maybe_moment(row["next_at"])
        return None if due is None else max(due - rows.moment(row["now"]), NO_TIME)

    async def repair(self, after: str, *, limit: int) -> tuple[str | None, frozenset[str]]:
        stale = {row["limit_key"] for row in await self.lane.fetch("permits/drop_stale")}
        parked = [row["key"] for row in await self.lane.fetch("limits/parked_keys", after=after, limit=limit)]
        queues = await release(self.lane, {*parked, *stale})
        return parked[-1] if len(parked) == limit else None, queues

    async def rooms(self, keys: Iterable[str]) -> dict[str, int]:
        found = await self.lane.fetch_each("limits/usage", [{"limit_key": key} for key in keys])
        return {row["key"]: _room(row) for row in found}

    async def all(self, *, limit: int, most: int) -> list[LimitRecord]:
        found = await self.lane.fetch("limits/all", limit=limit, most=most)
        return [_record(row, is_capped=row["waiting"] >= most) for row in found]

    async def holders(self, key: str, *, limit: int) -> list[PermitHolder]:
        return [
            PermitHolder(rows.job_id(row["id"]), row["kind"], row["worker"], rows.moment(row["started_at"]))
            for row in await self.lane.fetch("permits/holders", limit_key=key, limit=limit)
        ]


async def let_go(lane: Lane, claims: Sequence[Claim]) -> frozenset[str]:
    """Give the permits of ended claims back and let who waits for them go on; returns the queues to look into.

    After the settlement's commit and with the limit locked: a claim that puts a job aside at this moment has either
    seen the settlement, or is seen here.
    """
    limited = [claim for claim in claims if claim.limits]
    if not limited:
        return frozenset()
    await lane.fetch_each("permits/drop", permit_rows(limited))
    keys = {key for claim in limited for key in claim.limits}
    queues = {claim.queue for claim in limited if any(key.startswith(SHARED) for key in claim.limits)}
    if "all" in keys:
        queues.add("*")
    return frozenset(queues) | await release(lane, [key for key in keys if not key.startswith(SHARED)])


async def release(lane: Lane, keys: Iterable[str]) -> frozenset[str]:
    """Let as many jobs go on as these limits have room for; returns their queues."""
    ordered, queues = sorted(set(keys)), set[str]()
    for first in range(0, len(ordered), MOST_AT_ONCE):
        async with lane.transaction() as connection:
            queues |= await _release(connection, ordered[first : first + MOST_AT_ONCE])
    return frozenset(queues)


async def _release(connection: Connection, keys: Sequence[str]) -> set[str]:
    await connection.fetch("limits/lock_known", limit_keys=list(keys))
    found = await connection.fetch_each("limits/usage", [{"limit_key": key} for key in keys])
    free = [(row, room) for row in found if (room := _room(row))]
    in_order = [row for row, _ in free if row["key"].startswith(ORDER)]
    others = [
        {"limit_key": row["key"], "room": room} for row, room in free if not row["key"].startswith(ORDER)
    ]
    freed = [
        *await connection.fetch_each("limits/unpark", others),
        *await _next_in_order(connection, in_order),
    ]
    rates = [row for row in found if rows.span(row["every"]) > NO_TIME]
    await connection.fetch_each(
        "limits/expect", [{"limit_key": row["key"], "due": _due(row, _room(row))} for row in rates]
    )
    return {row["queue"] for row in freed}


async def _next_in_order(connection: Connection, free: Sequence[Row]) -> Sequence[Row]:
    asked = [{"order_key": row["key"].removeprefix(ORDER), "yielding": bool(row["yields"])} for row in free]
    heads = await connection.fetch_each("limits/heads", asked)
    return await connection.fetch_each(
        "limits/unpark_one",
        [
            {"job_id": row["id"], "limit_key": ORDER + row["order_key"]}
            for row in heads
            if row["id"] is not None
        ],
    )


def _room(row: Row) -> int:
    return min(
        room_under(row["most"], rows.span(row["every"]), usage_of(row), rows.moment(row["at"])), MOST_TOKENS
    )


def _due(row: Row, released: int) -> datetime:
    """When a token comes for the next job after those that were just let go on."""
    every, at, spent = rows.span(row["every"]), rows.moment(row["at"]), rows.moment(row["spent_until"])
    for _ in range(released):
        spent = spend(every, spent, at, most=row["most"])
    return at + max(next_token(row["most"], every, spent, at), timedelta(milliseconds=1))


def _record(row: Row, *, is_capped: bool) -> LimitRecord:
    every, at = rows.span(row["every"]), rows.moment(row["at"])
    usage: Usage = usage_of(row)
    return LimitRecord(
        key=row["key"],
        most=row["most"],
        every=every if every > NO_TIME else None,
        in_use=row["in_use"],
        tokens=room_under(row["most"], every, usage, at) if every > NO_TIME else None,
        waiting=row["waiting"],
        next_at=rows.maybe_moment(row["next_at"]),
        is_capped=is_capped,
    )
