"""The facts that an error carries beside its text, made fit to be stored: plain, small and without secrets."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from backstay.model.text.error_text import safe_text
from backstay.model.text.redaction import redact

MAX_BYTES = 8_192
"""So much JSON the facts of one error are at most; what comes after that is left out."""
MAX_TEXT_BYTES = 1_000
MAX_NAME_BYTES = 100
MAX_ITEMS = 50
MAX_DEPTH = 4

LEFT_OUT = "…"
"""The name under which is told how many facts are left out."""

_AS_TEXT = (str, int, float, date, timedelta, Decimal, UUID, PurePath)


def facts(given: Mapping[Any, Any]) -> dict[str, Any]:
    """The same facts, as far as they can be kept; never raises, whatever they are."""
    kept: dict[str, Any] = {}
    room = MAX_BYTES
    try:
        items = list(given.items())
    except Exception:  # A mapping may be the user's own code.
        return {}
    for name, value in items:
        key = safe_text(_text(name), max_bytes=MAX_NAME_BYTES)
        plain = redact(_plain(value, MAX_DEPTH), name=key)
        room -= len(json.dumps({key: plain}, ensure_ascii=False).encode())
        if room < 0 or len(kept) == MAX_ITEMS:
            kept[LEFT_OUT] = f"{len(items) - len(kept)} more"
            break
        kept[key] = plain
    return kept


def details_of(error: BaseException) -> dict[str, Any]:
    """What an exception has as its `details`, if that is a mapping."""
    try:
        given = getattr(error, "details", None)
    except Exception:  # An exception's attributes are foreign code.
        return {}
    return facts(given) if isinstance(given, Mapping) else {}


def _plain(value: Any, depth: int) -> Any:
    match value:
        case None | bool():
            return value
        case Enum():
            return _plain(value.value, depth)
        case int():
            return int(value) if -(2**63) <= value < 2**63 else str(value)[:MAX_TEXT_BYTES]
        case float():
            return float(value) if math.isfinite(value) else str(value)
        case str():
            return safe_text(str(value), max_bytes=MAX_TEXT_BYTES)
        case Mapping() | list() | tuple() | set() | frozenset() if depth == 0:
            return f"<{type(value).__name__} of {len(value)}>"
        case Mapping():
            pairs = list(value.items())[:MAX_ITEMS]
            return {
                safe_text(_text(name), max_bytes=MAX_NAME_BYTES): _plain(part, depth - 1)
                for name, part in pairs
            }
        case list() | tuple() | set() | frozenset():
            return [_plain(part, depth - 1) for part in list(value)[:MAX_ITEMS]]
        case _:
            return _text(value)


def _text(value: Any) -> str:
    """The text of a value that is known to have a telling one; of others, what they are."""
    if isinstance(value, _AS_TEXT):
        return safe_text(str(value), max_bytes=MAX_TEXT_BYTES)
    return f"<{type(value).__qualname__}>"
