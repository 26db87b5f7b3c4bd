"""collect_results: waits for the results of a batch of calibrations, so that one that fails is told of."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from backstay import Context, Handler
from backstay_watchpoint.domain.payloads import TaskType
from backstay_watchpoint.handlers.waiting import wait_for_results
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.services.work import Publisher, Work


def register(platform: Platform, publisher: Callable[[], Publisher]) -> Handler[..., Any]:
    """Register the handler; it is held without a worker while it waits."""

    @platform.app.job(kind="collect_results", queue="maintenance", timeout="5m")
    async def collect_results(ctx: Context, batch: str, reference_time: datetime) -> None:
        """Wait for the results of a batch of calibrations."""
        work = Work(platform.database, reference_time, publisher())
        await wait_for_results(ctx, platform, work, TaskType.CALIBRATION, batch)

    registered: Handler[..., Any] = collect_results
    return registered
