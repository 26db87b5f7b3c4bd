"""BPC-PROOF-1: one salted leaf for each field, so that fields can be shown one by one under one root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backstay_passport.domain.canonical import encode
from backstay_passport.domain.hashing import hash_of, keyed_hash, sha256
from backstay_passport.domain.merkle import leaf_hash, root_of
from backstay_passport.domain.rules.run import Assignment
from backstay_passport.domain.tiers import Tier, tier_of

PROOF_VERSION = "BPC-PROOF-1"


@dataclass(frozen=True)
class Leaf:
    """What the tree says of one field; only its hash is shown where the field is not."""

    path: str
    rule: str
    line: int
    rules_sha256: str
    inputs: tuple[str, ...]
    value_hash: str
    salt: str

    def content(self) -> bytes:
        """Return the canonical bytes that are hashed."""
        return encode(self.as_json())

    def as_json(self) -> dict[str, Any]:
        """Return the leaf opened."""
        return {
            "path": self.path,
            "rule": self.rule,
            "line": self.line,
            "rules_sha256": self.rules_sha256,
            "inputs": list(self.inputs),
            "value_hash": self.value_hash,
            "salt": self.salt,
        }

    def hash(self) -> bytes:
        """Return the leaf's hash, which fixes path and content apart, so that a closed leaf still proves its path."""
        return closed_hash(self.path, sha256(self.content()))


def closed_hash(path: str, content_hash: bytes) -> bytes:
    """Return the hash of a leaf of which only the path and the hash of its content are known."""
    return leaf_hash(sha256(path.encode()) + content_hash)


def salt_of(secret: bytes, passport_version_id: str, path: str) -> str:
    """Return the salt of a leaf: opening one tells nothing of another field or another battery."""
    return keyed_hash(secret, f"{passport_version_id}|{path}".encode()).hex()


def input_mark(secret: bytes, fact_hash: bytes) -> str:
    """Return the mark of a fact in a leaf, which only somebody with the secret can lead back to the fact."""
    return keyed_hash(secret, b"fact|" + fact_hash).hex()


def build_leaves(
    assignments: Sequence[Assignment], *, secret: bytes, passport_version_id: str, rules_sha256: str
) -> list[Leaf]:
    """Return the leaves of a payload, sorted by path."""
    return [
        Leaf(
            path=found.path,
            rule=found.rule,
            line=found.line,
            rules_sha256=rules_sha256,
            inputs=tuple(sorted(input_mark(secret, fact.payload_hash) for fact in found.used)),
            value_hash=hash_of(found.value).hex(),
            salt=salt_of(secret, passport_version_id, found.path),
        )
        for found in sorted(assignments, key=lambda found: found.path)
    ]


def proof_json(leaves: Sequence[Leaf], sources: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole proof, for those who may see everything."""
    return {
        "proof_version": PROOF_VERSION,
        "root": root_of([leaf.hash() for leaf in leaves]).hex(),
        "leaves": [leaf.as_json() for leaf in leaves],
        "sources": dict(sources),
    }


def disclosed(proof: Mapping[str, Any], tiers: frozenset[Tier]) -> dict[str, Any]:
    """Return the proof for an audience: its leaves opened, of the others the path and the hash."""
    leaves = []
    for entry in proof["leaves"]:
        leaf = leaf_from_json(entry)
        if tier_of(leaf.path) in tiers:
            leaves.append(entry)
        else:
            leaves.append({"path": leaf.path, "content_hash": sha256(leaf.content()).hex()})
    return {"proof_version": proof["proof_version"], "root": proof["root"], "leaves": leaves}


def leaf_from_json(entry: Mapping[str, Any]) -> Leaf:
    """Read an opened leaf."""
    return Leaf(
        path=entry["path"],
        rule=entry["rule"],
        line=entry["line"],
        rules_sha256=entry["rules_sha256"],
        inputs=tuple(entry["inputs"]),
        value_hash=entry["value_hash"],
        salt=entry["salt"],
    )


def hash_of_entry(entry: Mapping[str, Any]) -> bytes:
    """Return the hash of a leaf, opened or closed; raise `KeyError` or `ValueError` if it is neither."""
    if "salt" in entry:
        leaf = leaf_from_json(entry)
        if leaf.as_json() != dict(entry):
            raise ValueError(f"the leaf {leaf.path} has other members than it should")
        return leaf.hash()
    if set(entry) != {"path", "content_hash"}:
        raise ValueError("a closed leaf has path and content_hash")
    return closed_hash(entry["path"], bytes.fromhex(entry["content_hash"]))
