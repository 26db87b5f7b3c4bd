"""The plans of the statements about limits, beside 100,000 jobs that wait for one key and thousands of other keys."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from plan_rows import RUNNING
from plans import BATCH, HOUR, MINUTE, PLACE, Hot, Tables, alike, cases
from test_plans import ONE_PAIR, claim_values

HOT: Hot = {
    "limits/candidates": ({"jobs_claim", PLACE}, 4 * BATCH),
    "limits/rivals": ({"jobs_claim"}, 2 * BATCH),
    "limits/lock": (set(), 0),
    "limits/lock_known": ({"limits_pkey"}, BATCH),
    "limits/usage": ({"limits_pkey", "permits_pkey", "jobs_pkey"}, 3 * BATCH),
    "limits/spend": ({"limits_pkey"}, BATCH),
    "limits/heads": ({"jobs_order"}, 2 * BATCH),
    "limits/lines": ({"jobs_pkey"}, BATCH),
    "limits/start": ({"jobs_pkey"}, 2 * BATCH),
    "limits/park": ({"jobs_pkey"}, 2 * BATCH),
    "limits/unpark": ({"jobs_parked", "jobs_pkey"}, 3 * BATCH),
    "limits/unpark_one": ({"jobs_pkey"}, 2 * BATCH),
    "limits/expect": ({"jobs_parked", "limits_pkey"}, 2 * BATCH),
    "limits/due": ({"limits_due"}, BATCH),
    "limits/next_due": ({"limits_due"}, 1),
    "limits/parked_keys": ({"jobs_parked"}, 2 * BATCH),
    "permits/take": (set(), 0),
    "permits/of_jobs": ({"permits_of_job"}, BATCH),
    # By the job or by the limit: there are no more permits than jobs that run.
    "permits/drop": (set(), RUNNING),
    # It looks at every permit and its job.
    "permits/drop_stale": ({"jobs_pkey"}, 2 * RUNNING),
    "jobs/look": ({"jobs_parked", "limits_due"}, 2 * RUNNING),
}
# Known to come in through all held jobs where the planner takes those for few.


def some_keys() -> list[str]:
    return [f"key customer:{number}" for number in range(1, BATCH + 1)]


async def values_for(tables: Tables, name: str) -> dict[str, Any]:
    """What the product would hand to the statement."""
    match name:
        case "limits/candidates" | "limits/rivals":
            return claim_values(ONE_PAIR)
        case "limits/lock_known":
            return {"limit_keys": some_keys()}
        case "limits/heads":
            lines = [f"account:{number}" for number in range(1, BATCH + 1)]
            return {"order_key": lines, **alike(yielding=False)}
        case "limits/start":
            policy = alike(max_attempts=4, timeout=HOUR, lease=MINUTE, at=datetime.now(UTC))
            ids = await tables.ids("available")
            return {"job_id": ids, **policy, "worker": "w1", "claim_id": uuid.uuid4()}
        case "limits/park":
            return {"job_id": await tables.ids("available"), **limit_values()}
        case "limits/unpark":
            return {"limit_key": ["key customer:1"], "room": [BATCH]}
        case "limits/unpark_one":
            return {"job_id": await tables.ids("held"), **alike(limit_key="key customer:1")}
        case "limits/lines" | "permits/of_jobs" | "permits/drop" | "permits/take":
            return {**await tables.claims(), "limit_key": some_keys()}
        case "limits/usage" | "limits/expect" | "limits/lock" | "limits/spend":
            return limit_values()
        case _:
            return {"after": "", "limit": BATCH, "overrun": MINUTE}


def limit_values() -> dict[str, Any]:
    soon = datetime.now(UTC) + timedelta(seconds=1)
    return {
        "limit_key": some_keys(),
        **alike(number=2, step=timedelta(), yielding=False, until=soon, due=soon, why="full", line=None),
    }


@cases(HOT)
async def test_a_statement_about_limits_looks_at_no_more_than_its_batch(
    tables: Tables, plan_cache_mode: str, name: str
) -> None:
    plan = await tables.explain(name, await values_for(tables, name), plan_cache_mode=plan_cache_mode)

    plan.assert_bounded(*HOT[name])
