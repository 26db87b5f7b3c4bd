"""Rows for tests: each function stores one and returns its id."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay import Backstay
from backstay.records import JobFilter
from backstay_watchpoint.domain.forecasts import output_prefix
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store import tables
from backstay_watchpoint.store.database import Database

CREATED = datetime(2026, 1, 1, tzinfo=UTC)


async def add(database: Database, table: Any, **values: Any) -> str:
    values.setdefault("id", str(uuid4()))
    async with database.transaction() as transaction:
        await transaction.execute(insert(table).values(**values))
    return str(values["id"])


async def organization(database: Database, **values: Any) -> str:
    identity = values.pop("id", None) or f"org-{uuid4()}"
    row: dict[str, Any] = {
        "id": identity,
        "name": identity,
        "email": f"{identity}@example.org",
        "plan": "pro",
        "notification_preferences": {},
        "created_at": CREATED,
        "stripe_customer_id": f"cus_{identity}",
    }
    return await add(database, tables.organizations, **{**row, **values})


async def watchpoint(database: Database, organization_id: str, **values: Any) -> str:
    row: dict[str, Any] = {
        "id": f"wp-{uuid4()}",
        "organization_id": organization_id,
        "name": "roof",
        "latitude": 52.5,
        "longitude": 13.4,
        "tile_id": "1.0",
        "conditions": {},
        "metadata": {},
        "created_at": CREATED,
    }
    return await add(database, tables.watchpoints, **{**row, **values})


async def forecast_run(database: Database, model: str, run_timestamp: datetime, **values: Any) -> str:
    row: dict[str, Any] = {
        "id": f"run-{uuid4()}",
        "model": model,
        "run_timestamp": run_timestamp,
        "status": "running",
        "submitted_at": run_timestamp,
        "storage_path": output_prefix(model, run_timestamp),
        "source_paths": [],
        "created_at": run_timestamp,
    }
    return await add(database, tables.forecast_runs, **{**row, **values})


async def notification(database: Database, organization_id: str, **values: Any) -> str:
    row: dict[str, Any] = {
        "organization_id": organization_id,
        "payload": {"subject": "storm"},
        "created_at": CREATED,
    }
    return await add(database, tables.notifications, **{**row, **values})


async def delivery(database: Database, notification_id: str, **values: Any) -> str:
    row: dict[str, Any] = {"notification_id": notification_id, "status": "deferred", "created_at": CREATED}
    return await add(database, tables.notification_deliveries, **{**row, **values})


async def rows(database: Database, table: Any, **where: Any) -> list[dict[str, Any]]:
    query = select(table)
    for name, value in where.items():
        query = query.where(table.c[name] == value)
    async with database.transaction() as transaction:
        return [dict(row) for row in (await transaction.execute(query)).mappings()]


async def one(database: Database, table: Any, **where: Any) -> dict[str, Any]:
    [found] = await rows(database, table, **where)
    return found


async def count(database: Database, table: Any) -> int:
    async with database.transaction() as transaction:
        return int(await transaction.scalar(select(func.count()).select_from(table)) or 0)


async def published(app: Backstay) -> list[Mapping[str, Any]]:
    """The messages that wait to be sent, by their deduplication ids."""
    found: list[Mapping[str, Any]] = []
    cursor = None
    while True:
        page = await app.jobs.search(JobFilter(kind="publish_message"), cursor=cursor, limit=100)
        found += [job.args for job in page.jobs]
        if page.cursor is None:
            return sorted(found, key=lambda args: str(args["dedupe_id"]))
        cursor = page.cursor


def again(work: Work, **later: float) -> Work:
    """Another run, at the same time or later."""
    return Work(work.database, work.now + timedelta(**later), work.publisher)


async def no_orphans(transaction: AsyncConnection) -> list[str]:
    """Every foreign key whose row is missing, over all tables."""
    missing = []
    for table in tables.metadata.sorted_tables:
        for key in table.foreign_keys:
            parent = key.column
            child = key.parent
            found = await transaction.scalar(
                select(func.count())
                .select_from(table)
                .where(child.is_not(None))
                .where(child.not_in(select(parent)))
            )
            if found:
                missing.append(f"{table.name}.{child.name}")
    return missing
