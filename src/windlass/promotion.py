"""Promoted fields: which arguments of a kind become typed, indexed columns, and what their values must look like."""

from __future__ import annotations

import hashlib
import re
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from windlass.errors import InvalidPolicy, InvalidSettings

REVISION = 1
"""Rises when the statements that fill promoted fields change, so that they are made anew."""

OnDelete = Literal["set null", "restrict"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_WIDEST_TABLE = 29
_UUID = re.compile(r"[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.]\d{1,6})?(Z|[+-]\d\d:\d\d)")
_INTEGERS = range(-(2**63), 2**63)


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

_BY_ANNOTATION: Mapping[Any, FieldType] = {
    str: FieldType.TEXT,
    int: FieldType.INTEGER,
    float: FieldType.NUMBER,
    bool: FieldType.BOOLEAN,
    datetime: FieldType.TIMESTAMP,
    date: FieldType.DATE,
    UUID: FieldType.UUID,
}


@dataclass(frozen=True, slots=True)
class References:
    """The column of a table of the application's own that a promoted field points at: `References("patients.id")`.

    A row that is deleted there leaves NULL in the promoted column, unless `on_delete="restrict"` forbids it.
    """

    target: str
    on_delete: OnDelete = "set null"

    def __post_init__(self) -> None:
        parts = self.target.split(".")
        if len(parts) not in (2, 3) or not all(_NAME.fullmatch(part) for part in parts):
            raise InvalidSettings(
                f"cannot refer to {self.target!r}: write table.column, or schema.table.column on PostgreSQL"
            )
        if self.on_delete not in typing.get_args(OnDelete):
            raise InvalidSettings(f'on_delete cannot be {self.on_delete!r}: use "set null" or "restrict"')

    @property
    def table(self) -> str:
        """The table, with its schema if that was given."""
        return self.target.rpartition(".")[0]

    @property
    def column(self) -> str:
        """The column of that table."""
        return self.target.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Promoted:
    """An argument that becomes a column; its type is that of the handler's annotation unless given."""

    field: str
    references: References | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True)
class PromotedField:
    """A promoted field whose type is known."""

    field: str
    type: FieldType
    references: References | None = None

    def __str__(self) -> str:
        target = "" if self.references is None else f" references {self.references.target}"
        return f"{self.field} {self.type}{target}"


@dataclass(frozen=True, slots=True)
class Promotion:
    """What one kind promotes, and into which table."""

    kind: str
    table: str
    fields: tuple[PromotedField, ...]

    @property
    def prefix(self) -> str:
        """How everything begins that fills this kind's fields: readable, short enough, and one for each kind."""
        readable = re.sub(r"[^a-z0-9]+", "_", self.kind.lower())[:20].strip("_")
        return f"promote_{readable}_{_digest(self.kind)}"

    @property
    def trigger(self) -> str:
        """The name of what fills them as they are declared now, which another declaration does not share."""
        return f"{self.prefix}_{_digest(repr((REVISION, self.table, self.fields)))}"

    def without_references(self) -> Promotion:
        """The same for a database that does not have the application's tables."""
        fields = tuple(PromotedField(field.field, field.type) for field in self.fields)
        return Promotion(self.kind, self.table, fields)

    def to_json(self) -> dict[str, Any]:
        """As the database keeps it."""
        return {"table": self.table, "fields": [_field_to_json(field) for field in self.fields]}

    @classmethod
    def from_json(cls, kind: str, stored: Mapping[str, Any]) -> Promotion:
        """The same, read again."""
        return cls(kind, stored["table"], tuple(_field_from_json(field) for field in stored["fields"]))


def table_for(profile: str) -> str:
    """The table of an application's promoted fields: one for each profile, so that columns never mix."""
    if profile == "default":
        return "promoted"
    name = "promoted_" + re.sub(r"[^a-z0-9]+", "_", profile.lower()).strip("_")
    if len(name) > _WIDEST_TABLE or name == "promoted_":
        raise InvalidSettings(
            f"the profile {profile!r} cannot name a table of promoted fields: "
            f"use 1 to {_WIDEST_TABLE - len('promoted_')} letters and digits"
        )
    return name


def resolve(
    kind: str, asked: Sequence[str | Promoted], annotations: Mapping[str, Any] | None
) -> tuple[PromotedField, ...]:
    """The fields with their types; raises InvalidSettings for what cannot be a column.

    `annotations` are those of the handler's parameters, None for a kind whose handler lives elsewhere.
    """
    if isinstance(asked, str):
        raise InvalidSettings(f"promote of {kind!r} must be several names: write promote=[{asked!r}]")
    fields: dict[str, PromotedField] = {}
    for one in (Promoted(name) if isinstance(name, str) else name for name in asked):
        if not _NAME.fullmatch(one.field) or one.field.lower() == "job_id":
            raise InvalidSettings(
                f"{kind!r} cannot promote {one.field!r}: a column's name has 1 to 32 letters, digits and _, "
                "begins with no digit, and is not job_id"
            )
        if one.field.lower() in fields:
            raise InvalidSettings(f"{kind!r} promotes {one.field!r} twice")
        if annotations is not None and one.field not in annotations:
            takes = ", ".join(annotations) or "none"
            raise InvalidSettings(f"{kind!r} cannot promote {one.field!r}: its arguments are {takes}")
        found = _type_of(kind, one, (annotations or {}).get(one.field))
        fields[one.field.lower()] = PromotedField(one.field, found, one.references)
    return tuple(fields.values())


def refuse_disagreement(kind: str, field: PromotedField, other_kind: str, other: PromotedField) -> None:
    """Raise InvalidSettings when two kinds want one column to be two things."""
    if field != other and field.field.lower() == other.field.lower():
        raise InvalidSettings(
            f"{kind!r} promotes {field}, but {other_kind!r} promotes {other}: "
            "kinds share their columns, so declare both alike or rename one"
        )


def problem(field: PromotedField, value: object) -> str | None:
    """What is wrong with an argument as JSON has it; None is always right."""
    if value is None or _fits(field.type, value):
        return None
    return NEEDS[field.type]


def sought(field: PromotedField, value: object) -> Any:
    """A value to search by, as the column has it; text is read, as a command line has nothing else.

    Raises InvalidPolicy that names the field.
    """
    read = _READ[field.type](value)
    if read is None:
        raise InvalidPolicy(
            field.field,
            value,
            needs=f"a value to search by that {NEEDS[field.type].removeprefix('must be ')}",
        )
    return read


def _type_of(kind: str, asked: Promoted, annotation: Any) -> FieldType:
    if asked.type is not None:
        if asked.type not in list(FieldType):
            raise InvalidSettings(
                f"{kind!r} cannot promote {asked.field!r} as {asked.type!r}: "
                f"the types are {', '.join(FieldType)}"
            )
        return FieldType(asked.type)
    found = _BY_ANNOTATION.get(_without_none(annotation))
    if found is None:
        raise InvalidSettings(
            f"the type of {asked.field!r} in {kind!r} must be said: "
            f'Promoted({asked.field!r}, type="…") with one of {", ".join(FieldType)}'
        )
    return found


def _without_none(annotation: Any) -> Any:
    """`int` for `int | None` and for what is annotated with more than a type."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _without_none(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        others = [_without_none(one) for one in typing.get_args(annotation) if one is not types.NoneType]
        return others[0] if len(others) == 1 else None
    return annotation


def _fits(kind: FieldType, value: object) -> bool:
    match kind:
        case FieldType.TEXT:
            return isinstance(value, str)
        case FieldType.INTEGER:
            return type(value) is int and value in _INTEGERS
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
    return value if type(value) is int and value in _INTEGERS else None


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


_READ: Mapping[FieldType, typing.Callable[[object], Any]] = {
    FieldType.TEXT: lambda value: value if isinstance(value, str) else None,
    FieldType.INTEGER: _integer,
    FieldType.NUMBER: _number,
    FieldType.BOOLEAN: _boolean,
    FieldType.TIMESTAMP: _moment,
    FieldType.DATE: _date,
    FieldType.UUID: _uuid,
}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _field_to_json(field: PromotedField) -> dict[str, Any]:
    plain: dict[str, Any] = {"field": field.field, "type": field.type.value}
    if field.references is not None:
        plain["references"] = field.references.target
        plain["on_delete"] = field.references.on_delete
    return plain


def _field_from_json(stored: Mapping[str, Any]) -> PromotedField:
    target = stored.get("references")
    references = None if target is None else References(target, stored["on_delete"])
    return PromotedField(stored["field"], FieldType(stored["type"]), references)
