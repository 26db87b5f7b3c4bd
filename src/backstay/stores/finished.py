"""Jobs that were kept long enough: finding and removing them, for retention and for the archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from backstay.model.job import JobId
from backstay.model.states import State
from backstay.stores import rows
from backstay.stores.contract.archive import Ended
from backstay.stores.database.interface import Lane, Row

_TIMESTAMP_BITS = 80


async def find(lane: Lane, keep: Mapping[State, timedelta], *, after: UUID, limit: int) -> Ended:
    """Look at the next jobs by age; `keep` names at least one state."""
    async with lane.transaction() as connection:
        now = (await connection.fetch("jobs/next_due"))[0]["now"]
        found = await connection.fetch("jobs/by_age", after=JobId(after), limit=limit)
    cutoffs = {state.value: rows.moment(now) - length for state, length in keep.items()}
    last = max(cutoffs.values())
    created_before = UUID(int=int(last.timestamp() * 1000) << _TIMESTAMP_BITS)
    old = [row for row in found if rows.job_id(row["id"]) < created_before]
    ended = tuple(rows.job_id(row["id"]) for row in old if _ended_before(row, cutoffs.get(row["state"])))
    return Ended(ended, last, rows.job_id(old[-1]["id"]) if len(old) == limit else None)


async def remove(lane: Lane, ids: Sequence[UUID], *, finished_before: datetime) -> int:
    """Remove those that nobody uses at this moment; returns how many."""
    async with lane.transaction() as connection:
        free = [row["id"] for row in await connection.fetch("jobs/lock_finished", ids=ids)]
        # Whatever was brought back meanwhile has no end, or one that is younger than any of these.
        await connection.fetch("fires/keep", ids=free, finished_before=finished_before)
        return len(await connection.fetch("jobs/delete_finished", ids=free, finished_before=finished_before))


def _ended_before(row: Row, cutoff: datetime | None) -> bool:
    finished_at = rows.maybe_moment(row["finished_at"])
    return cutoff is not None and finished_at is not None and finished_at < cutoff
