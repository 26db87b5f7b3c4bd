"""The claims of the contract, by the functions that programs in other languages call."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from backstay.model.job import Claim, JobId
from backstay.model.records import Renewed, Settled, Wanted
from backstay.model.settlement import Settlement
from backstay.stores.contract import Claims

READ = (
    "SELECT run, crashes, is_suspect, policy::text, created_by, tags::text, metadata::text, turn, started_at, run_at,"
    " own_timeout, own_lease FROM backstay.jobs WHERE id = $1"
)
DECLARE = (
    "INSERT INTO backstay.kinds (kind, queue, policy, fingerprint, updated_at)"
    " VALUES ($1, $2, $3::text::jsonb, 'sql', now())"
    " ON CONFLICT (kind) DO UPDATE SET queue = excluded.queue, policy = excluded.policy"
)
ROUTE = "INSERT INTO backstay.routes (queue, kind) VALUES ($2, $1) ON CONFLICT DO NOTHING"
"""What an application does that declares a kind, and sends jobs of it to another queue."""


@dataclass(frozen=True)
class SqlClaims:
    """Claims, renews and ends jobs by SQL functions; whatever only the engine does is asked of the engine's store."""

    engine: Claims
    connection: asyncpg.Connection[Any]
    clock: Callable[[], datetime]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    async def claim(
        self,
        wanted: Sequence[Wanted],
        *,
        worker: str,
        claim_id: UUID,
        limit: int,
        suspects: int,
        since: datetime | None = None,
    ) -> list[Claim]:
        for pair in wanted:
            await self.connection.execute(DECLARE, pair.kind, pair.queue, _policy(pair))
            await self.connection.execute(ROUTE, pair.kind, pair.queue)
        kinds, queues = [pair.kind for pair in wanted], [pair.queue for pair in wanted]
        try:
            rows = await self.connection.fetch(
                "SELECT * FROM backstay.claim($1, $2, $3, $4, $5)", worker, kinds, queues, limit, self.clock()
            )
        except asyncpg.ObjectNotInPrerequisiteStateError:
            # Where the engine's worker gets nothing, another program is told why.
            return []
        return [await self._claim(row, wanted, worker) for row in rows]

    async def _claim(self, row: Any, wanted: Sequence[Wanted], worker: str) -> Claim:
        more = await self.connection.fetchrow(READ, row["id"])
        assert more is not None
        pair = next(one for one in wanted if (one.kind, one.queue) == (row["kind"], row["queue"]))
        return Claim(
            id=JobId(row["id"]),
            epoch=row["epoch"],
            kind=row["kind"],
            queue=row["queue"],
            args=row["args"],
            attempt=row["attempt"],
            max_attempts=row["max_attempts"],
            run=more["run"],
            crashes=more["crashes"],
            is_suspect=more["is_suspect"],
            timeout=more["own_timeout"] or pair.timeout,
            lease=more["own_lease"] or pair.lease,
            tenant=row["tenant"],
            policy=more["policy"],
            correlation_id=row["correlation_id"],
            deadline=row["deadline"],
            worker=worker,
            created_by=more["created_by"],
            tags=more["tags"],
            metadata=more["metadata"],
        )

    async def renew(self, claims: Sequence[Claim]) -> Renewed:
        held, lost, cancel = set(), set(), {}
        for claim in claims:
            row = await self.connection.fetchrow(
                "SELECT * FROM backstay.renew($1, $2, $3)", claim.id, claim.epoch, self.clock()
            )
            assert row is not None
            (held if row["held"] else lost).add(claim.id)
            if row["cancel_requested"]:
                cancel[claim.id] = row["cancel_reason"]
        return Renewed(frozenset(held), frozenset(lost), cancel=cancel)

    async def complete(
        self, finished: Sequence[tuple[Claim, str | None]], *, reacts: bool = False, skip_locked: bool = False
    ) -> Settled:
        done, lost = set(), set()
        for claim, result in finished:
            was = await self.connection.fetchval(
                "SELECT backstay.complete($1, $2, $3::text::json, $4)",
                claim.id,
                claim.epoch,
                result,
                self.clock(),
            )
            (done if was else lost).add(claim.id)
        return Settled(frozenset(done), frozenset(lost))

    async def settle(
        self, settlements: Sequence[tuple[Claim, Settlement]], *, skip_locked: bool = False
    ) -> Settled:
        """Report the end, which ends the caller's claim; then maintenance writes what it has decided."""
        reported, lost = [], set()
        for claim, settlement in settlements:
            outcome = json.dumps({"type": "failed", "message": "it ended"})
            was = await self.connection.fetchval(
                "SELECT backstay.report($1, $2, $3::text::json, $4)",
                claim.id,
                claim.epoch,
                outcome,
                self.clock(),
            )
            if was:
                reported.append((claim._replace(epoch=claim.epoch + 2), settlement))
            else:
                lost.add(claim.id)
        written = await self.engine.settle(reported)
        return Settled(
            written.done, written.lost | frozenset(lost), written.locked, written.awaited, written.freed
        )


def _policy(pair: Wanted) -> str:
    return json.dumps(
        {
            "lease_seconds": pair.lease / timedelta(seconds=1),
            "timeout_seconds": pair.timeout / timedelta(seconds=1),
            "max_attempts": pair.max_attempts,
        }
    )
