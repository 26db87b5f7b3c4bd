"""Appending to the event chains, and the deliveries that follow from an event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, func, insert, select
from sqlalchemy.exc import IntegrityError

from backstay_passport.domain.errors import EventVersionConflict
from backstay_passport.domain.events import ChainEnd, Event, NewEvent, chain
from backstay_passport.domain.webhooks import body_of, is_subscribed
from backstay_passport.store.database import new_id, now_text
from backstay_passport.store.rows import add
from backstay_passport.store.tables import (
    events,
    webhook_deliveries,
    webhook_endpoints,
    webhook_subscriptions,
)


@dataclass(frozen=True)
class Appended:
    """An event that was appended, and the deliveries that it causes."""

    event: Event
    delivery_ids: tuple[str, ...]


def append(connection: Connection, tenant_id: str, new: NewEvent) -> Appended:
    """Append an event to the chain of its aggregate, and a delivery for each endpoint that wants it.

    Raises `EventVersionConflict` if somebody else appended to the same chain in the meantime.
    """
    last = connection.execute(
        select(events.c.aggregate_version, events.c.hash)
        .where(
            events.c.tenant_id == tenant_id,
            events.c.aggregate_type == new.aggregate_type,
            events.c.aggregate_id == new.aggregate_id,
        )
        .order_by(events.c.aggregate_version.desc())
        .limit(1)
    ).one_or_none()
    previous = None if last is None else (int(last.aggregate_version), bytes(last.hash))
    event = chain(new, event_id=new_id(), tenant_id=tenant_id, occurred_at=now_text(), previous=previous)
    try:
        with connection.begin_nested():
            connection.execute(insert(events).values(**event.__dict__))
    except IntegrityError as error:
        raise EventVersionConflict(
            f"event {event.aggregate_version} of {new.aggregate_type} {new.aggregate_id} was appended by somebody else"
        ) from error
    return Appended(event, tuple(_deliveries(connection, event)))


def _deliveries(connection: Connection, event: Event) -> list[str]:
    endpoints = connection.execute(
        select(webhook_endpoints.c.id).where(
            webhook_endpoints.c.tenant_id == event.tenant_id, webhook_endpoints.c.active.is_(True)
        )
    ).scalars()
    wanted: list[str] = []
    for endpoint_id in endpoints.all():
        types = connection.execute(
            select(webhook_subscriptions.c.event_type).where(
                webhook_subscriptions.c.endpoint_id == endpoint_id
            )
        )
        if is_subscribed(list(types.scalars()), event.event_type):
            wanted.append(endpoint_id)
    return [
        add(
            connection,
            webhook_deliveries,
            event.tenant_id,
            endpoint_id=endpoint_id,
            event_id=event.event_id,
            event_type=event.event_type,
            body=body_of(event),
            status="PENDING",
            attempts=0,
        )
        for endpoint_id in wanted
    ]


def event_of(row: RowMapping) -> Event:
    """Read an event."""
    binary = ("payload_canonical", "prev_hash", "hash")
    values: dict[str, Any] = {name: bytes(row[name]) if name in binary else row[name] for name in row}
    return Event(**values)


def all_events(connection: Connection, tenant_id: str, *conditions: object) -> list[Event]:
    """Return the events of a tenant, chain by chain."""
    query = select(events).where(events.c.tenant_id == tenant_id, *conditions)  # type: ignore[arg-type]  # conditions of SQLAlchemy
    ordered = query.order_by(events.c.aggregate_type, events.c.aggregate_id, events.c.aggregate_version)
    return [event_of(row) for row in connection.execute(ordered).mappings()]


def history(connection: Connection, tenant_id: str, aggregate_id: str) -> list[Event]:
    """Return what happened to one thing."""
    return all_events(connection, tenant_id, events.c.aggregate_id == aggregate_id)


def latest(connection: Connection, tenant_id: str, limit: int = 50) -> Sequence[Event]:
    """Return the newest events of a tenant."""
    query = select(events).where(events.c.tenant_id == tenant_id)
    rows = connection.execute(query.order_by(events.c.occurred_at.desc()).limit(limit)).mappings()
    return [event_of(row) for row in rows]


def chain_ends(connection: Connection, tenant_id: str) -> list[ChainEnd]:
    """Return the last event of each chain."""
    newest = (
        select(
            events.c.aggregate_type,
            events.c.aggregate_id,
            func.max(events.c.aggregate_version).label("version"),
        )
        .where(events.c.tenant_id == tenant_id)
        .group_by(events.c.aggregate_type, events.c.aggregate_id)
        .subquery()
    )
    rows = connection.execute(
        select(events)
        .join(
            newest,
            (events.c.aggregate_type == newest.c.aggregate_type)
            & (events.c.aggregate_id == newest.c.aggregate_id)
            & (events.c.aggregate_version == newest.c.version),
        )
        .where(events.c.tenant_id == tenant_id)
    ).mappings()
    found = [event_of(row) for row in rows]
    return [ChainEnd(one.aggregate_type, one.aggregate_id, one.aggregate_version, one.hash) for one in found]
