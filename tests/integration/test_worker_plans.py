"""The plans of what workers and their handlers ask besides claiming and settling."""

from __future__ import annotations

from typing import Any

from plans import BATCH, HOUR, MINUTE, Hot, Tables, alike, cases

HOT: Hot = {
    "attempts/record": ({"jobs_pkey"}, BATCH),
    "attempts/measure": ({"jobs_pkey"}, BATCH),
    "steps/save": ({"jobs_pkey"}, BATCH),
    "steps/of_job": ({"steps_pkey"}, 1),
    "progress/write": ({"jobs_pkey"}, BATCH),
    "signals/addressee": ({"jobs_pkey"}, 1),
    "signals/arrived": (set(), BATCH),
    "signals/close": ({"waits_pkey"}, BATCH),
    "signals/expect": (set(), 0),
    "signals/keep": (set(), BATCH),
    "signals/late": ({"waits_due", "jobs_pkey"}, 2 * BATCH),
    "signals/mail": ({"waits_pkey"}, 2),
    "signals/time_out": ({"waits_pkey"}, BATCH),
    "locks/acquire": (set(), 0),
    "locks/extend": ({"locks_pkey"}, 1),
    "locks/release": ({"locks_pkey"}, 1),
    "locks/get": ({"locks_pkey"}, 1),
    "locks/forget": ({"locks_expiry"}, 0),
    "workers/register": (set(), 0),
    # These are about workers, of which there are few: only that nothing else is read is to be shown.
    "workers/beat": ({"workers_pkey"}, 0),
    "workers/lead": (set(), 0),
    "workers/neighbours": ({"workers_pkey"}, 0),
    "workers/competitors": ({"workers_pkey"}, 0),
    "workers/other_code": (set(), 0),
    "workers/declare_one_dead": ({"workers_pkey"}, 0),
    "workers/declare_dead": (set(), 0),
    "kinds/routes": (set(), 0),
    "overrides/all": (set(), 0),
}

# It runs as the last statement of a handler's transaction, with the server's ordinary settings.
HANDLERS: Hot = {
    "completing/complete": ({"jobs_pkey"}, 1),
    "completing/status": (set(), 0),
}


async def values_for(tables: Tables, name: str) -> dict[str, Any]:
    """What the product would hand to the statement."""
    noun, verb = name.split("/")
    match noun:
        case "attempts" | "steps" | "progress":
            return await told_values(tables)
        case "signals":
            return await signal_values(tables, verb)
        case "locks":
            return {
                "tenant": "",
                "id": "lock 7",
                "holder": "ann",
                "job_id": None,
                "ttl": MINUTE,
                "fence": 1,
                "keep": HOUR,
            }
        case _:
            return worker_values()


async def told_values(tables: Tables) -> dict[str, Any]:
    claims = await tables.claims()
    given = {
        "refund": 0,
        "status": "failed",
        "failure": "{}",
        "cpu_used": 1,
        "peak": 1,
        "step": "fetch",
        "place": 1,
        "value": "1",
        "took": 1,
        "current": 1.0,
        "total": 2.0,
        "message": "on the way",
    }
    return {**claims, "id": claims["job_id"][0], **alike(**given)}


async def signal_values(tables: Tables, verb: str) -> dict[str, Any]:
    if verb == "late":
        return {"limit": BATCH}
    held = await tables.ids("held")
    given = {
        "signal": "go",
        "number": 1,
        "place": 1,
        "timeout": MINUTE,
        "is_over": True,
        "once": "key",
        "payload": "1",
        "sender": "ann",
    }
    return {"id": held[0], "job_id": held, **alike(**given)}


def worker_values() -> dict[str, Any]:
    numbers = dict.fromkeys(("running", "settled", "tainted", "rss_mb", "loop_lag_ms"), 1)
    return {
        **numbers,
        "id": "w1",
        "type": "general",
        "cpu_percent": 1.0,
        "duty": "maintenance",
        "worker": "w1",
        "lease": MINUTE,
        "silence": HOUR,
        "host": "host",
        "boot_id": None,
        "pid": 1,
        "process_started": None,
        "version": "1",
        "kinds": "[]",
        "queues": "[]",
        "concurrency": 5,
    }


async def handler_values(tables: Tables) -> dict[str, Any]:
    return {
        "job_id": (await tables.ids("running", 1))[0],
        "epoch": 1,
        "value": "1",
        "held": None,
        "patience": "5s",
        "transaction_id": await tables.driver.fetchval("SELECT pg_current_xact_id()::text"),
    }


@cases(HOT)
async def test_what_a_worker_asks_comes_in_by_its_index(
    tables: Tables, plan_cache_mode: str, name: str
) -> None:
    plan = await tables.explain(name, await values_for(tables, name), plan_cache_mode=plan_cache_mode)

    plan.assert_bounded(*HOT[name])


@cases(HANDLERS, tables="handlers_tables")
async def test_a_handlers_own_transaction_completes_its_job_by_the_key(
    handlers_tables: Tables, plan_cache_mode: str, name: str
) -> None:
    values = await handler_values(handlers_tables)

    plan = await handlers_tables.explain(name, values, plan_cache_mode=plan_cache_mode)

    plan.assert_bounded(*HANDLERS[name])
