"""Values of promoted fields: what each type can hold, as JSON has it and as people write it."""

from __future__ import annotations

import re
import typing
from collections.abc import Mapping
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

_UUID = re.compile(r"[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.]\d{1,6})?(Z|[+-]\d\d:\d\d)")
INTEGERS = range(-(2**63), 2**63)


class FieldType(StrEnum):
    """What a promoted field holds."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    DATE = "date"
    UUID = "uuid"


NEEDS: Mapping[FieldType, str] = {
    FieldType.TEXT: "must be text",
    FieldType.INTEGER: "must be a whole number of 64 bits",
    FieldType.NUMBER: "must be a number",
    FieldType.BOOLEAN: "must be true or false",
    FieldType.TIMESTAMP: "must be a moment with its offset such as 2026-05-04T09:30:00+00:00",
    FieldType.DATE: "must be a date such as 2026-05-04",
    FieldType.UUID: "must be a UUID such as 0190163d-8694-739b-aea5-966c26f8ad91",
}
"""What is said of a value that a field cannot hold."""


def fits(kind: FieldType, value: object) -> bool:
    match kind:
        case FieldType.TEXT:
            return isinstance(value, str)
        case FieldType.INTEGER:
            return type(value) is int and value in INTEGERS
        case FieldType.NUMBER:
            return type(value) in (int, float)
        case FieldType.BOOLEAN:
            return isinstance(value, bool)
        case FieldType.TIMESTAMP:
            return isinstance(value, str) and _moment(value) is not None
        case FieldType.DATE:
            return isinstance(value, str) and _date(value) is not None
        case FieldType.UUID:
            return isinstance(value, str) and _UUID.fullmatch(value) is not None
        case _:
            typing.assert_never(kind)


def _moment(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return None if value.tzinfo is None else value.astimezone(UTC)
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        return None
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _date(value: object) -> date | None:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


def _integer(value: object) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,19}", value):
        value = int(value)
    return value if type(value) is int and value in INTEGERS else None


def _number(value: object) -> float | None:
    if isinstance(value, str) and re.fullmatch(r"-?\d+([.]\d+)?(e[+-]?\d+)?", value, re.IGNORECASE):
        return float(value)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _boolean(value: object) -> bool | None:
    return {"true": True, "false": False}.get(str(value).lower()) if isinstance(value, str | bool) else None


def _uuid(value: object) -> UUID | None:
    if isinstance(value, str) and _UUID.fullmatch(value):
        return UUID(value)
    return value if isinstance(value, UUID) else None


READ: Mapping[FieldType, typing.Callable[[object], Any]] = {
    FieldType.TEXT: lambda value: value if isinstance(value, str) else None,
    FieldType.INTEGER: _integer,
    FieldType.NUMBER: _number,
    FieldType.BOOLEAN: _boolean,
    FieldType.TIMESTAMP: _moment,
    FieldType.DATE: _date,
    FieldType.UUID: _uuid,
}
