"""Health: one verdict on the whole, and whether the database can be reached."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.client.metrics import Metrics
from backstay.model.health import MOST_COUNTED, HealthReport, judged

TWO_SWEEPS = timedelta(seconds=10)
LAST_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Health:
    """The health of one application, from one event loop."""

    _enqueuer: Enqueuer
    _metrics: Metrics

    async def check(self) -> HealthReport:
        """Judge stale jobs, open dead letters and the failures of the last hour; never reads ended jobs."""
        insights = self._enqueuer.stores.insights
        figures = await self._metrics.over_time(LAST_HOUR)
        return judged(
            stale=await insights.stuck(grace=TWO_SWEEPS, most=MOST_COUNTED),
            dead=await insights.open_dead_letters(most=MOST_COUNTED),
            failures=sum(one.figures.failed + one.figures.crashed for one in figures),
            at=(await insights.engine()).now,
        )

    async def ping(self) -> None:
        """Ask the database for its time; raises StoreError where it cannot be reached or lacks our tables."""
        await self._enqueuer.stores.insights.engine()
