"""Types of values in documents, facts and rules, and how a read value becomes one of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from backstay_passport.domain.canonical import pointer_to
from backstay_passport.domain.decimals import DecimalProblem, decimal_text, read_decimal
from backstay_passport.domain.units import EACH, Unit, dimension_text


@dataclass(frozen=True)
class Text:
    """Any text."""


@dataclass(frozen=True)
class Int:
    """A whole number."""


@dataclass(frozen=True)
class Number:
    """An exact decimal, measured in a unit."""

    unit: Unit = EACH


@dataclass(frozen=True)
class Bool:
    """True or false."""


@dataclass(frozen=True)
class Date:
    """A day, written 2026-11-18."""


@dataclass(frozen=True)
class ListOf:
    """Values of one type, in order."""

    item: Type


@dataclass(frozen=True)
class Record:
    """Named values; fields that are not named here are kept and not looked at."""

    fields: Mapping[str, Type]
    name: str = ""

    def __hash__(self) -> int:
        return hash(tuple(self.fields))


@dataclass(frozen=True)
class Optional:
    """A value that may be missing."""

    item: Type


@dataclass(frozen=True)
class Nothing:
    """What an empty list holds; it fits everywhere."""


Type = Text | Int | Number | Bool | Date | ListOf | Record | Optional | Nothing


class WrongType(ValueError):
    """A value is not of the type that its place asks for."""

    def __init__(self, pointer: str, problem: str) -> None:
        super().__init__(f"{pointer}: {problem}")
        self.pointer = pointer
        self.problem = problem


def type_text(value: Type) -> str:
    """Name a type as the rule language writes it."""
    match value:
        case Number(unit):
            return "Decimal" if unit == EACH else f"Decimal {unit.name or dimension_text(unit.dimension)}"
        case ListOf(item):
            return f"List<{type_text(item)}>"
        case Optional(item):
            return f"{type_text(item)}?"
        case Record(_, name):
            return name or "record"
        case _:
            return type(value).__name__


def coerce(value: Any, wanted: Type, pointer: str = "") -> Any:
    """Return the value as the wanted type, or raise `WrongType` with a pointer.

    Text is read where the type allows it, so that formats without types of their own give the same value.
    """
    match wanted:
        case Optional(item):
            return None if value is None else coerce(value, item, pointer)
        case ListOf(item):
            return _list(value, item, pointer)
        case Record():
            return _record(value, wanted, pointer)
    if value is None:
        raise WrongType(pointer, "missing")
    return _scalar(value, wanted, pointer)


def _list(value: Any, item: Type, pointer: str) -> list[Any]:
    if not isinstance(value, list):
        raise WrongType(pointer, "missing" if value is None else f"{_name(value)} where a list is expected")
    return [coerce(part, item, pointer_to(pointer, number)) for number, part in enumerate(value)]


def _record(value: Any, wanted: Record, pointer: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WrongType(
            pointer, "missing" if value is None else f"{_name(value)} where an object is expected"
        )
    result = {key: part for key, part in value.items() if key not in wanted.fields}
    for name, item in wanted.fields.items():
        part = coerce(value.get(name), item, pointer_to(pointer, name))
        if part is not None:
            result[name] = part
    return result


def _scalar(value: Any, wanted: Type, pointer: str) -> Any:
    match wanted:
        case Text():
            if isinstance(value, str):
                return _text(value.strip(), pointer)
        case Int():
            return _integer(value, pointer)
        case Number():
            return _number(value, pointer)
        case Bool():
            if isinstance(value, bool):
                return value
            if isinstance(value, str) and value.strip().lower() in _TRUTHS:
                return _TRUTHS[value.strip().lower()]
        case Date():
            return _date(value, pointer)
    raise WrongType(pointer, f"{_name(value)} where {type_text(wanted)} is expected")


# What neither XML nor a database's text can hold; line ends and tabs are text.
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def _text(value: str, pointer: str) -> str:
    if not value:
        raise WrongType(pointer, "empty")
    found = _NOT_TEXT.search(value)
    if found is not None:
        raise WrongType(pointer, f"has the character U+{ord(found[0]):04X}, which is not text")
    return value


_TRUTHS = {"true": True, "false": False, "yes": True, "no": False}


def _number(value: Any, pointer: str) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        raise WrongType(pointer, f"{_name(value)} where a number is expected")
    try:
        if isinstance(value, str):
            return read_decimal(value.strip())
        return Decimal(decimal_text(Decimal(value)))
    except DecimalProblem as error:
        raise WrongType(pointer, f"{str(value)[:40]!r} {error}") from None


def _integer(value: Any, pointer: str) -> int:
    number = _number(value, pointer)
    if number != int(number):
        raise WrongType(pointer, f"{number} where a whole number is expected")
    return int(number)


def _date(value: Any, pointer: str) -> date:
    if isinstance(value, date):
        return value
    try:
        if isinstance(value, str) and len(value.strip()) == 10:
            return date.fromisoformat(value.strip())
    except ValueError:
        pass
    raise WrongType(pointer, f"{str(value)[:40]!r} is not a day such as 2026-11-18")


def plain(value: Any) -> Any:
    """Return a typed value as canonical JSON would read it back."""
    match value:
        case Decimal():
            return decimal_text(value)
        case date():
            return value.isoformat()
        case list():
            return [plain(part) for part in value]
        case dict():
            return {key: plain(part) for key, part in value.items()}
        case _:
            return value


def _name(value: Any) -> str:
    names = {str: "text", int: "a number", Decimal: "a number", bool: "true or false", list: "a list"}
    return names.get(type(value), "an object" if isinstance(value, dict) else "nothing")
