"""One fact, and how it is made from what a document says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from backstay_passport.domain.canonical import encode
from backstay_passport.domain.hashing import sha256
from backstay_passport.domain.types import plain

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Fact:
    """A fact as it is stored: what it is about, and the bytes that its hash covers."""

    fact_type: str
    fact_key: str
    schema_version: int
    payload: Any = field(compare=False, repr=False)
    payload_canonical: bytes = field(repr=False)
    payload_hash: bytes
    source: str = field(default="", compare=False)

    def order(self) -> tuple[str, str, bytes]:
        """Return what facts are sorted by wherever their order matters."""
        return self.fact_type, self.fact_key, self.payload_hash


def make_fact(fact_type: str, fact_key: str, payload: Any, source: str = "") -> Fact:
    """Make a fact of a value; raise `NotCanonical` if it has no canonical bytes."""
    value = plain(payload)
    canonical = encode(value)
    return Fact(fact_type, fact_key, SCHEMA_VERSION, value, canonical, sha256(canonical), source)
