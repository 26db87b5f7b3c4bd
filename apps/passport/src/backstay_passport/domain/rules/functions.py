"""The functions of the rule language: what they take, what they give, and how they compute it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING, Any

from backstay_passport.domain.decimals import DecimalProblem, decimal_text
from backstay_passport.domain.rules.syntax import Call, Literal
from backstay_passport.domain.types import Bool, Date, Int, ListOf, Number, Optional, Text, Type, type_text
from backstay_passport.domain.units import UNITS

if TYPE_CHECKING:
    from backstay_passport.domain.rules.expression_types import Scope

FACT_FUNCTIONS = ("fact", "find", "facts")
MAX_PLACES = 12


def call_type(call: Call, arguments: list[Type], scope: Scope) -> Type:
    """Return what a call gives, or refuse it."""
    if call.function in FACT_FUNCTIONS:
        return _fact_type(call, arguments, scope)
    checker = _TYPES.get(call.function)
    if checker is None:
        known = ", ".join(sorted([*FACT_FUNCTIONS, *_TYPES]))
        scope.fail(f"no function {call.function}; there are {known}", call.place)
    result = checker(call, arguments)
    if result is None:
        given = ", ".join(map(type_text, arguments)) or "nothing"
        scope.fail(f"{call.function} takes {_USAGE[call.function]}, not {given}", call.place)
    return result


def _fact_type(call: Call, arguments: list[Type], scope: Scope) -> Type:
    if len(arguments) != 2 or not isinstance(call.arguments[0], Literal) or arguments != [Text(), Text()]:
        scope.fail(f"{call.function} takes a fact type in quotes and a key", call.place)
    name = str(call.arguments[0].value)
    if name not in scope.facts:
        known = ", ".join(sorted(scope.facts)) or "none"
        scope.fail(f"no fact {name} is declared; there are {known}", call.place)
    record = scope.facts[name]
    given: dict[str, Type] = {"fact": record, "find": Optional(record), "facts": ListOf(record)}
    return given[call.function]


def _bare_list(arguments: list[Type]) -> Type | None:
    if len(arguments) == 1 and isinstance(arguments[0], ListOf):
        return arguments[0].item
    return None


def _sum_type(_call: Call, arguments: list[Type]) -> Type | None:
    item = _bare_list(arguments)
    return item if isinstance(item, Int | Number) else None


def _extreme_type(_call: Call, arguments: list[Type]) -> Type | None:
    item = _bare_list(arguments)
    return Optional(item) if isinstance(item, Int | Number | Date) else None


def _first_type(_call: Call, arguments: list[Type]) -> Type | None:
    item = _bare_list(arguments)
    if item is None:
        return None
    return item if isinstance(item, Optional) else Optional(item)


def _count_type(_call: Call, arguments: list[Type]) -> Type | None:
    return Int() if _bare_list(arguments) is not None else None


def _exists_type(_call: Call, arguments: list[Type]) -> Type | None:
    return Bool() if len(arguments) == 1 and isinstance(arguments[0], Optional | ListOf) else None


def _known_type(_call: Call, arguments: list[Type]) -> Type | None:
    return Bool() if len(arguments) == 1 and isinstance(arguments[0], Optional) else None


def _present_type(_call: Call, arguments: list[Type]) -> Type | None:
    item = _bare_list(arguments)
    return ListOf(item.item) if isinstance(item, Optional) else None


def _round_type(call: Call, arguments: list[Type]) -> Type | None:
    if len(arguments) not in (2, 3) or not isinstance(arguments[0], Number):
        return None
    places, named = call.arguments[1], call.arguments[2:]
    if not (isinstance(places, Literal) and isinstance(places.value, int) and places.value <= MAX_PLACES):
        return None
    if named and not _is_unit(named[0], arguments[0]):
        return None
    return arguments[0]


def _in_unit_type(call: Call, arguments: list[Type]) -> Type | None:
    if len(arguments) == 2 and isinstance(arguments[0], Number) and _is_unit(call.arguments[1], arguments[0]):
        return Number()
    return None


def _is_unit(argument: object, number: Number) -> bool:
    if not isinstance(argument, Literal) or argument.value not in UNITS:
        return False
    return UNITS[str(argument.value)].dimension == number.unit.dimension


def _text_type(_call: Call, arguments: list[Type]) -> Type | None:
    if len(arguments) == 1 and isinstance(arguments[0], Int | Date | Bool):
        return Text()
    plain = len(arguments) == 1 and isinstance(arguments[0], Number) and arguments[0].unit.dimension == ()
    return Text() if plain else None


def _case_type(_call: Call, arguments: list[Type]) -> Type | None:
    return Text() if arguments == [Text()] else None


def _join_type(_call: Call, arguments: list[Type]) -> Type | None:
    return Text() if arguments == [ListOf(Text()), Text()] else None


def _contains_type(_call: Call, arguments: list[Type]) -> Type | None:
    fitting = len(arguments) == 2 and arguments[0] == ListOf(arguments[1])
    return Bool() if fitting or arguments == [Text(), Text()] else None


def _starts_type(_call: Call, arguments: list[Type]) -> Type | None:
    return Bool() if arguments == [Text(), Text()] else None


def _date_type(call: Call, arguments: list[Type]) -> Type | None:
    if arguments != [Text()] or not isinstance(call.arguments[0], Literal):
        return None
    try:
        date.fromisoformat(str(call.arguments[0].value))
    except ValueError:
        return None
    return Date()


_TYPES: dict[str, Callable[[Call, list[Type]], Type | None]] = {
    "sum": _sum_type,
    "min": _extreme_type,
    "max": _extreme_type,
    "first": _first_type,
    "count": _count_type,
    "exists": _exists_type,
    "known": _known_type,
    "present": _present_type,
    "round": _round_type,
    "in_unit": _in_unit_type,
    "text": _text_type,
    "upper": _case_type,
    "lower": _case_type,
    "join": _join_type,
    "contains": _contains_type,
    "starts_with": _starts_type,
    "date": _date_type,
}

_USAGE = {
    "sum": "a list of numbers",
    "min": "a list of numbers or dates",
    "max": "a list of numbers or dates",
    "first": "a list",
    "count": "a list",
    "exists": "a list, which must not be empty, or what may be missing",
    "known": "what may be missing",
    "present": "a list of what may be missing",
    "round": f"a Decimal, places from 0 to {MAX_PLACES}, and the unit in quotes if it has one",
    "in_unit": "a Decimal and a unit of its kind in quotes",
    "text": "an Int, a Bool, a Date, or a Decimal without unit",
    "upper": "a text",
    "lower": "a text",
    "join": "a list of texts and a text",
    "contains": "a list and an item, or two texts",
    "starts_with": "two texts",
    "date": 'a day in quotes, such as date("2026-11-18")',
}


class FunctionProblem(ValueError):
    """A function cannot compute its value from these arguments."""


def compute(name: str, arguments: list[Any]) -> Any:
    """Return the value of a function that needs no facts."""
    first = arguments[0]
    match name:
        case "sum":
            return sum(first, Decimal(0)) if any(isinstance(item, Decimal) for item in first) else sum(first)
        case "min":
            return min(first, default=None)
        case "max":
            return max(first, default=None)
        case "first":
            return first[0] if first else None
        case "count":
            return len(first)
        case "exists":
            return bool(first) if isinstance(first, list) else first is not None
        case "known":
            return first is not None
        case "present":
            return [item for item in first if item is not None]
        case "round":
            return _round(
                first, arguments[1], UNITS[arguments[2]].factor if len(arguments) > 2 else Decimal(1)
            )
        case "in_unit":
            return first / UNITS[arguments[1]].factor
        case "text":
            return _text(first)
        case "upper":
            return first.upper()
        case "lower":
            return first.lower()
        case "join":
            return arguments[1].join(first)
        case "contains":
            return arguments[1] in first
        case "starts_with":
            return first.startswith(arguments[1])
        case _:
            return date.fromisoformat(first)


def _round(value: Decimal, places: int, factor: Decimal) -> Decimal:
    return (value / factor).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN) * factor


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    try:
        return decimal_text(Decimal(value))
    except DecimalProblem as error:
        raise FunctionProblem(f"{value} {error}") from None
