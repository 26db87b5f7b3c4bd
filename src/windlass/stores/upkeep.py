"""What keeps the tables in order, once for both databases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from windlass.fingerprints import fingerprint
from windlass.job import JobId
from windlass.states import State
from windlass.stores import audit, rows
from windlass.stores.database import Lane, Row

_TIMESTAMP_BITS = 80


@dataclass(frozen=True, slots=True)
class UpkeepStore:
    """Promotes, expires and removes jobs on one lane."""

    lane: Lane

    async def promote(self, *, limit: int) -> list[str]:
        return [row["queue"] for row in await self.lane.fetch("jobs/promote", limit=limit)]

    async def next_due(self) -> timedelta | None:
        row = (await self.lane.fetch("jobs/next_due"))[0]
        due = rows.maybe_moment(row["next_run_at"])
        return None if due is None else max(due - rows.moment(row["now"]), timedelta(0))

    async def expire(self, *, limit: int) -> int:
        async with self.lane.transaction() as connection:
            found = await connection.fetch("jobs/expire", limit=limit)
            lines = [_line(row, "job.expired", State.CANCELLED) for row in found]
            await audit.record(connection, lines)
            return len(found)

    async def miss_deadlines(self, *, limit: int) -> int:
        async with self.lane.transaction() as connection:
            found = await connection.fetch("jobs/miss_deadline", limit=limit)
            letters = [
                {
                    "job_id": row["id"],
                    "epoch": row["lease_epoch"],
                    "cause": fingerprint(row["kind"], "deadline", None),
                }
                for row in found
            ]
            await connection.fetch_each("dead_letters/record", letters)
            await audit.record(connection, [_line(row, "job.missed_deadline", State.DEAD) for row in found])
            return len(found)

    async def delete_finished(
        self, state: State, *, older_than: timedelta, after: UUID, limit: int
    ) -> UUID | None:
        now = (await self.lane.fetch("jobs/next_due"))[0]["now"]
        cutoff = rows.moment(now) - older_than
        created_before = UUID(int=int(cutoff.timestamp() * 1000) << _TIMESTAMP_BITS)
        found = await self.lane.fetch("jobs/by_age", after=JobId(after), limit=limit)
        old = [row for row in found if rows.job_id(row["id"]) < created_before]
        ended = [row["id"] for row in old if row["state"] == state and _ended_before(row, cutoff)]
        if ended:
            await self.lane.fetch("jobs/delete_finished", ids=ended, finished_before=cutoff)
        return rows.job_id(old[-1]["id"]) if len(old) == limit else None

    async def forget_keys(self) -> None:
        await self.lane.fetch("keys/forget")
        await self.lane.fetch("keys/forget_windows")


def _ended_before(row: Row, cutoff: datetime) -> bool:
    finished_at = rows.maybe_moment(row["finished_at"])
    return finished_at is not None and finished_at < cutoff


def _line(row: Row, action: str, to_state: State) -> audit.Line:
    return audit.Line(
        tenant=row["tenant"],
        actor="maintenance",
        action=action,
        job_id=rows.job_id(row["id"]),
        to_state=to_state.value,
        reason=action.removeprefix("job."),
    )
