"""Building a tree out of single fields with their paths."""

from __future__ import annotations

from typing import Any

from backstay_passport.ingest.labels import Path


def put(tree: dict[str, Any], path: Path, value: Any) -> None:
    """Put a value at a path of names and indexes; lists may be filled in any order."""
    place: Any = tree
    for step in path[:-1]:
        place = place.setdefault(step, {})
        assert isinstance(place, dict)
    place[path[-1]] = value


def finished(tree: Any) -> Any:
    """Return the tree with numbered objects turned into lists."""
    if not isinstance(tree, dict):
        return tree
    if tree and all(isinstance(key, int) for key in tree):
        return [finished(tree[index]) for index in sorted(tree)]
    return {key: finished(value) for key, value in tree.items()}
