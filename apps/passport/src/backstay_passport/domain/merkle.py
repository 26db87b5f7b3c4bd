"""Merkle trees: a root over leaves, and the path that shows one leaf to be in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backstay_passport.domain.hashing import sha256

LEAF = b"\x00"
NODE = b"\x01"


@dataclass(frozen=True)
class PathStep:
    """A neighbour on the way to the root, and the side on which it stands."""

    sibling: bytes
    side: str


def leaf_hash(content: bytes) -> bytes:
    """Return the hash of a leaf, told apart from nodes by its first byte."""
    return sha256(LEAF + content)


def root_of(leaves: Sequence[bytes]) -> bytes:
    """Return the root over leaf hashes; a node without neighbour goes up as it is, no leaves give zeros."""
    if not leaves:
        return bytes(32)
    level = list(leaves)
    while len(level) > 1:
        level = _above(level)
    return level[0]


def path_to(leaves: Sequence[bytes], index: int) -> list[PathStep]:
    """Return the neighbours of a leaf, lowest first."""
    path: list[PathStep] = []
    level = list(leaves)
    while len(level) > 1:
        neighbour = index ^ 1
        if neighbour < len(level):
            path.append(PathStep(level[neighbour], "right" if neighbour > index else "left"))
        level, index = _above(level), index // 2
    return path


def root_by_path(leaf: bytes, path: Sequence[PathStep]) -> bytes:
    """Return the root to which a leaf leads by its path."""
    current = leaf
    for step in path:
        pair = current + step.sibling if step.side == "right" else step.sibling + current
        current = sha256(NODE + pair)
    return current


def _above(level: list[bytes]) -> list[bytes]:
    pairs = range(0, len(level), 2)
    return [
        sha256(NODE + level[index] + level[index + 1]) if index + 1 < len(level) else level[index]
        for index in pairs
    ]
