"""Payloads as JSON of the data model: decimals as numbers with exactly their digits."""

from __future__ import annotations

import json
from typing import Any

from backstay_passport.domain.fields import ROOTS, SUBMODELS, Field


def model_json(submodels: dict[str, Any]) -> str:
    """Return the seven submodels as JSON text, numbers as the data model has them."""
    parts = [
        f"{json.dumps(name)}:{_written(ROOTS[name], submodels[name])}"
        for name in SUBMODELS
        if name in submodels
    ]
    return "{" + ",".join(parts) + "}"


def _written(entry: Field, value: Any) -> str:
    if isinstance(value, list):
        return "[" + ",".join(_item(entry, part) for part in value) + "]"
    return _item(entry, value)


def _item(entry: Field, value: Any) -> str:
    if entry.kind == "number":
        return str(value)
    if isinstance(value, dict) and entry.children:
        inner = (
            f"{json.dumps(name)}:{_written(entry.children[name], value[name])}" for name in sorted(value)
        )
        return "{" + ",".join(inner) + "}"
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
