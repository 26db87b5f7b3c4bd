"""SQL that no store would run: to look behind the stores, and to try what the database must refuse."""

from __future__ import annotations

from typing import Any

from backstay.stores.database.interface import Database
from backstay.stores.database.postgres import Postgres
from backstay.stores.database.sqlite import Sqlite

TABLES = (
    "jobs",
    "dead_letters",
    "counters",
    "profiles",
    "kinds",
    "idempotency_keys",
    "unique_windows",
    "workers",
    "leaders",
    "pauses",
    "tenant_pauses",
    "quotas",
    "debounces",
    "overrides",
    "limits",
    "permits",
    "schedules",
    "locks",
    "audit",
    "figures",
    "reports",
    "flows",
    "api_keys",
    "api_requests",
    "webhooks",
    "alerts",
    "alert_mutes",
    "audit_chain",
    "failure_notes",
    "listeners",
    "operations",
    "outbox",
)


async def run_sql(database: Database, sql: str) -> list[dict[str, Any]]:
    """Run one statement; `backstay.<table>` is spelled as the database has it."""
    rendered = database.dialect.render(sql)
    if isinstance(database, Postgres):
        async with database.lane("raw").transaction() as connection:
            return [dict(row) for row in await connection.driver.fetch(rendered)]
    assert isinstance(database, Sqlite)
    found = database.file.write(lambda connection: connection.execute(rendered).fetchall())
    return [dict(row) for row in await database._done(found)]


async def empty_tables(database: Postgres) -> None:
    """Remove every row that an earlier test left."""
    async with database.lane("raw").transaction() as connection:
        await connection.driver.execute(";".join(f"DELETE FROM backstay.{table}" for table in TABLES))
