"""The plans of what PostgreSQL is asked beside Redis."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from plans import BATCH, MINUTE, Hot, Tables, cases

HOT: Hot = {
    "dispatch/claim_named": (set(), 3 * BATCH),
    "dispatch/paused": (set(), 2 * BATCH),
    # Each of two dozen lines has more waiting than are looked at.
    "dispatch/waiting": ({"jobs_claim"}, 25 * BATCH),
    "dispatch/later": ({"jobs_due"}, BATCH),
    "dispatch/in_state": ({"jobs_dead"}, 2 * BATCH),
}


async def values_for(tables: Tables) -> dict[str, Any]:
    return {
        "queues": ["default"],
        "kinds": ["report"],
        "leases": [MINUTE],
        "timeouts": [MINUTE],
        "max_attempts": [4],
        "worker": "w1",
        "claim_id": UUID(int=1),
        "ids": await tables.ids("available"),
        "limit": BATCH,
    }


@cases(HOT)
async def test_what_goes_beside_redis_comes_in_by_an_index(
    tables: Tables, plan_cache_mode: str, name: str
) -> None:
    plan = await tables.explain(name, await values_for(tables), plan_cache_mode=plan_cache_mode)

    plan.assert_bounded(*HOT[name])
