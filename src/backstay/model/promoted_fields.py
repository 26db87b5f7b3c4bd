"""Promoted fields: which arguments of a kind become typed, indexed columns, and what their values must look like."""

from __future__ import annotations

import hashlib
import re
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

from backstay.errors import InvalidPolicy, InvalidSettings
from backstay.model.promoted_values import INTEGERS, NEEDS, READ, FieldType, fits

REVISION = 2
"""Rises when the statements that fill promoted fields change, so that they are made anew."""

OPTIONS = ("created_by", "correlation_id", "name", "tenant", "category", "idempotency_key")
"""The options that can be promoted: those that a job keeps as long as it exists."""

OnDelete = Literal["set null", "restrict"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_WIDEST_TABLE = 29
_CHOICE = re.compile(r"[A-Za-z0-9._:+-]{1,100}")


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
class PromotedField:
    """An argument that becomes a column; its type is that of the handler's annotation unless given.

    `one_of` are the texts it may be, `minimum` and `maximum` bound a number; the database refuses others as well.
    """

    field: str
    references: References | None = None
    type: str | None = None
    one_of: Sequence[str] = ()
    minimum: int | None = None
    maximum: int | None = None
    is_option: bool = False

    @classmethod
    def option(cls, name: str, *, one_of: Sequence[str] = ()) -> PromotedField:
        """An option that becomes a column instead of an argument: `PromotedField.option("created_by")`."""
        if name not in OPTIONS:
            raise InvalidSettings(
                f"the option {name!r} cannot be promoted: it is one of {', '.join(OPTIONS)}"
            )
        return cls(name, type=FieldType.TEXT, one_of=one_of, is_option=True)


@dataclass(frozen=True, slots=True)
class PromotedColumn:
    """A promoted field whose type is known."""

    field: str
    type: FieldType
    references: References | None = None
    one_of: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    is_option: bool = False

    def __str__(self) -> str:
        target = "" if self.references is None else f" references {self.references.target}"
        source = " of the option" if self.is_option else ""
        must = f" {self.rule}" if self.rule else ""
        return f"{self.field} {self.type}{source}{target}{must}"

    @property
    def rule(self) -> str | None:
        """What its values must be besides their type, in words that a statement may contain."""
        if self.one_of:
            return f"must be one of {' '.join(self.one_of)}"
        if self.minimum is None and self.maximum is None:
            return None
        least = "" if self.minimum is None else f" at least {self.minimum}"
        both = " and" if least and self.maximum is not None else ""
        return f"must be{least}{both}" + ("" if self.maximum is None else f" at most {self.maximum}")

    def keeps(self, value: Any) -> bool:
        """Whether a value of the right type keeps the rule."""
        if self.one_of:
            return value in self.one_of
        return (self.minimum is None or value >= self.minimum) and (
            self.maximum is None or value <= self.maximum
        )


@dataclass(frozen=True, slots=True)
class Promotion:
    """What one kind promotes, and into which table."""

    kind: str
    table: str
    fields: tuple[PromotedColumn, ...]

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
        fields = tuple(replace(field, references=None) for field in self.fields)
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
    kind: str, asked: Sequence[str | PromotedField], annotations: Mapping[str, Any] | None
) -> tuple[PromotedColumn, ...]:
    """The fields with their types; raises InvalidSettings for what cannot be a column.

    `annotations` are those of the handler's parameters, None for a kind whose handler lives elsewhere.
    """
    if isinstance(asked, str):
        raise InvalidSettings(f"promote of {kind!r} must be several names: write promote=[{asked!r}]")
    fields: dict[str, PromotedColumn] = {}
    for one in (PromotedField(name) if isinstance(name, str) else name for name in asked):
        if not _NAME.fullmatch(one.field) or one.field.lower() == "job_id":
            raise InvalidSettings(
                f"{kind!r} cannot promote {one.field!r}: a column's name has 1 to 32 letters, digits and _, "
                "begins with no digit, and is not job_id"
            )
        if one.field.lower() in fields:
            raise InvalidSettings(f"{kind!r} promotes {one.field!r} twice")
        if annotations is not None and not one.is_option and one.field not in annotations:
            takes = ", ".join(annotations) or "none"
            raise InvalidSettings(f"{kind!r} cannot promote {one.field!r}: its arguments are {takes}")
        found = _type_of(kind, one, (annotations or {}).get(one.field))
        _check_rule(kind, one, found)
        fields[one.field.lower()] = PromotedColumn(
            one.field, found, one.references, tuple(one.one_of), one.minimum, one.maximum, one.is_option
        )
    return tuple(fields.values())


def _check_rule(kind: str, asked: PromotedField, found: FieldType) -> None:
    """Raise InvalidSettings for a rule that the field's type cannot keep."""
    if asked.one_of and (found is not FieldType.TEXT or not all(map(_CHOICE.fullmatch, asked.one_of))):
        raise InvalidSettings(
            f"{kind!r} cannot promote {asked.field!r} as one of {', '.join(map(str, asked.one_of))}: "
            "choices are texts of letters, digits and . _ : + -, for a field of text"
        )
    bounds = [bound for bound in (asked.minimum, asked.maximum) if bound is not None]
    is_number = found in (FieldType.INTEGER, FieldType.NUMBER)
    if bounds and not (is_number and all(type(bound) is int and bound in INTEGERS for bound in bounds)):
        raise InvalidSettings(
            f"{kind!r} cannot promote {asked.field!r} between {asked.minimum} and {asked.maximum}: "
            "the bounds are whole numbers, for a field of numbers"
        )


def refuse_disagreement(kind: str, field: PromotedColumn, other_kind: str, other: PromotedColumn) -> None:
    """Raise InvalidSettings when two kinds want one column to be two things."""
    if field != other and field.field.lower() == other.field.lower():
        raise InvalidSettings(
            f"{kind!r} promotes {field}, but {other_kind!r} promotes {other}: "
            "kinds share their columns, so declare both alike or rename one"
        )


def problem(field: PromotedColumn, value: object) -> str | None:
    """What is wrong with an argument as JSON has it; None is always right."""
    if value is None:
        return None
    if not fits(field.type, value):
        return NEEDS[field.type]
    return None if field.rule is None or field.keeps(value) else field.rule


def sought(field: PromotedColumn, value: object) -> Any:
    """A value to search by, as the column has it; text is read, as a command line has nothing else.

    Raises InvalidPolicy that names the field.
    """
    read = READ[field.type](value)
    if read is None:
        raise InvalidPolicy(
            field.field,
            value,
            needs=f"a value to search by that {NEEDS[field.type].removeprefix('must be ')}",
        )
    return read


def _type_of(kind: str, asked: PromotedField, annotation: Any) -> FieldType:
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
            f'PromotedField({asked.field!r}, type="…") with one of {", ".join(FieldType)}'
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


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _field_to_json(field: PromotedColumn) -> dict[str, Any]:
    plain: dict[str, Any] = {"field": field.field, "type": field.type.value}
    if field.references is not None:
        plain["references"] = field.references.target
        plain["on_delete"] = field.references.on_delete
    rules = {"one_of": list(field.one_of), "minimum": field.minimum, "maximum": field.maximum}
    plain |= {name: rule for name, rule in rules.items() if rule not in (None, [])}
    return plain | ({"is_option": True} if field.is_option else {})


def _field_from_json(stored: Mapping[str, Any]) -> PromotedColumn:
    target = stored.get("references")
    references = None if target is None else References(target, stored["on_delete"])
    return PromotedColumn(
        stored["field"],
        FieldType(stored["type"]),
        references,
        tuple(stored.get("one_of", ())),
        stored.get("minimum"),
        stored.get("maximum"),
        stored.get("is_option", False),
    )
