"""Waits for the results of a batch of requests: woken by the provider's callback, and asking it now and then."""

from __future__ import annotations

from contextlib import suppress

from backstay import Context
from backstay.errors import SignalTimeout
from backstay_watchpoint.domain.payloads import TaskType
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.services import results
from backstay_watchpoint.services.work import Work

RESULTS_SIGNAL = "results"
WAITING_KINDS = ("check_canaries", "collect_results")
LOOKS = 12
"""How often the provider is asked until the time for results is over."""


async def wait_for_results(
    ctx: Context, platform: Platform, work: Work, task_type: TaskType, batch: str
) -> None:
    """Wait until every request of a batch has ended, and raise alerts about those that failed or are missing.

    The job is held without a worker while it waits. Each look is a step, so that a run which goes on after a wait
    does not ask again what it was told before.
    """
    patience = platform.settings.results_timeout

    async def look() -> int:
        return await results.still_missing(work, platform.provider, batch, platform.clock())

    for number in range(LOOKS):
        if not await ctx.step(f"look {number}", look):
            break
        with suppress(SignalTimeout):
            await ctx.wait_for(RESULTS_SIGNAL, timeout=patience / LOOKS)
    else:
        if await look():
            await results.tell_missing(work, task_type, batch, patience)
    await results.tell_failed(work, task_type, batch)
