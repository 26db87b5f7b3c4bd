"""poll_data: the data poller's entry point, on a lane of its own so that no clean-up delays it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from backstay import Context, Handler
from backstay_watchpoint import tasks
from backstay_watchpoint.domain.catalogue import POLL_DATA
from backstay_watchpoint.domain.polling import PollInput
from backstay_watchpoint.multiplexer import Asked, Multiplexer
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.store.runs import Trigger

QUEUE = "poll"


def register(platform: Platform, multiplexer: Multiplexer) -> Handler[..., Any]:
    """Register the handler; its arguments are those of a manual poll."""

    @platform.app.job(kind=POLL_DATA, queue=QUEUE, max_attempts=1, timeout="14m")
    async def poll_data(
        ctx: Context,
        reference_time: datetime | None = None,
        trigger: str = Trigger.SCHEDULED,
        force: bool = False,
        force_retry: bool = False,
        backfill_hours: int = 0,
        limit: int = 0,
    ) -> dict[str, Any]:
        """Look for new model runs and start their inference."""
        asked = PollInput(force_retry=force_retry, backfill_hours=backfill_hours, limit=limit)
        return await multiplexer.run(
            ctx,
            Asked(POLL_DATA, reference_time, Trigger(trigger), force=force),
            lambda work: tasks.poll(platform, work, asked),
        )

    registered: Handler[..., Any] = poll_data
    return registered
