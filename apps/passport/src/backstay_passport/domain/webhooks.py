"""What a webhook receiver gets: canonical bytes, signed with the endpoint's secret."""

from __future__ import annotations

from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.events import Event
from backstay_passport.domain.hashing import keyed_hash

SIGNATURE_HEADER = "X-BPC-Signature"
EVENT_TYPE_HEADER = "X-BPC-Event-Type"
DELIVERY_HEADER = "X-BPC-Delivery-Id"
RESPONSE_LIMIT = 65_536
"""Bytes of a receiver's answer that are kept."""

OWN_EVENTS = ("WEBHOOK_DELIVERED", "WEBHOOK_FAILED")
"""Events about deliveries are never delivered: each would cause the next."""


def body_of(event: Event) -> bytes:
    """Return the body that tells of an event, the same bytes on every attempt."""
    return encode(
        {
            "event_id": event.event_id,
            "event_type": event.event_type,
            "aggregate_type": event.aggregate_type,
            "aggregate_id": event.aggregate_id,
            "occurred_at": event.occurred_at,
            "payload": parse(event.payload_canonical),
        }
    )


def signature_of(secret: bytes, body: bytes) -> str:
    """Return the value of the signature header."""
    return f"sha256={keyed_hash(secret, body).hex()}"


def headers_of(event_type: str, delivery_id: str, secret: bytes, body: bytes) -> dict[str, str]:
    """Return the headers of a delivery."""
    return {
        "Content-Type": "application/json",
        SIGNATURE_HEADER: signature_of(secret, body),
        EVENT_TYPE_HEADER: event_type,
        DELIVERY_HEADER: delivery_id,
    }


def is_subscribed(event_types: list[str], event_type: str) -> bool:
    """True if an endpoint with these types wants an event; no types mean all of them."""
    return event_type not in OWN_EVENTS and (not event_types or event_type in event_types)
