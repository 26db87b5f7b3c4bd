"""Snapshots: which facts a passport is compiled from, fixed when they are sealed."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from backstay_passport.domain.errors import InvalidInput, InvalidSnapshotState
from backstay_passport.domain.facts import Fact
from backstay_passport.domain.hashing import hash_of, sha256

SNAPSHOT_VERSION = "BPC-SNAPSHOT-1"
SECRET_BYTES = 32


class SnapshotStatus(StrEnum):
    """BUILDING takes facts, READY is checked, SEALED never changes again."""

    BUILDING = "BUILDING"
    READY = "READY"
    SEALED = "SEALED"


def require_status(snapshot_id: str, actual: str, expected: SnapshotStatus) -> None:
    """Refuse a snapshot that is not in the expected status."""
    if actual != expected:
        raise InvalidSnapshotState(snapshot_id, expected, actual)


def snapshot_hash(snapshot_id: str, facts: Iterable[Fact], secret: bytes) -> bytes:
    """Return the hash that fixes a snapshot.

    The secret's own hash stands in it: without, somebody who knows all facts but one could guess that one.
    """
    listed = [
        {"type": fact.fact_type, "key": fact.fact_key, "hash": fact.payload_hash.hex()}
        for fact in sorted(facts, key=Fact.order)
    ]
    return hash_of(
        {
            "snapshot_version": SNAPSHOT_VERSION,
            "snapshot_id": snapshot_id,
            "secret_sha256": sha256(secret).hex(),
            "facts": listed,
        }
    )


def require_single_facts(facts: Iterable[Fact]) -> None:
    """Refuse a snapshot in which two facts have the same type and key."""
    seen: dict[tuple[str, str], Fact] = {}
    for fact in facts:
        other = seen.setdefault((fact.fact_type, fact.fact_key), fact)
        if other != fact:
            raise InvalidInput(
                f"two facts {fact.fact_type} {fact.fact_key} in one snapshot; keep the one that holds",
                {"fact_type": fact.fact_type, "fact_key": fact.fact_key},
            )
