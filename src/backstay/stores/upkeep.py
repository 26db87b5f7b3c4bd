"""What keeps the tables in order, once for both databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from backstay.model.fingerprints import fingerprint
from backstay.model.job import JobId
from backstay.model.states import State
from backstay.stores import audit, finished, misfits, rows
from backstay.stores.database.interface import Lane, Row
from backstay.stores.job_ended import AfterEnd
from backstay.stores.reactions import react


@dataclass(frozen=True, slots=True)
class UpkeepStore:
    """Promotes, expires and removes jobs on one lane."""

    lane: Lane
    after: AfterEnd

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
            queues = await react(connection, found)
        await self.after.follow_waiting([rows.job_id(row["id"]) for row in found])
        self.after.hint(queues)
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
            queues = await react(connection, found)
        await self.after.follow_waiting([rows.job_id(row["id"]) for row in found])
        self.after.hint(queues)
        return len(found)

    async def tend_misfits(self, *, limit: int) -> list[str]:
        async with self.lane.transaction() as connection:
            released, dead, queues = await misfits.go_on(connection, limit=limit)
        await self.after.follow_waiting([rows.job_id(row["id"]) for row in dead])
        self.after.hint(queues)
        return released

    async def delete_finished(
        self, keep: Mapping[State, timedelta], *, after: UUID, limit: int
    ) -> UUID | None:
        if not keep:
            return None
        found = await finished.find(self.lane, keep, after=after, limit=limit)
        if found.ids:
            await finished.remove(self.lane, found.ids, finished_before=found.finished_before)
        return found.go_on

    async def forget_letters(self, *, keep: timedelta) -> None:
        await self.lane.fetch("dead_letters/forget", keep=keep)

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
            await connection.fetch("workers/forget_signatures")
            # Last what somebody may want to use again at this moment, and has to wait for.
            await connection.fetch("locks/forget", keep=locks)
            await connection.fetch("limits/forget")


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
