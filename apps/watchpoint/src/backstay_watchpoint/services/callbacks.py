"""What the provider's word that a job has ended leads to."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain.reconcile import ProviderState
from backstay_watchpoint.domain.results import ending
from backstay_watchpoint.services.forecasts import mark_complete
from backstay_watchpoint.services.results import note_ended, unfinished
from backstay_watchpoint.store.tables import forecast_runs, provider_jobs


class NotKnownYet(Exception):
    """A job of ours that has ended before its id was stored: whoever tells it must tell it again."""


async def job_ended(
    transaction: AsyncConnection, external_id: str, state: ProviderState, now: datetime
) -> str | None:
    """Note that a job has ended; returns the batch whose last result has arrived with it.

    `state` is what the provider answered when it was asked, not what the callback said. A failed forecast is left to
    the reconciler. Raises NotKnownYet for a job whose id no row has.
    """
    ended = ending(state, has_results=False)
    if ended is None or state is ProviderState.UNKNOWN:
        return None
    run_id = await transaction.scalar(
        select(forecast_runs.c.id).where(forecast_runs.c.external_id == external_id)
    )
    if run_id is not None:
        if state is ProviderState.COMPLETED:
            await mark_complete(transaction, run_id, now)
        return None
    asked = select(provider_jobs.c.external_id).where(provider_jobs.c.external_id == external_id)
    if await transaction.scalar(asked) is None:
        raise NotKnownYet(external_id)
    batch = await note_ended(transaction, external_id, ended, now)
    if batch is None or await unfinished(transaction, batch):
        return None
    return batch
