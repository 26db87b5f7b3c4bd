"""What PostgreSQL is asked for beside Redis: claims of named jobs, and what its lists are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from backstay.model.job import Claim
from backstay.model.records import Wanted
from backstay.model.suggestions import Snapshot, Suggestion
from backstay.stores import rows
from backstay.stores.claims import rows as claim_rows
from backstay.stores.claims.plain import asked_for
from backstay.stores.database.interface import Lane, Row


@dataclass(frozen=True, slots=True)
class DispatchStore:
    """Asks on one lane, of PostgreSQL only."""

    lane: Lane

    async def claim(
        self, wanted: Sequence[Wanted], ids: Sequence[UUID], *, worker: str, claim_id: UUID
    ) -> list[Claim]:
        """Claim those of the named jobs that can be, in order of turn."""
        found = await self.lane.fetch(
            "dispatch/claim_named", **asked_for(wanted), worker=worker, claim_id=claim_id, ids=list(ids)
        )
        return claim_rows.claims(found, wanted, worker)

    async def paused(self, ids: Sequence[UUID]) -> list[Suggestion]:
        """Those of the named jobs that wait in a paused queue, or are of a paused kind, in the order given."""
        return [_suggestion(row) for row in await self.lane.fetch("dispatch/paused", ids=list(ids))]

    async def waiting(self, limit: int) -> list[Suggestion]:
        """The jobs that are first in line."""
        return [_suggestion(row) for row in await self.lane.fetch("dispatch/waiting", limit=limit)]

    async def snapshot(self, limit: int) -> Snapshot:
        """What the lists hold when they are made anew."""
        later = await self.lane.fetch("dispatch/later", limit=limit)
        shown = await self.lane.fetch("dispatch/in_state", limit=limit)
        return Snapshot(
            waiting=await self.waiting(limit),
            later=[_suggestion(row, is_later=True) for row in later],
            running=[rows.job_id(row["id"]) for row in shown if row["state"] == "running"],
            dead=[rows.job_id(row["id"]) for row in shown if row["state"] == "dead"],
        )


def _suggestion(row: Row, *, is_later: bool = False) -> Suggestion:
    return Suggestion(
        id=rows.job_id(row["id"]),
        queue=row["queue"],
        kind=row["kind"],
        rank=row["priority"],
        tenant=row["tenant"] or "",
        due_at=rows.moment(row["run_at"]) if is_later else None,
    )
