"""The plans of statements about schedules on PostgreSQL: by index, however long the history is."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from plans import BATCH, DAY, MINUTE, Hot, Tables, alike, cases

ONE = uuid.UUID(int=7)
HISTORY = 20
"""More than any schedule has fired."""

HOT: Hot = {
    "schedules/look": ({"schedules_due", "fires_queued"}, 2),
    # At most all that are due.
    "schedules/due": ({"schedules_due"}, 3 * BATCH),
    "schedules/get": ({"schedules_name"}, 1),
    "schedules/lock": ({"schedules_pkey"}, 1),
    "schedules/count": ({"schedules_pkey"}, 1),
    "schedules/advance": (set(), 1),
    "fires/open": ({"fires_open"}, 1),
    "fires/close": ({"fires_open", "jobs_pkey"}, 3),
    # Of each schedule one fire waits, and there are no others that do.
    "fires/waiting": ({"fires_queued"}, 5 * BATCH),
    "fires/existing": ({"fires_pkey"}, HISTORY),
    "fires/let_go": (set(), HISTORY),
    "fires/record": (set(), 0),
    "fires/keep": ({"fires_job"}, 2 * BATCH),
    "fires/forget": ({"fires_age"}, BATCH),
    "fires/history": ({"schedules_name", "fires_pkey"}, 2 * HISTORY),
}


async def values_for(tables: Tables, name: str) -> dict[str, Any]:
    """What the product would hand to the statement."""
    now = datetime.now(UTC)
    match name:
        case "fires/record":
            return await fire_values(tables)
        case "fires/keep":
            return {"ids": await tables.ids("completed"), "finished_before": now}
        case "schedules/advance":
            return await advance_values(tables)
        case _:
            return {
                "tenant": "",
                "name": "s7",
                "id": ONE,
                "runs": 1,
                "schedule_id": ONE,
                "fire_time": now,
                "first": now - DAY,
                "last": now,
                "before": None,
                "keep": timedelta(days=400),
                "limit": 1 if name == "fires/open" else BATCH,
            }


async def fire_values(tables: Tables) -> dict[str, Any]:
    now = datetime.now(UTC)
    given = {
        "schedule_id": ONE,
        "reference_time": now,
        "trigger_source": "schedule",
        "status": "enqueued",
        "is_open": True,
        "reason": None,
        "missed": 0,
        "created_by": "scheduler",
    }
    return {
        "fire_time": [now + number * MINUTE for number in range(BATCH)],
        "job_id": await tables.ids("available"),
        **alike(**given),
    }


async def advance_values(tables: Tables) -> dict[str, Any]:
    due = await tables.driver.fetchrow(
        "SELECT id, next_fire_at FROM backstay.schedules WHERE is_active AND next_fire_at < now() LIMIT 1"
    )
    assert due is not None
    return {
        "id": due["id"],
        "due": due["next_fire_at"],
        "version": 1,
        "next_fire_at": datetime.now(UTC) + DAY,
        "last_fire_at": None,
        "missed": 0,
    }


@cases(HOT)
async def test_a_statement_about_schedules_looks_at_no_more_than_it_is_about(
    tables: Tables, plan_cache_mode: str, name: str
) -> None:
    plan = await tables.explain(name, await values_for(tables, name), plan_cache_mode=plan_cache_mode)

    plan.assert_bounded(*HOT[name])
