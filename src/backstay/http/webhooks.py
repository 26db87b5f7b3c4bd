"""Sending messages to webhooks: each delivery is a job of its own, with retries, dead letters and redelivery."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from backstay.app import Backstay
from backstay.context import Context
from backstay.errors import Hopeless, NotFound, Retry
from backstay.handler import AsyncHandler
from backstay.model.backoff import Backoff
from backstay.model.webhooks import DELIVER, QUEUE, Webhook
from backstay.outgoing.clock import utc_now
from backstay.outgoing.errors import AnswerLater, OutgoingError
from backstay.outgoing.sender import Sender
from backstay.outgoing.signatures import HexSignature, StandardWebhooks

ATTEMPTS = 10
BACKOFF = Backoff("10s", multiplier=3, cap="6h", jitter=0.2)


class WebhookJobs:
    """The jobs that send messages to webhooks, registered on an application.

    ```python
    WebhookJobs(app)
    ```

    The leading worker stores a delivery for each webhook that hears of an end; a worker with these jobs sends it.
    `allow` opens private addresses, as of `backstay.outgoing.Sender`; otherwise only public ones are called.
    """

    def __init__(
        self, app: Backstay, *, allow: Iterable[str] = (), timeout: timedelta = timedelta(seconds=10)
    ) -> None:
        self._app, self._allow, self._timeout = app, tuple(allow), timeout
        self.deliver: AsyncHandler[Any, Any] = app.job(
            kind=DELIVER, queue=QUEUE, max_attempts=ATTEMPTS, backoff=BACKOFF, timeout="60s"
        )(self._deliver)

    async def _deliver(self, ctx: Context, webhook_id: str, message: str, body: str) -> dict[str, Any]:
        """Send one message; what cannot succeed is dead at once, the rest is tried again."""
        try:
            webhook = await self._app.webhooks.get(UUID(webhook_id))
            secrets = await self._app.webhooks.signing_secrets(webhook.id)
        except NotFound:
            raise Hopeless("the webhook was removed") from None
        if ctx.tenant != webhook.own_tenant:
            raise Hopeless("the webhook belongs to another tenant than this job: nothing was sent")
        if not webhook.is_enabled:
            raise Hopeless("the webhook is switched off")
        data = body.encode()
        try:
            async with Sender(
                allow=self._allow, timeout=self._timeout, user_agent="backstay-webhooks"
            ) as sender:
                answer = await sender.post(webhook.url, data, headers=signed(webhook, secrets, message, data))
                answer.raise_for_status()
        except AnswerLater as later:
            raise Retry(str(later), after=later.retry_after) from None
        except OutgoingError as error:
            if error.permanent:
                raise Hopeless(str(error)) from None
            raise
        return {"status": answer.status, "took_ms": int(answer.took.total_seconds() * 1000)}


def signed(webhook: Webhook, secrets: Iterable[str], message: str, body: bytes) -> Mapping[str, str]:
    """The headers of a delivery: its type, and its signature in the form that the webhook wants."""
    kind = {"Content-Type": "application/json"}
    if webhook.form == "sha256":
        return {**kind, "webhook-id": message, **HexSignature(*secrets).headers(body)}
    return {**kind, **StandardWebhooks(*secrets).headers(message, utc_now(), body)}
