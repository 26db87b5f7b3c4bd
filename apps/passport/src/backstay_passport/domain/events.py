"""The event chain: what happened to each thing, in order, each entry fixed by the hash of the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from backstay_passport.domain.canonical import encode
from backstay_passport.domain.hashing import hash_of, sha256
from backstay_passport.domain.merkle import leaf_hash, root_of

FIRST_PREVIOUS = bytes(32)


@dataclass(frozen=True)
class NewEvent:
    """Something that happened, before it has a place in its chain."""

    aggregate_type: str
    aggregate_id: str
    event_type: str
    payload: dict[str, Any]
    actor_id: str | None = None


@dataclass(frozen=True)
class Event:
    """An event in the chain of its aggregate."""

    event_id: str
    tenant_id: str
    aggregate_type: str
    aggregate_id: str
    aggregate_version: int
    event_type: str
    occurred_at: str
    actor_id: str | None
    payload_canonical: bytes
    prev_hash: bytes
    hash: bytes

    def computed_hash(self) -> bytes:
        """Return the hash that the event should have."""
        return hash_of(
            {
                "event_id": self.event_id,
                "tenant_id": self.tenant_id,
                "aggregate_type": self.aggregate_type,
                "aggregate_id": self.aggregate_id,
                "aggregate_version": self.aggregate_version,
                "event_type": self.event_type,
                "occurred_at": self.occurred_at,
                "actor_id": self.actor_id,
                "payload_hash": sha256(self.payload_canonical).hex(),
                "prev_hash": self.prev_hash.hex(),
            }
        )


def chain(
    new: NewEvent, *, event_id: str, tenant_id: str, occurred_at: str, previous: tuple[int, bytes] | None
) -> Event:
    """Put an event behind the last one of its aggregate, given as version and hash."""
    version, prev_hash = previous or (0, FIRST_PREVIOUS)
    event = Event(
        event_id=event_id,
        tenant_id=tenant_id,
        aggregate_type=new.aggregate_type,
        aggregate_id=new.aggregate_id,
        aggregate_version=version + 1,
        event_type=new.event_type,
        occurred_at=occurred_at,
        actor_id=new.actor_id,
        payload_canonical=encode(new.payload),
        prev_hash=prev_hash,
        hash=b"",
    )
    return Event(**{**event.__dict__, "hash": event.computed_hash()})


def chain_problems(events: Iterable[Event]) -> list[str]:
    """Check the chains of all aggregates; return what is wrong, nothing if all is well."""
    found: list[str] = []
    last: dict[tuple[str, str], Event] = {}
    ordered = sorted(events, key=lambda one: (one.aggregate_type, one.aggregate_id, one.aggregate_version))
    for event in ordered:
        key = (event.aggregate_type, event.aggregate_id)
        name = f"{event.aggregate_type} {event.aggregate_id} event {event.aggregate_version} ({event.event_type})"
        before = last.get(key)
        expected_version = before.aggregate_version + 1 if before else 1
        if event.aggregate_version != expected_version:
            found.append(f"{name}: event {expected_version} of this chain is missing")
        elif event.prev_hash != (before.hash if before else FIRST_PREVIOUS):
            found.append(f"{name}: does not continue the event before it")
        if event.computed_hash() != event.hash:
            found.append(f"{name}: was altered")
        last[key] = event
    return found


@dataclass(frozen=True)
class ChainEnd:
    """The last event of one aggregate."""

    aggregate_type: str
    aggregate_id: str
    aggregate_version: int
    hash: bytes


def tree_head(ends: Sequence[ChainEnd]) -> bytes:
    """Return one hash over the ends of all chains, so that a missing chain shows too."""
    ordered = sorted(ends, key=lambda end: (end.aggregate_type, end.aggregate_id))
    leaves = [
        leaf_hash(encode([end.aggregate_type, end.aggregate_id, end.aggregate_version, end.hash.hex()]))
        for end in ordered
    ]
    return root_of(leaves)


def head_problems(signed: Sequence[ChainEnd], events: Iterable[Event]) -> list[str]:
    """Compare a tenant's events with the chain ends of an older, signed tree head."""
    present = {(one.aggregate_type, one.aggregate_id, one.aggregate_version): one.hash for one in events}
    found = []
    for end in signed:
        name = f"{end.aggregate_type} {end.aggregate_id}"
        known = present.get((end.aggregate_type, end.aggregate_id, end.aggregate_version))
        if known is None:
            found.append(
                f"{name}: event {end.aggregate_version} was there when the head was signed, now it is gone"
            )
        elif known != end.hash:
            found.append(
                f"{name}: event {end.aggregate_version} is another one than when the head was signed"
            )
    return found
