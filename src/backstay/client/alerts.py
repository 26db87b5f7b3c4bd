"""Alerts: rules that fire once until they hold no more, and that people can mute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from backstay.client.arguments import who, why
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.client.metrics import Metrics
from backstay.errors import InvalidSettings
from backstay.model.alerts import (
    MOST_COUNTED,
    NAMES,
    Alert,
    AlertCheck,
    AlertMute,
    AlertSituation,
    holding,
)
from backstay.model.text.durations import Duration, duration

LAST_HOUR = timedelta(hours=1)
SHORTEST_MUTE = timedelta(seconds=1)
MOST_LISTED = 1000


@dataclass(frozen=True)
class Alerts:
    """The alerts of one application, from one event loop."""

    _enqueuer: Enqueuer
    _metrics: Metrics
    _thresholds: Mapping[str, float] = field(default_factory=dict)

    async def check(self) -> AlertCheck:
        """Look at every rule: note those that begin to hold, and those that hold no more.

        The thresholds are those of the setting `alert_thresholds`, the same for everybody who looks. Called by several
        at once, each alert fires once.
        """
        now = holding(await self.situation(), self._thresholds)
        quiet = [rule for rule in NAMES if rule not in {one.rule for one in now}]
        alerts = self._enqueuer.stores.service.alerts
        new_id = self._enqueuer.env.new_id
        fired, cleared = await alerts.update([(new_id(), one) for one in now], quiet)
        return AlertCheck(tuple(fired), tuple(cleared), tuple(await alerts.active()))

    async def situation(self) -> AlertSituation:
        """What the rules look at; never reads ended jobs."""
        stores = self._enqueuer.stores
        kinds = await self._metrics.by_kind(LAST_HOUR)
        slowest = max(kinds, key=lambda one: one.figures.p95_ms or 0.0, default=None)
        return AlertSituation(
            waiting=sum(one.jobs for one in await stores.insights.waiting(most=MOST_COUNTED)),
            dead_workers=sum(one.state == "dead" for one in await stores.workers.all(limit=MOST_LISTED)),
            attempts=sum(one.figures.ended for one in kinds),
            failed=sum(one.figures.failed + one.figures.crashed for one in kinds),
            dead_letters=await stores.insights.open_dead_letters(most=MOST_COUNTED),
            slowest_p95_ms=(slowest.figures.p95_ms or 0.0) if slowest else 0.0,
            slowest_kind=slowest.kind if slowest else "",
        )

    async def active(self) -> list[Alert]:
        """The alerts that hold now, the oldest first."""
        return await self._enqueuer.stores.service.alerts.active()

    async def newest(self, *, limit: int = 100) -> list[Alert]:
        """What has fired, newest first, also what holds no more."""
        return await self._enqueuer.stores.service.alerts.newest(limit=min(max(limit, 1), MOST_LISTED))

    async def to_announce(self) -> list[Alert]:
        """The alerts that hold and were not announced yet, without muted ones; for what notifies people."""
        return await self._enqueuer.stores.service.alerts.to_announce()

    async def announced(self, alert_id: UUID) -> None:
        """Note that an alert was announced."""
        await self._enqueuer.stores.service.alerts.announced(alert_id)

    async def mute(self, rule: str, *, length: Duration, reason: str, by: str = "client") -> None:
        """Mute a rule: until then it fires and is shown, but notifies nobody."""
        await self._enqueuer.stores.service.alerts.mute(
            _rule(rule),
            length=duration(length, field="length", shortest=SHORTEST_MUTE),
            actor=who(by),
            reason=why(reason),
        )

    async def unmute(self, rule: str, *, by: str = "client") -> bool:
        """Let people be told again; False when it was not muted."""
        return await self._enqueuer.stores.service.alerts.unmute(_rule(rule), actor=who(by))

    async def mutes(self) -> list[AlertMute]:
        """The rules that are muted now."""
        return await self._enqueuer.stores.service.alerts.mutes()


def _rule(rule: str) -> str:
    if rule not in NAMES:
        raise InvalidSettings(f"no alert rule {rule!r}: there are {', '.join(NAMES)}")
    return rule
