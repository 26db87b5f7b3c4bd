"""Telling webhooks of ends: each delivery is a job of its own, with retries, dead letters and redelivery."""

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
from backstay.model.job import Job
from backstay.model.reactions import JobEnded
from backstay.model.records import JobFilter
from backstay.model.rights import EVERYTHING
from backstay.model.webhooks import TEST, Webhook, body_of, event_of, message_id, written
from backstay.options import JobOptions
from backstay.outgoing.clock import utc_now
from backstay.outgoing.errors import AnswerLater, OutgoingError
from backstay.outgoing.sender import Sender
from backstay.outgoing.signatures import HexSignature, StandardWebhooks

ANNOUNCE = "backstay.webhooks.announce"
DELIVER = "backstay.webhooks.deliver"
QUEUE = "webhooks"
ATTEMPTS = 10
BACKOFF = Backoff("10s", multiplier=3, cap="6h", jitter=0.2)


class WebhookJobs:
    """The two kinds of jobs that tell webhooks of ends, registered on an application.

    ```python
    webhooks = WebhookJobs(app)

    @app.job(on_dead=webhooks.announce, on_completed=webhooks.announce)
    async def charge(card: str) -> None: ...
    ```

    `announce` is stored in the transaction of the end and stores a delivery for each webhook that is to hear of it.
    `allow` opens private addresses, as of `backstay.outgoing.Sender`; otherwise only public ones are called.
    """

    def __init__(
        self, app: Backstay, *, allow: Iterable[str] = (), timeout: timedelta = timedelta(seconds=10)
    ) -> None:
        self._app, self._allow, self._timeout = app, tuple(allow), timeout
        self.announce: AsyncHandler[Any, Any] = app.job(kind=ANNOUNCE, queue=QUEUE)(self._announce)
        self.deliver: AsyncHandler[Any, Any] = app.job(
            kind=DELIVER, queue=QUEUE, max_attempts=ATTEMPTS, backoff=BACKOFF, timeout="60s"
        )(self._deliver)

    async def _announce(self, ctx: Context, ended: JobEnded) -> int:
        """Store a delivery for each webhook that is to hear of an end; returns how many."""
        if ctx.tenant != ended.tenant:
            raise Hopeless("this job speaks of another tenant than it belongs to: nothing was sent")
        event, body = event_of(ended), body_of(ended)
        listening = await self._app.webhooks.listening(event, kind=ended.kind, tenant=ended.tenant)
        for webhook in listening:
            await store_delivery(self._app, webhook, message_id(webhook.id, ended), body)
        return len(listening)

    async def _deliver(self, ctx: Context, webhook_id: str, message: str, body: str) -> dict[str, Any]:
        """Send one message; what cannot succeed is dead at once, the rest is tried again."""
        try:
            webhook = await self._app.webhooks.get(UUID(webhook_id))
            secrets = await self._app.webhooks.signing_secrets(webhook.id)
        except NotFound:
            raise Hopeless("the webhook was removed") from None
        if ctx.tenant != own_tenant(webhook):
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


async def store_delivery(
    app: Backstay, webhook: Webhook, message: str, body: str, *, again: bool = False
) -> UUID:
    """Store the job that sends a message to a webhook; a message that was stored already is found."""
    options = JobOptions(
        tenant=own_tenant(webhook), tags=[tag_of(webhook.id)], key=None if again else message
    )
    args = {"webhook_id": str(webhook.id), "message": message, "body": body}
    return (await app.jobs.enqueue_by_name(DELIVER, args, options)).id


async def store_test(app: Backstay, webhook: Webhook) -> UUID:
    """Store a delivery that only shows whether the webhook can be reached."""
    now = utc_now()
    message = f"msg_{webhook.id.hex}_test_{int(now.timestamp() * 1000)}"
    return await store_delivery(app, webhook, message, written(TEST, now, {"webhook": str(webhook.id)}))


async def deliveries(app: Backstay, webhook: Webhook, *, limit: int) -> list[Job]:
    """What was sent to a webhook, or is to be, newest first."""
    return (await app.jobs.search(JobFilter(kind=DELIVER, tag=tag_of(webhook.id)), limit=limit)).jobs


async def redeliver(app: Backstay, webhook: Webhook, delivery: UUID) -> UUID:
    """Send the same message again, under the same id; raises NotFound."""
    job = await app.jobs.get(delivery)
    if job.kind != DELIVER or job.args.get("webhook_id") != str(webhook.id):
        raise NotFound("delivery", delivery)
    return await store_delivery(app, webhook, job.args["message"], job.args["body"], again=True)


def own_tenant(webhook: Webhook) -> str:
    """The tenant of a webhook's deliveries; none for a webhook that hears of all tenants."""
    return "" if webhook.tenant == EVERYTHING else webhook.tenant


def tag_of(webhook_id: UUID) -> str:
    """What the deliveries of a webhook are found by."""
    return f"webhook:{webhook_id}"
