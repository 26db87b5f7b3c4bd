"""Alerts, for somebody who acts."""

from __future__ import annotations

from dataclasses import dataclass

from backstay.client.acting.scope import Scope
from backstay.model.alerts import Alert, AlertMute
from backstay.model.text.durations import Duration


@dataclass(frozen=True, slots=True)
class ActingAlerts:
    """Alerts, which concern everybody."""

    scope: Scope

    async def active(self) -> list[Alert]:
        """The alerts that hold now."""
        self.scope.need_all_tenants("alerts.read")
        return await self.scope.app.alerts.active()

    async def newest(self, *, limit: int = 100) -> list[Alert]:
        """What has fired, newest first."""
        self.scope.need_all_tenants("alerts.read")
        return await self.scope.app.alerts.newest(limit=limit)

    async def mutes(self) -> list[AlertMute]:
        """The rules that are muted now."""
        self.scope.need_all_tenants("alerts.read")
        return await self.scope.app.alerts.mutes()

    async def mute(self, rule: str, *, length: Duration, reason: str) -> None:
        """Mute a rule: until then it notifies nobody."""
        self.scope.need_all_tenants("alerts.mute")
        await self.scope.app.alerts.mute(rule, length=length, reason=reason, by=self.scope.actor)

    async def unmute(self, rule: str) -> bool:
        """Let people be told again."""
        self.scope.need_all_tenants("alerts.mute")
        return await self.scope.app.alerts.unmute(rule, by=self.scope.actor)
