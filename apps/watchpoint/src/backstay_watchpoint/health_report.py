"""Which tasks are late, read from the book of runs."""

from __future__ import annotations

from backstay_watchpoint.domain.catalogue import CLOCK_TOLERANCE
from backstay_watchpoint.domain.health import TaskHealth, all_health
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.store import runs


async def read_health(platform: Platform) -> list[TaskHealth]:
    """Return a line for every task."""
    now = platform.clock()
    async with platform.database.reading() as transaction:
        # A run that was forced as of a time to come says nothing about now; a fire may be ahead of our clock.
        successes = await runs.last_successes(transaction, now + CLOCK_TOLERANCE)
        installed = await runs.installed_at(transaction)
    return all_health(platform.tasks, successes, installed_at=installed, now=now)
