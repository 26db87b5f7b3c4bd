"""Looking at the alert rules regularly, and telling people of those that fire: both are jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backstay.app import Backstay
from backstay.context import Context
from backstay.errors import Hopeless
from backstay.handler import AsyncHandler
from backstay.model.alerts import Alert
from backstay.model.text.durations import Duration
from backstay.notifications.errors import Undeliverable
from backstay.notifications.notification import Channel, Notification, Severity
from backstay.options import JobOptions

CHECK = "backstay.alerts.check"
TELL = "backstay.alerts.tell"
QUEUE = "alerts"


class AlertJobs:
    """The two kinds of jobs behind alerts, registered on an application.

    ```python
    AlertJobs(app, [(EmailChannel(smtp), "oncall@example.com")])
    ```

    The rules are looked at `every` so often, with the thresholds of the setting `alert_thresholds`. Each one that
    begins to hold is told once through every channel, with retries, and again only after it has held no more.
    """

    def __init__(
        self,
        app: Backstay,
        channels: Sequence[tuple[Channel, str]],
        *,
        every: Duration = "30s",
    ) -> None:
        self._app, self._channels = app, list(channels)
        check = app.job(kind=CHECK, queue=QUEUE, max_attempts=1)(self._check)
        self.check: AsyncHandler[Any, Any] = app.schedule(every=every, name=CHECK, overlap="skip")(check)
        self.tell: AsyncHandler[Any, Any] = app.job(kind=TELL, queue=QUEUE, max_attempts=8)(self._tell)

    async def _check(self) -> dict[str, list[str]]:
        """Look at every rule, and store what people are to be told."""
        found = await self._app.alerts.check()
        for alert in await self._app.alerts.to_announce():
            for number in range(len(self._channels)):
                # The key keeps a check that died on the way from telling twice.
                options = JobOptions(key=f"alert:{alert.id}:{number}")
                args = {"channel": number, "rule": alert.rule, "severity": alert.severity, **_texts(alert)}
                await self._app.jobs.enqueue_by_name(TELL, args, options)
            await self._app.alerts.announced(alert.id)
        return {"fired": list(found.fired), "cleared": list(found.cleared)}

    async def _tell(
        self, ctx: Context, channel: int, rule: str, severity: str, subject: str, text: str, key: str
    ) -> str:
        """Send one notification through one channel."""
        if ctx.tenant:
            raise Hopeless("alerts are about all tenants, and this job belongs to one: nothing was sent")
        if channel >= len(self._channels):
            raise Hopeless("the channel is no longer there")
        carrier, recipient = self._channels[channel]
        told = Notification(
            recipient, subject, text, severity=Severity(severity), key=key, facts={"rule": rule}
        )
        try:
            return (await carrier.send(told)).channel
        except Undeliverable as error:
            raise Hopeless(str(error)) from None


def _texts(alert: Alert) -> dict[str, str]:
    return {
        "subject": f"{alert.severity}: {alert.rule}",
        "text": f"{alert.message}. The threshold is {alert.threshold:g}. What to do: {alert.action}.",
        "key": str(alert.id),
    }
