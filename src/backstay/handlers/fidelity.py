"""Whether an argument arrives at its handler as what it was: JSON has fewer types than Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec

_PLAIN = (str, int, float, bool, type(None), list, tuple, Mapping)
_WRITTEN_AS_TEXT = (bytes, bytearray, memoryview, set, frozenset, Decimal, date, time, timedelta, UUID, Enum)


def alteration(given: object, arrives: object, place: str) -> tuple[str, str] | None:
    """What would be altered on the way, and where; None if everything arrives as it was given.

    What is given as JSON has it may become more, as a text becomes a date by its annotation; it never becomes less.
    A tuple may arrive as a list, and a mapping as a dict.
    """
    # Mostly equal, and found so at the speed of C.
    return None if _are_equal(given, arrives) else next(_alterations(given, arrives, place), None)


def _are_equal(given: object, arrives: object) -> bool:
    try:
        return bool(given == arrives)
    except Exception:  # the user's own __eq__
        return False


def _alterations(given: Any, arrives: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(given, Mapping) and isinstance(arrives, Mapping):
        yield from _of_mappings(given, arrives, place)
    elif isinstance(given, list | tuple) and isinstance(arrives, list | tuple):
        for index, (one, other) in enumerate(zip(given, arrives, strict=False)):
            yield from _alterations(one, other, f"{place}[{index}]")
    elif isinstance(given, _WRITTEN_AS_TEXT):
        if not isinstance(arrives, Enum) and isinstance(arrives, _PLAIN) and given != arrives:
            yield _told(given, arrives), place
    elif isinstance(given, _PLAIN):
        return
    elif type(given) is not type(arrives):
        yield _told(given, arrives), place
    else:
        names = _fields(given)
        for name in names:
            inner = f"{place}.{name}" if place else name
            yield from _alterations(getattr(given, name), getattr(arrives, name), inner)


def _of_mappings(
    given: Mapping[Any, Any], arrives: Mapping[Any, Any], place: str
) -> Iterator[tuple[str, str]]:
    for (key, one), (other_key, other) in zip(given.items(), arrives.items(), strict=False):
        if isinstance(key, _WRITTEN_AS_TEXT) and key != other_key and isinstance(other_key, str):
            yield f"a key of type {_told(key, other_key)}", place
        yield from _alterations(one, other, f"{place}.{key}" if place else str(key))


def _fields(value: object) -> tuple[str, ...]:
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    if dataclasses.is_dataclass(value):
        return tuple(field.name for field in dataclasses.fields(value))
    attributes = getattr(type(value), "__attrs_attrs__", None) or ()
    # pydantic checks the types of its own fields.
    return tuple(field.name for field in attributes)


def _told(given: object, arrives: object) -> str:
    kind, other = type(given).__name__, type(arrives).__name__
    return f"{kind}, which would arrive as {other}: annotate the parameter as {kind}, or give what JSON has"
