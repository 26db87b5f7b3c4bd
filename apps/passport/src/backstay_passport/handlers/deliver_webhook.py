"""DELIVER_WEBHOOK: tell an endpoint of an event, with a signature over the exact bytes."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from sqlalchemy import RowMapping

from backstay import Context
from backstay.outgoing import Answer, OutgoingError, Sender, SendFailed
from backstay_passport.domain.errors import (
    InvalidInput,
    WebhookDeliveryFailed,
    WebhookError,
    WebhookNon2xx,
    WebhookTimeout,
)
from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.webhooks import RESPONSE_LIMIT, headers_of
from backstay_passport.services import Services
from backstay_passport.store import webhooks

DELIVERED = "DELIVERED"
FAILED = "FAILED"


def run(ctx: Context, services: Services, webhook_delivery_id: str) -> int:
    """Post the event; what the receiver answered is stored, and a failure is tried again."""
    with services.database.read() as connection:
        delivery = webhooks.delivery(connection, ctx.tenant, webhook_delivery_id)
        endpoint = webhooks.endpoint(connection, ctx.tenant, delivery["endpoint_id"])
    if delivery["status"] == DELIVERED:
        return int(delivery["http_status"])
    try:
        answer = _post(services, delivery, endpoint)
    except (WebhookError, InvalidInput) as error:
        return _note_failure(ctx, services, webhook_delivery_id, error, None)
    if not answer.ok:
        return _note_failure(ctx, services, webhook_delivery_id, WebhookNon2xx(answer.status), answer)
    with services.database.connect() as connection, ctx.transaction(connection) as tx:
        webhooks.note(
            connection,
            webhook_delivery_id,
            status=DELIVERED,
            http_status=answer.status,
            headers=answer.headers,
            body=answer.body[:RESPONSE_LIMIT],
        )
        told = NewEvent(
            "WebhookDelivery", webhook_delivery_id, "WEBHOOK_DELIVERED", {"status": answer.status}
        )
        services.tell(connection, ctx.tenant, told, in_job=True)
        tx.result(answer.status)
    return answer.status


def _post(services: Services, delivery: RowMapping, endpoint: RowMapping) -> Answer:
    body, secret = bytes(delivery["body"]), bytes(endpoint["secret"])
    headers = headers_of(delivery["event_type"], delivery["id"], secret, body)
    limit = services.settings.webhook_timeout
    try:
        return asyncio.run(_send(endpoint["url"], body, headers, services.settings.webhook_allow, limit))
    except TimeoutError:
        raise WebhookTimeout("timeout", {"seconds": int(limit.total_seconds())}) from None
    except SendFailed as error:
        raise WebhookDeliveryFailed(error.reason) from None
    except OutgoingError as error:
        raise InvalidInput(f"the endpoint cannot be called: {error}") from None


async def _send(
    url: str, body: bytes, headers: dict[str, str], allow: tuple[str, ...], limit: timedelta
) -> Answer:
    # The sender's own limit is longer, so that ours, from connect to the last byte, is the one that ends it.
    async with Sender(allow=allow, timeout=limit * 2) as sender:
        async with asyncio.timeout(limit.total_seconds()):
            return await sender.post(url, body, headers=headers)


def _note_failure(
    ctx: Context,
    services: Services,
    delivery_id: str,
    error: WebhookError | InvalidInput,
    answer: Answer | None,
) -> int:
    """Write down what went wrong and end the attempt with it, both or neither; most errors are tried again."""
    note = error.note if isinstance(error, WebhookError) else error.message
    with services.database.connect() as connection, ctx.transaction(connection) as tx:
        webhooks.note(
            connection,
            delivery_id,
            status=FAILED,
            http_status=None if answer is None else answer.status,
            headers=None if answer is None else answer.headers,
            body=None if answer is None else answer.body[:RESPONSE_LIMIT],
            error=note,
        )
        told = NewEvent(
            "WebhookDelivery", delivery_id, "WEBHOOK_FAILED", {"attempt": ctx.attempt, "error": note}
        )
        services.tell(connection, ctx.tenant, told, in_job=True)
        tx.fail(error)
    return 0 if answer is None else answer.status
