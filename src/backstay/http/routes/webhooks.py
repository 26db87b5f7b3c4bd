"""/webhooks: who is told when jobs end, and what was sent to them."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query

from backstay.http.caller import AsCaller
from backstay.http.router import operations
from backstay.http.values.common import Done, Listed
from backstay.http.values.webhooks import (
    DeliveryShown,
    DeliveryStored,
    NewWebhook,
    SecretRotation,
    WebhookChange,
    WebhookMade,
    WebhookShown,
    delivery,
)

webhooks = operations("webhooks")


@webhooks.get("", summary="List webhooks")
async def list_webhooks(
    client: AsCaller, limit: Annotated[int, Query(ge=1, le=1000)] = 200
) -> Listed[WebhookShown]:
    """List webhooks by name; their secrets are not shown."""
    found = await client.webhooks.all(limit=limit)
    return Listed[WebhookShown](items=[WebhookShown.model_validate(one) for one in found])


@webhooks.post("", status_code=201, summary="Make a webhook")
async def create_webhook(client: AsCaller, body: NewWebhook) -> WebhookMade:
    """Tell somebody of ends from now on; the secret is in this answer and nowhere else."""
    made = await client.webhooks.create(
        body.name, body.url, events=body.events, kinds=body.kinds, form=body.form
    )
    return WebhookMade.model_validate(made)


@webhooks.get("/{webhook_id}", summary="Look at a webhook")
async def get_webhook(client: AsCaller, webhook_id: UUID) -> WebhookShown:
    """Show a webhook."""
    return WebhookShown.model_validate(await client.webhooks.get(webhook_id))


@webhooks.patch("/{webhook_id}", summary="Change a webhook")
async def change_webhook(client: AsCaller, webhook_id: UUID, body: WebhookChange) -> WebhookShown:
    """Change a webhook, or switch it off and on."""
    changed = await client.webhooks.change(webhook_id, **body.model_dump(exclude_none=True))
    return WebhookShown.model_validate(changed)


@webhooks.delete("/{webhook_id}", summary="Remove a webhook")
async def remove_webhook(client: AsCaller, webhook_id: UUID) -> Done:
    """Tell it nothing any more; deliveries that wait are given up."""
    return Done(done=await client.webhooks.remove(webhook_id))


@webhooks.post("/{webhook_id}/rotate", summary="Rotate a webhook's secret")
async def rotate_webhook(client: AsCaller, webhook_id: UUID, body: SecretRotation) -> WebhookMade:
    """Sign with a new secret; for the overlap each delivery carries signatures of both."""
    return WebhookMade.model_validate(await client.webhooks.rotate(webhook_id, overlap=body.overlap))


@webhooks.post("/{webhook_id}/test", status_code=202, summary="Send a webhook a test")
async def test_webhook(client: AsCaller, webhook_id: UUID) -> DeliveryStored:
    """Send a message of the type webhook.test."""
    return DeliveryStored(job_id=await client.webhooks.test(webhook_id))


@webhooks.get("/{webhook_id}/deliveries", summary="List a webhook's deliveries")
async def list_deliveries(
    client: AsCaller, webhook_id: UUID, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> Listed[DeliveryShown]:
    """List what was sent to a webhook, or is to be, newest first."""
    found = await client.webhooks.deliveries(webhook_id, limit=limit)
    return Listed[DeliveryShown](items=[delivery(job) for job in found])


@webhooks.post("/{webhook_id}/deliveries/{job_id}/redeliver", status_code=202, summary="Send a message again")
async def redeliver(client: AsCaller, webhook_id: UUID, job_id: UUID) -> DeliveryStored:
    """Send the same message again, under the same id."""
    return DeliveryStored(job_id=await client.webhooks.redeliver(webhook_id, job_id))
