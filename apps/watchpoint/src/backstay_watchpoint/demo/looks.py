"""What the demonstration looks up: whether something has come to its end, and what the database holds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from sqlalchemy import func, select

from backstay_parts.demo import DemoFailed
from backstay_watchpoint.demo.reach import provider
from backstay_watchpoint.demo.stack import Stack
from backstay_watchpoint.domain.forecasts import RunStatus
from backstay_watchpoint.domain.payloads import TaskType
from backstay_watchpoint.store import runs
from backstay_watchpoint.store.database import Database
from backstay_watchpoint.store.runs import RunState
from backstay_watchpoint.store.tables import forecast_runs, task_runs

PATIENCE_SECONDS = 240


async def until(is_done: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait for something that other processes do; raises DemoFailed."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await is_done():  # noqa: ASYNC110 - what it waits for is in other processes
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise DemoFailed(f"waited {PATIENCE_SECONDS} s for {what}") from None


class Looks:
    """Looks at the database and at the provider."""

    def __init__(self, running: Stack, database: Database) -> None:
        self._running, self._database = running, database

    async def no_run_is_left(self) -> bool:
        """Tell whether the provider has nothing more to do: what hangs hangs, what failed waits for the next hour."""
        jobs = await provider(self._running, "GET", "/local/jobs")
        busy = {job["id"] for job in jobs if not job["ended_at"] and job["fault"] != "hang"}
        good = {job["id"] for job in jobs if job["status"] == "COMPLETED"}
        is_running = forecast_runs.c.status == RunStatus.RUNNING
        running = set(await self.values(forecast_runs.c.external_id, is_running))
        return not busy and not running & good

    async def is_calibrated(self, asked: int) -> bool:
        """Tell whether as many calibrations as were asked for have ended."""
        jobs = await provider(self._running, "GET", "/local/jobs")
        found = [job for job in jobs if job["input"]["task_type"] == TaskType.CALIBRATION]
        return len(found) == asked and all(job["ended_at"] for job in found)

    async def has_begun(self, job_id: str) -> bool:
        """Tell whether a job's run is in the middle of its work."""
        is_running = (task_runs.c.job_id == job_id) & (task_runs.c.status == RunState.RUNNING)
        return any(items > 5 for items in await self.values(task_runs.c["items"], is_running))

    async def changes(self, run_id: int) -> list[str]:
        """Return what a run has changed, a line each."""
        async with self._database.reading() as transaction:
            found = await runs.changes_of(transaction, run_id)
        return [f"{row['item']} {row['item_id']}: {row['change']}" for row in found]

    async def count(self, table: Any, condition: Any = None) -> int:
        """Count the rows of a table."""
        query = select(func.count()).select_from(table)
        async with self._database.reading() as transaction:
            return int(await transaction.scalar(query if condition is None else query.where(condition)) or 0)

    async def total(self, column: Any) -> int:
        """Add up a column."""
        async with self._database.reading() as transaction:
            return int(await transaction.scalar(select(func.sum(column))) or 0)

    async def values(self, column: Any, condition: Any = None) -> list[Any]:
        """Return a column's values."""
        query = select(column) if condition is None else select(column).where(condition)
        async with self._database.reading() as transaction:
            return list(await transaction.scalars(query.order_by(column)))
