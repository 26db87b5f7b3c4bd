"""Adding webhook endpoints and delivering again."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from backstay.outgoing import TargetRefused, parse_target
from backstay_passport.domain.errors import InvalidInput
from backstay_passport.domain.events import NewEvent
from backstay_passport.services import Services
from backstay_passport.store import webhooks
from backstay_passport.store.database import new_id


def add(
    services: Services, tenant_id: str, url: str, event_types: Sequence[str], actor: str | None = None
) -> dict[str, Any]:
    """Add an endpoint and return its id and its secret, which is shown only here."""
    try:
        parse_target(url)
    except TargetRefused as error:
        raise InvalidInput(str(error)) from None
    with services.database.begin() as connection:
        endpoint_id, secret = webhooks.add_endpoint(connection, tenant_id, url, event_types)
        told = NewEvent("WebhookEndpoint", endpoint_id, "WEBHOOK_ENDPOINT_ADDED", {}, actor)
        services.tell(connection, tenant_id, told)
    return {"id": endpoint_id, "url": url, "secret": base64.b64encode(secret).decode()}


def set_active(
    services: Services, tenant_id: str, endpoint_id: str, *, active: bool, actor: str | None = None
) -> None:
    """Let an endpoint get the events of the time to come, or not; deliveries that wait already are still made."""
    with services.database.begin() as connection:
        webhooks.set_active(connection, tenant_id, endpoint_id, active=active)
        event_type = "WEBHOOK_ENDPOINT_ENABLED" if active else "WEBHOOK_ENDPOINT_DISABLED"
        services.tell(connection, tenant_id, NewEvent("WebhookEndpoint", endpoint_id, event_type, {}, actor))


def rotate(services: Services, tenant_id: str, endpoint_id: str, actor: str | None = None) -> str:
    """Give an endpoint a new secret and return it in base64; it is shown only here."""
    with services.database.begin() as connection:
        secret = webhooks.rotate_secret(connection, tenant_id, endpoint_id)
        told = NewEvent("WebhookEndpoint", endpoint_id, "WEBHOOK_SECRET_ROTATED", {}, actor)
        services.tell(connection, tenant_id, told)
    return base64.b64encode(secret).decode()


def redeliver(services: Services, tenant_id: str, delivery_id: str) -> str:
    """Deliver an event once more, as a new job; the body stays the same."""
    with services.database.begin() as connection:
        webhooks.delivery(connection, tenant_id, delivery_id)
        webhooks.reopen(connection, delivery_id)
        job = services.enqueue(
            "DELIVER_WEBHOOK",
            tenant_id,
            tx=connection,
            key=f"webhook-{delivery_id}-{new_id()}",
            webhook_delivery_id=delivery_id,
        )
    return str(job.id)
