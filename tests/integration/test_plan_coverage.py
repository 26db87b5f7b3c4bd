"""Every statement for PostgreSQL has a plan test, or is named here as one that need not be fast."""

from __future__ import annotations

import test_dispatch_plans
import test_enqueue_plans
import test_fair_plans
import test_flow_plans
import test_limit_plans
import test_plans
import test_promoted_plans
import test_schedule_plans
import test_worker_plans

from backstay.stores.database.queries import SQL

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
    *test_dispatch_plans.HOT,
    test_promoted_plans.QUERY.partition("?")[0],
]

NOT_HOT = {
    "a person asks, and can wait for a page": {
        "attempts/all_of_job",
        "attempts/of_job",
        "audit/of_job",
        "alerts/newest",
        "audit_chain/count_unchained",
        "audit_chain/heads",
        "audit_chain/links",
        "api_keys/all",
        "webhooks/all",
        "audit/search",
        "dead_letters/arguments",
        "dead_letters/count",
        "dead_letters/of_job",
        "failures/groups",
        "failures/history",
        "failures/hours",
        "failures/note",
        "tenants/enforce",
        "tenants/relax",
        "erasing/remove",
        "erasing/remove_keys",
        "erasing/remove_left",
        "erasing/remove_letters",
        "figures/by_tenant",
        "figures/count",
        "figures/counters",
        "figures/depths",
        "figures/tenant_depths",
        "figures/read",
        "flows/all",
        "flows/get",
        "insights/ahead",
        "insights/broken",
        "insights/engine",
        "insights/misfits",
        "insights/oldest_transaction",
        "insights/open_dead_letters",
        "insights/stuck",
        "insights/tables",
        "insights/waiting",
        "jobs/children",
        "jobs/counts",
        "jobs/search",
        "jobs/search_oldest",
        "kinds/all",
        "limits/all",
        "locks/all",
        "permits/holders",
        "queues/pauses",
        "quotas/all",
        "schedules/all",
        "schedules/successes",
        "signals/of_job",
        "workers/all",
    },
    "actions on many jobs: a row for each, and steps at a pace": {
        "operations/advance",
        "operations/all",
        "operations/due",
        "operations/forget",
        "operations/get",
        "operations/insert",
        "operations/next_due",
        "operations/stop",
        "operations/take",
    },
    "live status: a row for each topic that is followed, and the changes of an hour by their position": {
        "outbox/after",
        "outbox/confirm",
        "outbox/forget",
        "outbox/forget_listeners",
        "outbox/hush",
        "outbox/listen",
        "outbox/listen_always",
        "outbox/listener",
        "outbox/lock_head",
        "outbox/look",
        "outbox/mark",
        "outbox/move_head",
        "outbox/note_forgotten",
        "outbox/number",
        "outbox/old",
        "outbox/note_told",
        "outbox/oldest",
        "outbox/untold",
    },
    "goes by the keys of jobs that ended long ago, a thousand at a time": {
        "archive/put",
        "archive/removable",
        "archive/rows",
    },
    "a person decides about single jobs": {
        "dead_letters/clone",
        "dead_letters/close",
        "dead_letters/investigate",
        "dead_letters/resolve",
        "dead_letters/retry",
        "flows/copy",
        "jobs/change_priority",
        "jobs/reschedule",
        "signals/forget",
        "signals/forget_waits",
        "steps/forget",
    },
    "a person changes a setting": {
        "api_keys/insert",
        "api_keys/replace",
        "alerts/mute",
        "alerts/unmute",
        "api_keys/revoke",
        "webhooks/change",
        "webhooks/insert",
        "workers/tell",
        "webhooks/enabled",
        "webhooks/remove",
        "webhooks/rest",
        "webhooks/rotate",
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
    "only while releases change, and goes by the keys of the jobs that do not fit": {
        "misfits/close",
        "misfits/forget",
        "misfits/forget_signatures",
        "misfits/give_up",
        "misfits/known",
        "misfits/note",
        "misfits/refuse",
        "misfits/ripe",
    },
    "goes by the keys of jobs that have just ended, of kinds that react": {
        "reactions/ended",
        "reports/forget",
        "reports/waiting",
        "reactions/reserve",
        "reactions/store",
    },
    "adds to a small table by its key, every few seconds": {"figures/add"},
    "goes by the primary key of a small table": {
        "api_keys/find",
        "alerts/active",
        "alerts/announced",
        "alerts/clear",
        "alerts/fire",
        "alerts/mutes",
        "alerts/to_announce",
        "audit_chain/append",
        "audit_chain/unchained",
        "api_keys/used",
        "webhooks/get",
        "webhooks/listening",
        "api_requests/forget",
        "api_requests/get",
        "api_requests/keep",
        "api_requests/release",
        "api_requests/reserve",
    },
    "tells the database of a profile when an application is migrated": {
        "profiles/add_category",
        "profiles/add_kind",
        "profiles/add_lane",
        "profiles/add_word",
        "profiles/get",
        "profiles/insert",
        "profiles/kinds",
        "profiles/make_view",
        "profiles/places",
        "profiles/remove",
        "profiles/remove_view",
        "profiles/words",
    },
    "goes by the keys of jobs of which there are few": {
        "jobs/move",
        "signals/open_waits",
    },
    "counts up to a limit by the index of claims, at most once a second": {
        "queues/depth",
    },
    "only by the clock of a test": {
        "joining/enqueue_as_of",
    },
    "reads no table": {
        "completing/begin",
    },
    "once in a process's life": {
        "joining/identity",
        "kinds/add_route",
        "kinds/declare",
        "schema/applied",
        "schema/applied_own",
        "schema/bootstrap",
        "schema/describe",
        "schema/get_fact",
        "schema/note",
        "schema/note_own",
        "schema/set_fact",
        "workers/resign",
        "workers/retire",
        "workers/sign",
    },
    "only a worker asks that is to leave when nothing is left": {"jobs/has_work"},
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
        "figures/forget",
        "flows/forget",
        "keys/forget_debounces",
        "limits/forget",
        "queues/end_pauses",
        "dead_letters/forget",
        "tenants/forget",
        "tenants/paused",
        "workers/forget",
        "workers/forget_signatures",
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
