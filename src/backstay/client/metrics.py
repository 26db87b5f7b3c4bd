"""Figures: how much waits, how much is done in what time, and how long it takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.errors import InvalidPolicy
from backstay.model.figures import (
    Depth,
    FiguresAt,
    KindFigures,
    Period,
    TalliedAt,
    TenantDepths,
    by_kind,
    by_time,
    figures_of,
)
from backstay.model.scaling import Scaling, ScalingRule, ScalingSignals, scaled
from backstay.model.service_levels import ServiceLevel, ServiceSituation, service_levels
from backstay.model.text.durations import Duration, duration

MOST_ROWS = 100_000
MOST_COUNTED = 10_000
MOST_WORKERS = 1000
MOST_TENANTS = 1000
WRITES = 20
PROBE = "backstay_probe_writes"


MINUTES_KEPT = timedelta(days=2)


def period_for(last: Duration) -> Period:
    """The period to read a while by: minutes are kept for two days, and the first of them may be gone."""
    return Period.HOUR if duration(last, field="last") >= MINUTES_KEPT else Period.MINUTE


@dataclass(frozen=True)
class Metrics:
    """The figures of one application, from one event loop."""

    _enqueuer: Enqueuer

    async def over_time(
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
        wanted = Period(period)
        return by_time(await self._read(last, until, wanted.kept, queue, kind), wanted)

    async def by_kind(
        self,
        last: Duration = timedelta(hours=1),
        *,
        until: datetime | None = None,
        period: Period | str = Period.MINUTE,
        queue: str | None = None,
    ) -> list[KindFigures]:
        """Return the same for each queue and kind over the whole while, in the order of their names."""
        return by_kind(await self._read(last, until, Period(period).kept, queue, None))

    async def service_levels(self, last: Duration = timedelta(days=1)) -> list[ServiceLevel]:
        """Return the six service levels over the last while: what was promised, what was measured, whether it holds.

        How long a submission takes is measured now, by twenty committed writes from here.
        """
        stores, length = self._enqueuer.stores, duration(last, field="last")
        now = (await stores.insights.engine()).now
        whole = await self._read(length, None, Period.HOUR, None, None)
        return service_levels(
            ServiceSituation(
                submissions_ms=[await self._one_write() for _ in range(WRITES)],
                whole=figures_of(one.tallied for one in whole),
                minutes=await self.over_time(min(length, timedelta(days=2))),
                waiting=sum(one.jobs for one in await stores.insights.waiting(most=MOST_COUNTED)),
                workers=await stores.workers.all(limit=MOST_WORKERS),
                since=now - length,
                now=now,
            )
        )

    async def _one_write(self) -> float:
        began = self._enqueuer.env.monotonic()
        await self._enqueuer.stores.figures.count(PROBE, 1)
        return (self._enqueuer.env.monotonic() - began) * 1000

    async def count(self, name: str, number: int = 1) -> int:
        """Add to a counter of your own, such as `invoices_sent`; returns what all processes together have come to.

        Committed when this returns. A row of the database is changed each time, so count events and not loops.
        """
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,99}", name):
            raise InvalidPolicy("name", name, needs="lower-case letters, digits and underscores, at most 100")
        if type(number) is not int or not 0 <= number < 2**53:
            raise InvalidPolicy(
                "number", number, needs="a whole number that is not negative: counters only rise"
            )
        return await self._enqueuer.stores.figures.count(name, number)

    async def counters(self) -> dict[str, int]:
        """Return what the application has counted, by name."""
        return await self._enqueuer.stores.figures.counters()

    async def depths(self, *, tenant: str | None = None) -> list[Depth]:
        """Return how many jobs of each queue and kind wait, run or are dead, each counted up to 10,000.

        Of one tenant, if one is named; then nothing is said of how long the first has waited. Unlike `jobs.counts()`
        it never reads jobs that have ended, however many there are.
        """
        stores = self._enqueuer.stores
        if tenant is not None:
            return await stores.figures.depths(most=MOST_COUNTED, tenant=tenant)
        waiting = await stores.insights.waiting(most=MOST_COUNTED)
        ready = [
            Depth(
                "available", one.queue, one.kind, one.jobs, one.oldest_for, is_capped=one.jobs >= MOST_COUNTED
            )
            for one in waiting
        ]
        return ready + await stores.figures.depths(most=MOST_COUNTED)

    async def by_tenant(self, *, limit: int = 200) -> list[TenantDepths]:
        """Return the tenants that have jobs waiting or running, by name, each state counted up to 10,000.

        Jobs that have no tenant are left out.
        """
        return await self._enqueuer.stores.figures.by_tenant(
            most=MOST_COUNTED, limit=min(max(limit, 1), MOST_TENANTS)
        )

    async def desired_workers(
        self, rule: ScalingRule | None = None, *, changed_ago: Duration | None = None
    ) -> Scaling:
        """Return how many workers there should be and why, for what starts and stops them.

        `changed_ago` is how long ago the number was changed: during the rule's cool-down it stays as it is.
        """
        waiting = [depth for depth in await self.depths() if depth.state == "available"]
        alive = [
            one
            for one in await self._enqueuer.stores.workers.all(limit=MOST_WORKERS)
            if one.standing == "alive"
        ]
        busy = [one.cpu_percent for one in alive if one.cpu_percent is not None]
        signals = ScalingSignals(
            workers=len(alive),
            waiting=sum(depth.jobs for depth in waiting),
            oldest_wait=max((one.oldest_for or timedelta(0) for one in waiting), default=timedelta(0)),
            cpu_percent=sum(busy) / len(busy) if busy else None,
        )
        ago = None if changed_ago is None else duration(changed_ago, field="changed_ago")
        return scaled(signals, rule or ScalingRule(), changed_ago=ago)

    async def _read(
        self, last: Duration, until: datetime | None, period: Period, queue: str | None, kind: str | None
    ) -> list[TalliedAt]:
        stores = self._enqueuer.stores
        length = duration(last, field="last")
        end = until or (await stores.insights.engine()).now + timedelta(seconds=1)
        return await stores.figures.read(
            period, since=end - length, until=end, queue=queue, kind=kind, limit=MOST_ROWS
        )
