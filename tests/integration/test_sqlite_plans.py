"""The plans of SQLite's hot statements: by index, never by a scan of all jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from backstay.composition.connect import open_database
from backstay.stores.database.migrate import migrate
from backstay.stores.database.sqlite import DIALECT, Sqlite

# The indexes by which a statement must come in; SQLite names the one of a primary key itself.
KEY = "sqlite_autoindex_backstay_jobs_1"
HOT: dict[str, set[str]] = {
    "jobs/claim": {"jobs_claim", "jobs_claim_suspect", KEY},
    "jobs/claim_pair": {"jobs_claim", KEY},
    "jobs/complete": {KEY},
    "jobs/complete_alike": {KEY},
    "jobs/settle": {KEY},
    "jobs/renew": {KEY},
    "jobs/settled": {KEY},
    "jobs/seize": {KEY},
    "jobs/promote": {"jobs_due", KEY},
    "jobs/expired": {"jobs_running"},
    "jobs/of_worker": {"jobs_running"},
    "jobs/cancel_requests": {"jobs_running"},
    "jobs/strays": {"jobs_running"},
    "jobs/look": {
        "jobs_due",
        "jobs_running",
        "jobs_expiring",
        "jobs_deadline",
        "jobs_of_tenant",
        "waits_due",
    },
    "jobs/unstarted": {"jobs_expiring"},
    "jobs/expire": {KEY},
    "jobs/late": {"jobs_deadline"},
    "jobs/miss_deadline": {KEY},
    "jobs/by_age": {KEY},
    "jobs/delete_finished": {KEY},
    "jobs/get": {KEY},
    "jobs/next_due": {"jobs_due", "waits_due"},
    "jobs/put_off": {KEY},
    "tenants/hold": {"jobs_of_tenant", KEY},
    "tenants/release": {"jobs_of_tenant", KEY},
    "quotas/crowded": {"jobs_of_tenant"},
    "signals/late": {"waits_due", KEY},
    "signals/addressee": {KEY},
    "signals/keep": {"sqlite_autoindex_backstay_signals_1"},
    "signals/arrived": {"sqlite_autoindex_backstay_signals_1"},
    "signals/mail": {"sqlite_autoindex_backstay_signals_1", "sqlite_autoindex_backstay_waits_1"},
    "limits/candidates": {"jobs_claim", "jobs_claim_suspect", KEY},
    "limits/rivals": {"jobs_claim"},
    "limits/usage": {KEY},
    "limits/heads": {"jobs_order"},
    "limits/start": {KEY},
    "limits/park": {KEY},
    "limits/unpark": {"jobs_parked", KEY},
    "limits/unpark_one": {KEY},
    "limits/expect": {"jobs_parked"},
    "limits/due": {"limits_due"},
    "limits/parked_keys": {"jobs_parked"},
    "permits/of_jobs": {"permits_of_job"},
    "keys/find_active": {"jobs_unique_active"},
    "dead_letters/record": {KEY},
    "dead_letters/open": {"dead_letters_open"},
    "dead_letters/next_open": {"dead_letters_open"},
    "dead_letters/by_hour": {"dead_letters_open"},
    "figures/by_tenant": {"jobs_of_tenant", "jobs_running"},
    "figures/depths": {"jobs_depth", "jobs_running"},
    "dead_letters/groups": {"dead_letters_cause", "dead_letters_closed"},
    "schedules/look": {"schedules_due", "fires_queued"},
    "schedules/due": {"schedules_due"},
    "schedules/advance": {"schedules_due"},
    "schedules/get": {"schedules_name"},
    "fires/close": {"fires_open", KEY},
    "fires/open": {"fires_open"},
    "fires/waiting": {"fires_queued"},
    "fires/existing": {"sqlite_autoindex_backstay_fires_1"},
    "fires/keep": {"fires_job", KEY},
    "fires/forget": {"fires_age"},
    "locks/get": {"sqlite_autoindex_backstay_locks_1"},
}


@pytest.fixture
async def database() -> Iterator[Sqlite]:
    database = open_database("sqlite://:memory:")
    assert isinstance(database, Sqlite)
    await migrate(database)
    yield database
    await database.close()


async def plan_of(database: Sqlite, name: str) -> list[str]:
    statement = DIALECT.statement(name)
    nothing = dict.fromkeys(statement.values)
    explained = database.file.write(
        lambda connection: connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", nothing).fetchall()
    )
    return [row["detail"] for row in await database._done(explained)]


@pytest.mark.parametrize("name", HOT)
async def test_a_hot_statement_comes_in_by_its_index(database: Sqlite, name: str) -> None:
    plan = await plan_of(database, name)

    used = set(re.findall(r"INDEX (\w+)", " ".join(plan)))
    scans = [
        step for step in plan if re.match(r"SCAN (backstay_jobs|job|head)\b", step) and "INDEX" not in step
    ]
    assert scans == []
    assert used >= HOT[name]
