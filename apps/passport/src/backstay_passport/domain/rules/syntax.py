"""The parts of a rule source after parsing."""

from __future__ import annotations

from dataclasses import dataclass

from backstay_passport.domain.rules.tokens import Place
from backstay_passport.domain.types import Record, Type


@dataclass(frozen=True)
class Literal:
    """A value that stands in the source; a number is held in base units."""

    value: object
    type: Type
    place: Place


@dataclass(frozen=True)
class Name:
    """A variable."""

    name: str
    place: Place


@dataclass(frozen=True)
class FieldOf:
    """`record.field`, or `record?.field` where the record may be missing."""

    record: Expression
    field: str
    optional: bool
    place: Place


@dataclass(frozen=True)
class Unary:
    """`-x` or `not x`."""

    operator: str
    operand: Expression
    place: Place


@dataclass(frozen=True)
class Binary:
    """An operator between two values."""

    operator: str
    left: Expression
    right: Expression
    place: Place


@dataclass(frozen=True)
class Choice:
    """`if c then a else b`."""

    condition: Expression
    positive: Expression
    negative: Expression
    place: Place


@dataclass(frozen=True)
class Call:
    """A function of the language with its arguments."""

    function: str
    arguments: tuple[Expression, ...]
    place: Place


@dataclass(frozen=True)
class ListLiteral:
    """`[a, b]`."""

    items: tuple[Expression, ...]
    place: Place


@dataclass(frozen=True)
class Comprehension:
    """`[e for x in xs if c]`."""

    item: Expression
    variable: str
    source: Expression
    condition: Expression | None
    place: Place


@dataclass(frozen=True)
class RecordLiteral:
    """`{name: value}`."""

    fields: tuple[tuple[str, Expression], ...]
    place: Place


@dataclass(frozen=True)
class Output:
    """`out(path)`: in tests only, what the rules have set there."""

    path: str
    place: Place


Expression = (
    Literal
    | Name
    | FieldOf
    | Unary
    | Binary
    | Choice
    | Call
    | ListLiteral
    | Comprehension
    | RecordLiteral
    | Output
)


@dataclass(frozen=True)
class Let:
    """A named value that several rules use."""

    name: str
    value: Expression
    place: Place


@dataclass(frozen=True)
class SetField:
    """`set path = value`."""

    path: str
    value: Expression
    place: Place


@dataclass(frozen=True)
class Require:
    """`require condition else "message"`."""

    condition: Expression
    message: str
    place: Place


@dataclass(frozen=True)
class Rule:
    """One rule: an optional condition and what it does."""

    name: str
    condition: Expression | None
    action: SetField | Require
    place: Place


@dataclass(frozen=True)
class Package:
    """A whole rule source."""

    name: str
    version: str
    facts: dict[str, Record]
    product: Record
    unit: Record | None
    lets: tuple[Let, ...]
    rules: tuple[Rule, ...]
