"""The blocking twin of the metrics, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.figures import (
    Depth,
    FiguresAt,
    KindFigures,
    Period,
    TenantDepths,
)
from backstay.model.scaling import Scaling, ScalingRule
from backstay.model.service_levels import ServiceLevel
from backstay.model.text.durations import Duration


class SyncMetrics:
    """The figures of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def over_time(
        self,
        last: Duration = timedelta(hours=1),
        *,
        until: datetime | None = None,
        period: Period | str = Period.MINUTE,
        queue: str | None = None,
        kind: str | None = None,
    ) -> list[FiguresAt]:
        """Return what ended in each minute, hour, day or week of the last while, the oldest first, without empty ones.

        Days and weeks are those of UTC. Minutes are kept for two days, hours for 400. A worker adds what it has counted
        every five seconds; what one had counted when it was killed is missing.
        """
        return self._loop.run(
            lambda: self._app.metrics.over_time(last, until=until, period=period, queue=queue, kind=kind),
            name="sync.metrics.over_time",
        )

    def by_kind(
        self,
        last: Duration = timedelta(hours=1),
        *,
        until: datetime | None = None,
        period: Period | str = Period.MINUTE,
        queue: str | None = None,
    ) -> list[KindFigures]:
        """Return the same for each queue and kind over the whole while, in the order of their names."""
        return self._loop.run(
            lambda: self._app.metrics.by_kind(last, until=until, period=period, queue=queue),
            name="sync.metrics.by_kind",
        )

    def service_levels(self, last: Duration = timedelta(days=1)) -> list[ServiceLevel]:
        """Return the six service levels over the last while: what was promised, what was measured, whether it holds.

        How long a submission takes is measured now, by twenty committed writes from here.
        """
        return self._loop.run(
            lambda: self._app.metrics.service_levels(last), name="sync.metrics.service_levels"
        )

    def count(self, name: str, number: int = 1) -> int:
        """Add to a counter of your own, such as `invoices_sent`; returns what all processes together have come to.

        Committed when this returns. A row of the database is changed each time, so count events and not loops.
        """
        return self._loop.run(lambda: self._app.metrics.count(name, number), name="sync.metrics.count")

    def counters(self) -> dict[str, int]:
        """Return what the application has counted, by name."""
        return self._loop.run(lambda: self._app.metrics.counters(), name="sync.metrics.counters")

    def depths(self, *, tenant: str | None = None) -> list[Depth]:
        """Return how many jobs of each queue and kind wait, run or are dead, each counted up to 10,000.

        Of one tenant, if one is named; then nothing is said of how long the first has waited. Unlike `jobs.counts()`
        it never reads jobs that have ended, however many there are.
        """
        return self._loop.run(lambda: self._app.metrics.depths(tenant=tenant), name="sync.metrics.depths")

    def by_tenant(self, *, limit: int = 200) -> list[TenantDepths]:
        """Return the tenants that have jobs waiting or running, by name, each state counted up to 10,000.

        Jobs that have no tenant are left out.
        """
        return self._loop.run(lambda: self._app.metrics.by_tenant(limit=limit), name="sync.metrics.by_tenant")

    def desired_workers(
        self, rule: ScalingRule | None = None, *, changed_ago: Duration | None = None
    ) -> Scaling:
        """Return how many workers there should be and why, for what starts and stops them.

        `changed_ago` is how long ago the number was changed: during the rule's cool-down it stays as it is.
        """
        return self._loop.run(
            lambda: self._app.metrics.desired_workers(rule, changed_ago=changed_ago),
            name="sync.metrics.desired_workers",
        )
