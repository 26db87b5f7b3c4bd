"""The plans of the statements that store jobs, and of those by which a caller's keys and quotas are looked up."""

from __future__ import annotations

import json
import uuid
from typing import Any

from plans import BATCH, DAY, HOUR, MINUTE, Hot, Tables, cases

from backstay.model.job import JobId, NewJob
from backstay.stores import enqueuing

HOT: Hot = {
    "jobs/enqueue": (set(), BATCH),
    "jobs/enqueue_plain": (set(), 0),
    "jobs/enqueue_alike": (set(), 0),
    "jobs/enqueue_one": (set(), 0),
    "jobs/enqueue_and_tell": (set(), 0),
    "jobs/put_off": ({"jobs_pkey"}, BATCH),
    "keys/find": ({"idempotency_keys_pkey"}, 1),
    "keys/find_active": ({"jobs_unique_active"}, 1),
    "keys/find_window": ({"unique_windows_pkey"}, 1),
    "keys/point": ({"idempotency_keys_pkey"}, 1),
    "keys/reserve": (set(), 1),
    "keys/reserve_window": (set(), 0),
    "keys/debounce": (set(), 0),
    "keys/debounce_by": ({"debounces_pkey"}, 1),
    # So many keys have served their time, and the job of each is looked up.
    "keys/forget": ({"idempotency_keys_expiring", "jobs_pkey"}, 2 * 600),
    "keys/forget_windows": ({"unique_windows_expiring"}, 600),
    # A quota is held against what its tenant has waiting, which a function counts.
    "quotas/crowded": (set(), 2 * 500),
    "wakeups/notify": (set(), 0),
}

# These run in callers' transactions, on connections with the server's ordinary settings.
JOINING: Hot = {
    "joining/enqueue": (set(), 0),
    "joining/enqueue_quietly": (set(), 0),
    "joining/expect": (set(), 0),
    "joining/crowded": (set(), 2 * 500),
}


def new_jobs(**given: Any) -> dict[str, Any]:
    jobs = [
        enqueuing.values_of(
            NewJob(id=JobId(uuid.uuid4()), kind="report", queue="default", args="{}", **given)
        )
        for _ in range(BATCH)
    ]
    return {name: [job[name] for job in jobs] for name in jobs[0]}


async def values_for(tables: Tables, name: str) -> dict[str, Any]:
    """What the product would hand to the statement."""
    noun, verb = name.split("/")
    if noun == "joining":
        return await joining_values(tables)
    if noun == "keys":
        return await key_values(tables)
    jobs = new_jobs()
    shared = {name: jobs[name][0] for name in ("kind", "queue", "priority", "turn_offset")}
    match verb:
        case "enqueue" | "enqueue_plain":
            return jobs
        case "enqueue_alike":
            return {**jobs, **shared}
        case "enqueue_one" | "enqueue_and_tell":
            return {**shared, "id": jobs["id"][0], "args": jobs["args"][0], "hint": "default"}
        case "put_off":
            held = await tables.ids("scheduled")
            return {
                "job_id": held,
                "args": ["{}"] * BATCH,
                "delay": [MINUTE] * BATCH,
                "longest": [DAY] * BATCH,
            }
        case "crowded":
            return {"tenant": ["asleep"], "queue": ["default"], "number": [1]}
        case _:
            return {"hint": ["default"] * BATCH}


async def key_values(tables: Tables) -> dict[str, Any]:
    job_id = (await tables.ids("scheduled", 1))[0]
    return {
        "tenant": "",
        "key": "key 7",
        "fingerprint": "print",
        "job_id": job_id,
        "instead_of": job_id,
        "keep": DAY,
        "length": HOUR,
    }


async def joining_values(tables: Tables) -> dict[str, Any]:
    jobs = [{"id": str(uuid.uuid4()), "kind": "report", "queue": "default", "args": {}} for _ in range(BATCH)]
    return {
        "jobs": json.dumps(jobs),
        "groups": json.dumps([{"tenant": "asleep", "queue": "default", "number": 1}]),
        "job_id": (await tables.ids("available", 1))[0],
        "signal": "go",
        "seconds": 60.0,
        "at": None,
    }


@cases(HOT)
async def test_a_statement_that_stores_jobs_reads_no_more_than_its_keys(
    tables: Tables, plan_cache_mode: str, name: str
) -> None:
    plan = await tables.explain(name, await values_for(tables, name), plan_cache_mode=plan_cache_mode)

    plan.assert_bounded(*HOT[name])


@cases(JOINING, tables="handlers_tables")
async def test_in_a_callers_transaction_a_statement_reads_no_more_than_its_keys(
    handlers_tables: Tables, plan_cache_mode: str, name: str
) -> None:
    values = await values_for(handlers_tables, name)

    plan = await handlers_tables.explain(name, values, plan_cache_mode=plan_cache_mode)

    plan.assert_bounded(*JOINING[name])


async def test_a_job_of_a_tenant_is_held_against_what_that_tenant_has_waiting(
    tables: Tables, plan_cache_mode: str
) -> None:
    plan = await tables.explain("jobs/enqueue", new_jobs(tenant="asleep"), plan_cache_mode=plan_cache_mode)

    plan.assert_bounded(set(), 4 * 500)
    # Its quota is ten.
    assert plan.fetched["jobs"] >= 11
