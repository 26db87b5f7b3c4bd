"""Webhook endpoints, what they subscribe to, and deliveries."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, RowMapping, insert, select, update

from backstay_passport.store.rows import add, change, find
from backstay_passport.store.tables import webhook_deliveries, webhook_endpoints, webhook_subscriptions

SECRET_BYTES = 32


def add_endpoint(
    connection: Connection, tenant_id: str, url: str, event_types: Iterable[str], secret: bytes | None = None
) -> tuple[str, bytes]:
    """Store an endpoint and return its id and secret; without event types it gets all."""
    secret = secret or secrets.token_bytes(SECRET_BYTES)
    endpoint_id = add(connection, webhook_endpoints, tenant_id, url=url, secret=secret, active=True)
    rows = [{"endpoint_id": endpoint_id, "event_type": one} for one in dict.fromkeys(event_types)]
    if rows:
        connection.execute(insert(webhook_subscriptions), rows)
    return endpoint_id, secret


def endpoint(connection: Connection, tenant_id: str, endpoint_id: str) -> RowMapping:
    """Return an endpoint."""
    return find(connection, webhook_endpoints, tenant_id, endpoint_id, "webhook endpoint")


def endpoints(connection: Connection, tenant_id: str) -> Sequence[RowMapping]:
    """Return the endpoints of a tenant."""
    query = select(webhook_endpoints).where(webhook_endpoints.c.tenant_id == tenant_id)
    return connection.execute(query.order_by(webhook_endpoints.c.created_at)).mappings().all()


def set_active(connection: Connection, tenant_id: str, endpoint_id: str, *, active: bool) -> None:
    """Let an endpoint get events of the time to come, or not."""
    endpoint(connection, tenant_id, endpoint_id)
    change(connection, webhook_endpoints, endpoint_id, active=active)


def rotate_secret(connection: Connection, tenant_id: str, endpoint_id: str) -> bytes:
    """Give an endpoint a new secret and return it; deliveries that are still to be made are signed with it."""
    endpoint(connection, tenant_id, endpoint_id)
    secret = secrets.token_bytes(SECRET_BYTES)
    change(connection, webhook_endpoints, endpoint_id, secret=secret)
    return secret


def subscriptions(connection: Connection, endpoint_id: str) -> list[str]:
    """Return the event types that an endpoint wants; none means all."""
    query = select(webhook_subscriptions.c.event_type).where(
        webhook_subscriptions.c.endpoint_id == endpoint_id
    )
    return list(connection.execute(query.order_by(webhook_subscriptions.c.event_type)).scalars())


def delivery(connection: Connection, tenant_id: str, delivery_id: str) -> RowMapping:
    """Return a delivery."""
    return find(connection, webhook_deliveries, tenant_id, delivery_id, "webhook delivery")


def deliveries(connection: Connection, tenant_id: str, limit: int = 200) -> Sequence[RowMapping]:
    """Return the newest deliveries."""
    query = select(webhook_deliveries).where(webhook_deliveries.c.tenant_id == tenant_id)
    return (
        connection.execute(query.order_by(webhook_deliveries.c.created_at.desc()).limit(limit))
        .mappings()
        .all()
    )


def note(
    connection: Connection,
    delivery_id: str,
    *,
    status: str,
    http_status: int | None = None,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    error: str | None = None,
) -> None:
    """Write down what an attempt to deliver came to."""
    connection.execute(
        update(webhook_deliveries)
        .where(webhook_deliveries.c.id == delivery_id)
        .values(
            status=status,
            attempts=webhook_deliveries.c.attempts + 1,
            http_status=http_status,
            response_headers=None if headers is None else json.dumps(dict(headers)),
            response_body=body,
            error=error,
        )
    )


def reopen(connection: Connection, delivery_id: str) -> None:
    """Let a delivery be tried again."""
    connection.execute(
        update(webhook_deliveries).where(webhook_deliveries.c.id == delivery_id).values(status="PENDING")
    )
