"""Every statement for PostgreSQL has a plan test, or is named here as one that need not be fast."""

from __future__ import annotations

import test_enqueue_plans
import test_fair_plans
import test_flow_plans
import test_limit_plans
import test_plans
import test_promoted_plans
import test_schedule_plans
import test_worker_plans

from windlass.stores.queries import SQL

PLANNED = [
    *test_plans.HOT,
    *test_enqueue_plans.HOT,
    *test_enqueue_plans.JOINING,
    *test_worker_plans.HOT,
    *test_worker_plans.HANDLERS,
    *test_schedule_plans.HOT,
    *test_limit_plans.HOT,
    *test_flow_plans.HOT,
    *test_fair_plans.HOT,
    test_promoted_plans.QUERY.partition("?")[0],
]

NOT_HOT = {
    "a person asks, and can wait for a page": {
        "attempts/all_of_job",
        "attempts/of_job",
        "audit/of_job",
        "dead_letters/count",
        "dead_letters/of_job",
        "flows/all",
        "flows/get",
        "insights/ahead",
        "insights/broken",
        "insights/engine",
        "insights/oldest_transaction",
        "insights/open_dead_letters",
        "insights/stuck",
        "insights/tables",
        "insights/waiting",
        "jobs/children",
        "jobs/counts",
        "jobs/search",
        "kinds/all",
        "limits/all",
        "locks/all",
        "permits/holders",
        "queues/pauses",
        "quotas/all",
        "schedules/all",
        "signals/of_job",
        "workers/all",
    },
    "a person decides about single jobs": {
        "dead_letters/clone",
        "dead_letters/close",
        "dead_letters/investigate",
        "dead_letters/resolve",
        "dead_letters/retry",
        "flows/copy",
        "jobs/reschedule",
        "signals/forget",
        "signals/forget_waits",
        "steps/forget",
    },
    "a person changes a setting": {
        "overrides/remove",
        "overrides/set",
        "queues/pause",
        "queues/resume",
        "quotas/remove",
        "quotas/set",
        "schedules/insert",
        "schedules/remove",
        "schedules/rewrite",
        "tenants/pause",
        "tenants/resume",
    },
    "once in a process's life": {
        "joining/identity",
        "kinds/add_route",
        "kinds/declare",
        "schema/applied",
        "schema/bootstrap",
        "schema/describe",
        "schema/get_fact",
        "schema/note",
        "schema/set_fact",
        "workers/resign",
        "workers/retire",
    },
    "makes or fills the table of promoted fields": {
        "promoted/add_column",
        "promoted/add_index",
        "promoted/add_reference",
        "promoted/create_table",
        "promoted/describe",
        "promoted/has_column",
        "promoted/newest",
        "promoted/refill",
        "promoted/take_turn",
        "promoted/unfilled",
        "promoted/unwatch",
        "promoted/watch",
    },
    "now and then, and goes through a small table whole": {
        "flows/forget",
        "keys/forget_debounces",
        "limits/forget",
        "queues/end_pauses",
        "tenants/forget",
        "tenants/paused",
        "workers/forget",
    },
}


def catalogue() -> set[str]:
    """The names of all statements that PostgreSQL is ever sent."""
    return {
        f"{noun.name}/{file.name.removesuffix('.sql')}"
        for place in ("shared", "postgres")
        for noun in (SQL / place).iterdir()
        if noun.is_dir() and noun.name not in ("migrations", "parts")
        for file in noun.iterdir()
        if file.name.endswith(".sql")
    }


def test_every_statement_has_a_plan_test_or_is_known_not_to_be_hot() -> None:
    not_hot = set().union(*NOT_HOT.values())

    assert catalogue() - set(PLANNED) - not_hot == set()


def test_no_list_names_a_statement_that_is_gone() -> None:
    not_hot = set().union(*NOT_HOT.values())

    assert {*PLANNED, *not_hot} - catalogue() == set()


def test_what_has_a_plan_test_is_not_called_cold() -> None:
    not_hot = set().union(*NOT_HOT.values())

    assert set(PLANNED) & not_hot == set()
