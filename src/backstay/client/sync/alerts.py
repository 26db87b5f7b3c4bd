"""The blocking twin of the alerts, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from uuid import UUID

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.alerts import Alert, AlertCheck, AlertMute, AlertSituation
from backstay.model.text.durations import Duration


class SyncAlerts:
    """The alerts of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def check(self) -> AlertCheck:
        """Look at every rule: note those that begin to hold, and those that hold no more.

        The thresholds are those of the setting `alert_thresholds`, the same for everybody who looks. Called by several
        at once, each alert fires once.
        """
        return self._loop.run(lambda: self._app.alerts.check(), name="sync.alerts.check")

    def situation(self) -> AlertSituation:
        """What the rules look at; never reads ended jobs."""
        return self._loop.run(lambda: self._app.alerts.situation(), name="sync.alerts.situation")

    def active(self) -> list[Alert]:
        """The alerts that hold now, the oldest first."""
        return self._loop.run(lambda: self._app.alerts.active(), name="sync.alerts.active")

    def newest(self, *, limit: int = 100) -> list[Alert]:
        """What has fired, newest first, also what holds no more."""
        return self._loop.run(lambda: self._app.alerts.newest(limit=limit), name="sync.alerts.newest")

    def to_announce(self) -> list[Alert]:
        """The alerts that hold and were not announced yet, without muted ones; for what notifies people."""
        return self._loop.run(lambda: self._app.alerts.to_announce(), name="sync.alerts.to_announce")

    def announced(self, alert_id: UUID) -> None:
        """Note that an alert was announced."""
        self._loop.run(lambda: self._app.alerts.announced(alert_id), name="sync.alerts.announced")

    def mute(self, rule: str, *, length: Duration, reason: str, by: str = "client") -> None:
        """Mute a rule: until then it fires and is shown, but notifies nobody."""
        self._loop.run(
            lambda: self._app.alerts.mute(rule, length=length, reason=reason, by=by), name="sync.alerts.mute"
        )

    def unmute(self, rule: str, *, by: str = "client") -> bool:
        """Let people be told again; False when it was not muted."""
        return self._loop.run(lambda: self._app.alerts.unmute(rule, by=by), name="sync.alerts.unmute")

    def mutes(self) -> list[AlertMute]:
        """The rules that are muted now."""
        return self._loop.run(lambda: self._app.alerts.mutes(), name="sync.alerts.mutes")
