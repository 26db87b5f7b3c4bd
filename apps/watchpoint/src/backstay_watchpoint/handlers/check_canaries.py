"""check_canaries: compares canaries with what they should have done, once verification results have arrived."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from backstay import Context, Handler
from backstay.errors import SignalTimeout
from backstay_watchpoint.domain.canaries import SEVERITY
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.services import verification
from backstay_watchpoint.services.alerts import raise_alert
from backstay_watchpoint.services.work import Publisher, Work

VERIFIED_SIGNAL = "verified"
RESULTS_TIMEOUT = "2h"
RESULTS_MISSING = "VerificationResultsMissing"


def register(platform: Platform, publisher: Callable[[], Publisher]) -> Handler[..., Any]:
    """Register the handler; it is held without a worker while it waits."""

    @platform.app.job(kind="check_canaries", queue="maintenance", timeout="5m")
    async def check_canaries(ctx: Context, batch: str, reference_time: datetime) -> dict[str, Any]:
        """Wait for the results of a batch of verifications, then check every canary."""
        work = Work(platform.database, reference_time, publisher())
        async with platform.database.transaction() as transaction:
            missing = await verification.unfinished(transaction, batch)
        if missing:
            try:
                await ctx.wait_for(VERIFIED_SIGNAL, timeout=RESULTS_TIMEOUT)
            except SignalTimeout:
                await _tell_missing(work, batch)
        alerts = await verification.check_canaries(work)
        return {"items": len(alerts), "alerts": [f"{alert.name} {alert.watchpoint_id}" for alert in alerts]}

    registered: Handler[..., Any] = check_canaries
    return registered


async def _tell_missing(work: Work, batch: str) -> None:
    async with work.transaction() as transaction:
        missing = await verification.unfinished(transaction, batch)
        if missing:
            message = f"{missing} verification results have not arrived within {RESULTS_TIMEOUT}"
            await raise_alert(
                transaction, work, name=RESULTS_MISSING, severity=SEVERITY, subject=batch, message=message
            )
