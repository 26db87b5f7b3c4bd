"""check_canaries: compares canaries with what they should have done, once verification results have arrived."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from backstay import Context, Handler
from backstay_watchpoint.domain.payloads import TaskType
from backstay_watchpoint.handlers.waiting import wait_for_results
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.services import verification
from backstay_watchpoint.services.work import Publisher, Work


def register(platform: Platform, publisher: Callable[[], Publisher]) -> Handler[..., Any]:
    """Register the handler; it is held without a worker while it waits."""

    @platform.app.job(kind="check_canaries", queue="maintenance", timeout="5m")
    async def check_canaries(ctx: Context, batch: str, reference_time: datetime) -> dict[str, Any]:
        """Wait for the results of a batch of verifications, then check every canary."""
        work = Work(platform.database, reference_time, publisher())
        await wait_for_results(ctx, platform, work, TaskType.VERIFICATION, batch)
        alerts = await verification.check_canaries(work)
        return {"items": len(alerts), "alerts": [f"{alert.name} {alert.watchpoint_id}" for alert in alerts]}

    registered: Handler[..., Any] = check_canaries
    return registered
