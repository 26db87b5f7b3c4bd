"""The plans of the statements about jobs: by which index they come in, and how many rows they look at.

Each must hold with fresh statistics, with stale ones (taken while the tables were empty), with none, and with ones
that tell of other times; with a plan made for the values, and with a generic one. `test_plan_coverage.py` sees to it
that no statement is left out.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from plan_rows import LETTERS, LETTERS_A_JOB, RUNNING, prepared
from plans import BATCH, DAY, HOUR, MINUTE, MODES, PLACE, STATISTICS, Hot, Tables, cases, opened

from backstay.testing import PrivatePostgres

NIL = uuid.UUID(int=0)
ALWAYS = datetime(1, 1, 1, tzinfo=UTC)

HOT: Hot = {
    "jobs/claim": ({"jobs_claim", PLACE}, 4 * BATCH),
    "jobs/claim_pair": ({"jobs_claim", PLACE}, 3 * BATCH),
    "jobs/complete": ({"jobs_pkey"}, 3 * BATCH),
    "jobs/complete_alike": ({"jobs_pkey"}, 3 * BATCH),
    "jobs/complete_each": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/settle": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/renew": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/settled": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/lock_status": ({"jobs_pkey"}, 3 * BATCH),
    "jobs/seize": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/apply_cancel_request": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/promote": ({"jobs_due", "jobs_pkey"}, 3 * BATCH),
    "jobs/expired": ({"jobs_running"}, 2 * RUNNING),
    "jobs/of_worker": ({"jobs_running"}, RUNNING // 10),
    "jobs/cancel_requests": ({"jobs_running"}, RUNNING // 10),
    "jobs/strays": ({"jobs_running"}, RUNNING // 10),
    "jobs/look": (
        {
            "jobs_due",
            "jobs_running",
            "jobs_expiring",
            "jobs_deadline",
            "waits_due",
            "limits_due",
        },
        2 * RUNNING,
    ),
    "jobs/unstarted": ({"jobs_expiring"}, 2 * BATCH),
    "jobs/expire": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/late": ({"jobs_deadline"}, 2 * BATCH),
    "jobs/miss_deadline": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/by_age": ({"jobs_pkey"}, BATCH),
    "jobs/lock_finished": ({"jobs_pkey"}, BATCH),
    "jobs/delete_finished": ({"jobs_pkey"}, 2 * BATCH),
    "jobs/get": ({"jobs_pkey"}, 2),
    "jobs/ending": ({"jobs_pkey"}, 1),
    "jobs/states": ({"jobs_pkey"}, BATCH),
    "jobs/await": ({"jobs_pkey"}, 1),
    "jobs/hold": ({"jobs_pkey"}, BATCH),
    "jobs/lock_held": ({"jobs_pkey"}, BATCH),
    "jobs/release": ({"jobs_pkey"}, BATCH),
    "jobs/cancel": ({"jobs_pkey"}, BATCH),
    "jobs/request_cancel": ({"jobs_pkey"}, BATCH),
    "jobs/next_due": ({"jobs_due", "waits_due"}, 2),
    "audit/record": (set(), 0),
    "dead_letters/record": ({"jobs_pkey"}, 2 * BATCH),
    # At most all that are open, never one of the many that are closed.
    "dead_letters/open": ({"dead_letters_open"}, LETTERS),
    "dead_letters/next_open": ({"dead_letters_open"}, LETTERS),
    "dead_letters/by_hour": ({"dead_letters_open"}, LETTERS),
    # A jump and a count for each cause; an example may be found by its job, and all letters of that looked at.
    "dead_letters/groups": (
        {"dead_letters_cause", "dead_letters_closed"},
        2 * LETTERS + 3 * BATCH + LETTERS_A_JOB * BATCH,
    ),
}
POOLED = list(itertools.product(STATISTICS, HOT))

ONE_PAIR = [("default", "report")]
TWENTY_PAIRS = [("many", f"kind {number}") for number in range(20)]


def claim_values(
    pairs: Sequence[tuple[str, str]], *, limit: int = BATCH, since: datetime = ALWAYS
) -> dict[str, Any]:
    return {
        "queues": [queue for queue, _ in pairs],
        "kinds": [kind for _, kind in pairs],
        "leases": [MINUTE] * len(pairs),
        "timeouts": [HOUR] * len(pairs),
        "max_attempts": [4] * len(pairs),
        "worker": "w1",
        "claim_id": uuid.uuid4(),
        "limit": limit,
        "suspects": 1,
        "since": since,
    }


def pair_values(*, limit: int = BATCH, since: datetime = ALWAYS) -> dict[str, Any]:
    many = claim_values(ONE_PAIR, limit=limit, since=since)
    one = {name.removesuffix("s"): many.pop(name)[0] for name in ("queues", "kinds", "leases", "timeouts")}
    return {**many, **one, "max_attempts": 4}


async def settlement_values(tables: Tables) -> dict[str, Any]:
    return {
        **await tables.claims(),
        "next_state": ["scheduled"] * BATCH,
        "next_reason": [None] * BATCH,
        "failure": ['{"type": "ValueError"}'] * BATCH,
        "refund": [0] * BATCH,
        "more_crashes": [0] * BATCH,
        "suspected": [False] * BATCH,
        "in_row": [-1] * BATCH,
        "run_in": [MINUTE] * BATCH,
        "attempts_allowed": [None] * BATCH,
        "next_timeout": [None] * BATCH,
        "is_end": [False] * BATCH,
    }


def audit_values() -> dict[str, Any]:
    names = ("tenant", "actor", "action", "from_state", "to_state", "reason", "source")
    return {
        **{name: ["x"] * BATCH for name in names},
        "job_id": [uuid.uuid4() for _ in range(BATCH)],
        "details": ["{}"] * BATCH,
    }


async def values_for(tables: Tables, name: str) -> dict[str, Any]:
    """What the product would hand to the statement."""
    if name.startswith("dead_letters/"):
        return await letter_values(tables, name)
    match name.removeprefix("jobs/"):
        case "claim":
            return claim_values(ONE_PAIR)
        case "claim_pair":
            return pair_values()
        case "complete" | "complete_each":
            return {**await tables.claims(), "value": ["1"] * BATCH}
        case "complete_alike":
            return {"ids": await tables.ids("running"), "epoch": 1}
        case "settle":
            return await settlement_values(tables)
        case "renew" | "settled" | "lock_status":
            return await tables.claims()
        case "seize":
            return {**await tables.claims(), "hold_for": [MINUTE] * BATCH}
        case "expired":
            return {"overrun": MINUTE, "limit": BATCH, "as_of": datetime(2999, 1, 1, tzinfo=UTC)}
        case "look":
            return {"overrun": MINUTE}
        case "of_worker" | "cancel_requests" | "strays":
            return {"worker": "w1", "limit": BATCH, "unanswered": [uuid.uuid4()]}
        case "by_age":
            return {"after": NIL, "limit": BATCH}
        case "lock_finished" | "delete_finished" | "lock_held":
            return {"ids": await tables.ids("dead"), "finished_before": datetime.now(UTC)}
        case "get" | "ending" | "await":
            return {"id": (await tables.ids("available", 1))[0]}
        case "apply_cancel_request" | "expire" | "miss_deadline" | "states" | "hold" | "cancel":
            return {"job_id": await tables.ids("available"), "why": ["because"] * BATCH}
        case "release":
            return {"job_id": await tables.ids("held")}
        case "request_cancel":
            return {"job_id": await tables.ids("running"), "why": ["because"] * BATCH}
        case "audit/record":
            return audit_values()
        case _:
            return {"limit": BATCH}


async def letter_values(tables: Tables, name: str) -> dict[str, Any]:
    now, anything = datetime.now(UTC), dict.fromkeys(("kind", "queue", "tenant", "fingerprint", "owner"))
    if name == "dead_letters/record":
        return {"job_id": await tables.ids("dead"), "epoch": [1] * BATCH, "cause": ["a" * 64] * BATCH}
    return {
        **anything,
        "died_until": now,
        "since": now - DAY,
        "after_died_at": now - DAY,
        "after_job_id": NIL,
        "limit": BATCH,
        "most": BATCH,
    }


@cases(HOT)
async def test_a_hot_statement_comes_in_by_its_index_and_looks_at_no_more_than_its_batch(
    tables: Tables, plan_cache_mode: str, name: str
) -> None:
    plan = await tables.explain(name, await values_for(tables, name), plan_cache_mode=plan_cache_mode)

    plan.assert_bounded(*HOT[name])


@pytest.mark.parametrize(("pooled_tables", "name"), POOLED, indirect=["pooled_tables"])
async def test_behind_a_pooler_a_hot_statement_looks_at_no_more_either(
    pooled_tables: Tables, name: str
) -> None:
    """Without the engine's settings; no plan is kept there, so each is made for its values."""
    values = await values_for(pooled_tables, name)

    plan = await pooled_tables.explain(name, values, plan_cache_mode="force_custom_plan")

    plan.assert_bounded(*HOT[name])


async def test_a_generic_plan_is_explained_as_such(tables: Tables, plan_cache_mode: str) -> None:
    """Otherwise half of these tests would show nothing."""
    values = await values_for(tables, "jobs/of_worker")

    plan = await tables.explain("jobs/of_worker", values, plan_cache_mode=plan_cache_mode)

    assert plan.is_generic == (plan_cache_mode == "force_generic_plan")


async def test_a_claim_over_many_kinds_looks_at_the_head_of_each(
    tables: Tables, plan_cache_mode: str
) -> None:
    """ENG-031: twenty pairs of queue and kind in one statement."""
    limit = 20

    plan = await tables.explain(
        "jobs/claim", claim_values(TWENTY_PAIRS, limit=limit), plan_cache_mode=plan_cache_mode
    )

    plan.assert_bounded({"jobs_claim", PLACE}, limit * (len(TWENTY_PAIRS) + 3))


# The first half of the line is handed out; nobody can forget the entries while the transaction is open.
HAND_OUT = """
UPDATE backstay.jobs
SET state = 'running', lease_epoch = 1, lease_expires_at = now()
WHERE state = 'available' AND NOT is_suspect AND queue = '{queue}' AND kind LIKE '{kind}'
  AND turn < '{since}'::timestamptz
"""


@pytest.mark.parametrize(("pairs", "kind"), [(ONE_PAIR, "report"), (TWENTY_PAIRS, "kind %")])
async def test_a_claim_that_begins_where_the_last_one_ended_does_not_visit_what_lies_before(
    tables: Tables, plan_cache_mode: str, pairs: list[tuple[str, str]], kind: str
) -> None:
    """The entries of what was handed out are no rows any more, so only the pages that were read tell of them."""
    queue, limit = pairs[0][0], 20
    since = await middle_of_the_line(tables, queue)
    handed_out = HAND_OUT.format(queue=queue, kind=kind, since=since.isoformat())

    async def pages(name: str, begin: datetime) -> int:
        given = {"limit": limit, "since": begin}
        values = pair_values(**given) if name == "jobs/claim_pair" else claim_values(pairs, **given)
        plan = await tables.explain(name, values, plan_cache_mode=plan_cache_mode, after=[handed_out])
        plan.assert_bounded({"jobs_claim", PLACE}, limit * (len(pairs) + 3))
        return plan.pages_by("jobs_claim")

    for name in ("jobs/claim", "jobs/claim_pair") if pairs is ONE_PAIR else ("jobs/claim",):
        assert 2 * await pages(name, since) < await pages(name, ALWAYS)


async def middle_of_the_line(tables: Tables, queue: str) -> datetime:
    found: datetime = await tables.driver.fetchval(
        """
        SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY turn)
        FROM backstay.jobs
        WHERE state = 'available' AND queue = $1 AND kind NOT IN ('foreign', 'late')
        """,
        queue,
    )
    return found


OPEN_SHARE = """
UPDATE pg_statistic SET stanullfrac = {share}
FROM pg_attribute
WHERE starelid = 'backstay.dependencies'::regclass AND attrelid = starelid AND attnum = staattnum
  AND attname = 'verdict'
"""


@pytest.mark.parametrize("tables", ["fresh"], indirect=True)
@pytest.mark.parametrize("name", ["jobs/complete", "jobs/complete_alike"])
@pytest.mark.parametrize("share", [0.01, 0.4, 0.5, 0.51, 0.6, 0.99])
async def test_whatever_share_of_dependencies_is_believed_open_a_completion_reads_no_decided_ones(
    tables: Tables, plan_cache_mode: str, name: str, share: float
) -> None:
    """What an ANALYZE finds differs by its sample: the plan must not hang on it."""
    values = await values_for(tables, name)
    believed = [OPEN_SHARE.format(share=share)]

    plan = await tables.explain(name, values, plan_cache_mode=plan_cache_mode, after=believed)

    plan.assert_bounded(*HOT[name])


async def test_a_claim_never_takes_more_than_its_limit(tables: Tables, plan_cache_mode: str) -> None:
    """A plan that runs its inner part more than once would take more."""
    given = {"jobs/claim": claim_values(ONE_PAIR, limit=5), "jobs/claim_pair": pair_values(limit=5)}
    for name, values in given.items():
        statement = tables.database.dialect.statement(name)
        async with tables.undone():
            await tables.driver.execute(f"SET LOCAL plan_cache_mode = {plan_cache_mode}")
            claimed = await tables.driver.fetch(statement.sql, *[values[value] for value in statement.values])

        assert len(claimed) == 5


@pytest.mark.prove
@pytest.mark.timeout(600)
async def test_a_claim_costs_the_same_beside_a_million_finished_jobs(
    postgres_server: PrivatePostgres,
) -> None:
    """ENG-144."""
    databases = prepared(postgres_server, finished=1_000_000)
    verbs = ("claim", "claim_pair", "complete", "complete_alike", "settle", "renew", "promote", "expired")

    for database in databases.values():
        async with opened(postgres_server, database) as tables:
            for mode in MODES:
                for name in (f"jobs/{verb}" for verb in verbs):
                    values = await values_for(tables, name)
                    plan = await tables.explain(name, values, plan_cache_mode=mode)
                    plan.assert_bounded(*HOT[name])
        postgres_server.drop_database(database)
