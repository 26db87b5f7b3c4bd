"""What keeps the tables in order, once for both databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from windlass.fingerprints import fingerprint
from windlass.job import JobId
from windlass.states import State
from windlass.stores import audit, rows
from windlass.stores.aftermath import Aftermath
from windlass.stores.database import Lane, Row

_TIMESTAMP_BITS = 80


@dataclass(frozen=True, slots=True)
class UpkeepStore:
    """Promotes, expires and removes jobs on one lane."""

    lane: Lane
    after: Aftermath

    async def promote(self, *, limit: int) -> list[str]:
        return [row["queue"] for row in await self.lane.fetch("jobs/promote", limit=limit)]

    async def next_due(self) -> timedelta | None:
        return rows.due_in((await self.lane.fetch("jobs/next_due"))[0])

    async def expire(self, *, limit: int) -> int:
        async with self.lane.transaction() as connection:
            was = _states(await connection.fetch("jobs/unstarted", limit=limit))
            found = await connection.fetch_each("jobs/expire", [{"job_id": job_id} for job_id in was])
            lines = [_line(row, was, "job.expired", State.CANCELLED) for row in found]
            await audit.record(connection, lines)
        await self.after.of_waiting([rows.job_id(row["id"]) for row in found])
        return len(found)

    async def miss_deadlines(self, *, limit: int) -> int:
        async with self.lane.transaction() as connection:
            was = _states(await connection.fetch("jobs/late", limit=limit))
            found = await connection.fetch_each("jobs/miss_deadline", [{"job_id": job_id} for job_id in was])
            letters = [
                {
                    "job_id": row["id"],
                    "epoch": row["lease_epoch"],
                    "cause": fingerprint(row["kind"], "deadline", None),
                }
                for row in found
            ]
            await connection.fetch_each("dead_letters/record", letters)
            lines = [_line(row, was, "job.missed_deadline", State.DEAD) for row in found]
            await audit.record(connection, lines)
        await self.after.of_waiting([rows.job_id(row["id"]) for row in found])
        return len(found)

    async def delete_finished(
        self, keep: Mapping[State, timedelta], *, after: UUID, limit: int
    ) -> UUID | None:
        if not keep:
            return None
        async with self.lane.transaction() as connection:
            now = (await connection.fetch("jobs/next_due"))[0]["now"]
            found = await connection.fetch("jobs/by_age", after=JobId(after), limit=limit)
        cutoffs = {state.value: rows.moment(now) - length for state, length in keep.items()}
        last = max(cutoffs.values())
        created_before = UUID(int=int(last.timestamp() * 1000) << _TIMESTAMP_BITS)
        old = [row for row in found if rows.job_id(row["id"]) < created_before]
        ended = [row["id"] for row in old if _ended_before(row, cutoffs.get(row["state"]))]
        if ended:
            async with self.lane.transaction() as connection:
                free = await connection.fetch("jobs/lock_finished", ids=ended)
                ids = [row["id"] for row in free]
                # Whatever was brought back meanwhile has no end, or one that is younger than any of these.
                await connection.fetch("fires/keep", ids=ids, finished_before=last)
                await connection.fetch("jobs/delete_finished", ids=ids, finished_before=last)
        return rows.job_id(old[-1]["id"]) if len(old) == limit else None

    async def forget_keys(self) -> None:
        async with self.lane.transaction() as connection:
            # In the order in which storing a job takes them, so that the two cannot wait for each other.
            await connection.fetch("keys/forget_debounces")
            await connection.fetch("keys/forget")
            await connection.fetch("keys/forget_windows")
            await connection.fetch("flows/forget")

    async def forget_unused(self, *, fires: timedelta, locks: timedelta, workers: timedelta) -> None:
        async with self.lane.transaction() as connection:
            await connection.fetch("fires/forget", keep=fires)
            await connection.fetch("workers/forget", silence=workers)
            # Last what somebody may want to use again at this moment, and has to wait for.
            await connection.fetch("locks/forget", keep=locks)
            await connection.fetch("limits/forget")


def _ended_before(row: Row, cutoff: datetime | None) -> bool:
    finished_at = rows.maybe_moment(row["finished_at"])
    return cutoff is not None and finished_at is not None and finished_at < cutoff


def _states(found: Sequence[Row]) -> dict[JobId, str]:
    return {rows.job_id(row["id"]): row["state"] for row in found}


def _line(row: Row, was: Mapping[JobId, str], action: str, to_state: State) -> audit.Line:
    job_id = rows.job_id(row["id"])
    return audit.Line(
        tenant=row["tenant"],
        actor="maintenance",
        action=action,
        job_id=job_id,
        from_state=was[job_id],
        to_state=to_state.value,
        reason=action.removeprefix("job."),
    )
