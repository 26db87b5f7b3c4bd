"""The claim of jobs without limits: one statement, `jobs/claim.sql`, or `jobs/claim_pair.sql` for one pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from backstay.model.job import Claim
from backstay.model.records import Wanted
from backstay.stores.claims import rows as claim_rows
from backstay.stores.database.interface import Connection, Lane

ALWAYS = datetime(1, 1, 1, tzinfo=UTC)
"""Earlier than the turn of any job."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a worker asks for."""

    worker: str
    claim_id: UUID
    suspects: int
    since: datetime = ALWAYS


async def claim_plain(
    on: Lane | Connection, wanted: Sequence[Wanted], asked: Asked, *, limit: int
) -> list[Claim]:
    """Up to `limit` jobs of pairs without limits, in one statement."""
    return await _claim(on, wanted, asked, limit=limit) if wanted and limit > 0 else []


async def claim_suspects(on: Lane | Connection, wanted: Sequence[Wanted], asked: Asked) -> list[Claim]:
    """Only jobs that may kill their worker, at most as many as asked for: a claim has them beside its limit."""
    return await _claim(on, wanted, asked, limit=0) if wanted and asked.suspects else []


async def _claim(on: Lane | Connection, wanted: Sequence[Wanted], asked: Asked, *, limit: int) -> list[Claim]:
    by = {"worker": asked.worker, "claim_id": asked.claim_id, "limit": limit, "since": asked.since}
    if len(wanted) == 1 and not asked.suspects:
        found = await on.fetch("jobs/claim_pair", **_pair(wanted[0]), **by)
    else:
        found = await on.fetch("jobs/claim", **asked_for(wanted), suspects=asked.suspects, **by)
    return claim_rows.claims(found, wanted, asked.worker)


def _pair(pair: Wanted) -> dict[str, Any]:
    return {
        "queue": pair.queue,
        "kind": pair.kind,
        "lease": pair.lease,
        "timeout": pair.timeout,
        "max_attempts": pair.max_attempts,
    }


def asked_for(wanted: Sequence[Wanted]) -> dict[str, list[Any]]:
    """The pairs as the part `wanted` of a statement takes them."""
    return {
        "queues": [pair.queue for pair in wanted],
        "kinds": [pair.kind for pair in wanted],
        "leases": [pair.lease for pair in wanted],
        "timeouts": [pair.timeout for pair in wanted],
        "max_attempts": [pair.max_attempts for pair in wanted],
    }
