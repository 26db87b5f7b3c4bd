"""The type of every expression, or why it has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NoReturn

from backstay_passport.domain.errors import RuleProblem, RuleTypeError
from backstay_passport.domain.fields import BY_PATH
from backstay_passport.domain.rules import functions
from backstay_passport.domain.rules.syntax import (
    Binary,
    Call,
    Choice,
    Comprehension,
    Expression,
    FieldOf,
    ListLiteral,
    Literal,
    Name,
    Output,
    RecordLiteral,
    Unary,
)
from backstay_passport.domain.rules.tokens import Place
from backstay_passport.domain.types import (
    Bool,
    Date,
    Int,
    ListOf,
    Nothing,
    Number,
    Optional,
    Record,
    Text,
    Type,
    type_text,
)
from backstay_passport.domain.units import EACH, Dimension, Unit, dimension_text, multiply


@dataclass(frozen=True)
class Scope:
    """The variables and facts that an expression may use."""

    variables: Mapping[str, Type]
    facts: Mapping[str, Record]
    with_outputs: bool = False
    error: type[RuleProblem] = RuleTypeError

    def fail(self, problem: str, place: Place) -> NoReturn:
        """Refuse an expression at a place."""
        raise self.error(problem, place.line, place.column)


def number_of(dimension: Dimension) -> Number:
    """Return the type of a number of this dimension."""
    return Number(EACH if dimension == () else Unit("", dimension, Decimal(1)))


def fits(found: Type, wanted: Type) -> bool:
    """True if a value of one type may stand where the other is wanted."""
    match found, wanted:
        case (Nothing(), _):
            return True
        case (Optional(inner), Optional(item)):
            return fits(inner, item)
        case (_, Optional(item)):
            return fits(found, item)
        case (Number(unit), Number(other)):
            return unit.dimension == other.dimension
        case (Int(), Number(unit)):
            return unit.dimension == ()
        case (ListOf(inner), ListOf(item)):
            return fits(inner, item)
        case (Record(), Record()):
            return _record_fits(found, wanted)
    return found == wanted


def _record_fits(found: Record, wanted: Record) -> bool:
    if not wanted.fields:
        return True
    if any(name not in wanted.fields for name in found.fields):
        return False
    return all(
        fits(found.fields[name], item) if name in found.fields else isinstance(item, Optional)
        for name, item in wanted.fields.items()
    )


def common(left: Type, right: Type) -> Type | None:
    """Return the type that holds both, if there is one."""
    if fits(left, right):
        return right
    if fits(right, left):
        return left
    if isinstance(left, Optional) or isinstance(right, Optional):
        inner = common(_bare(left), _bare(right))
        return None if inner is None else Optional(inner)
    return None


def _bare(value: Type) -> Type:
    return value.item if isinstance(value, Optional) else value


def type_of(expression: Expression, scope: Scope) -> Type:
    """Return the type of an expression; raise with line and column if it has none."""
    match expression:
        case Literal(_, kind, _):
            return kind
        case Name(name, place):
            if name not in scope.variables:
                scope.fail(f"no variable {name}; there are {', '.join(sorted(scope.variables))}", place)
            return scope.variables[name]
        case FieldOf():
            return _field(expression, scope)
        case Unary(operator, operand, place):
            return _unary(operator, type_of(operand, scope), scope, place)
        case Binary(operator, left, right, place):
            return _binary(operator, type_of(left, scope), type_of(right, scope), scope, place)
        case Choice():
            return _choice(expression, scope)
        case Call():
            return functions.call_type(
                expression, [type_of(part, scope) for part in expression.arguments], scope
            )
        case ListLiteral(items, place):
            return ListOf(_common_type([type_of(item, scope) for item in items], scope, place))
        case Comprehension():
            return _comprehension(expression, scope)
        case RecordLiteral(fields, place):
            names = [name for name, _ in fields]
            if len(set(names)) < len(names):
                scope.fail("a field stands here twice", place)
            return Record({name: type_of(value, scope) for name, value in fields})
        case Output(path, place):
            return _output(path, scope, place)


def _field(expression: FieldOf, scope: Scope) -> Type:
    record = type_of(expression.record, scope)
    if isinstance(record, Optional) and not expression.optional:
        scope.fail(f"this may be missing: write ?.{expression.field}", expression.place)
    inner = _bare(record)
    if not isinstance(inner, Record):
        scope.fail(f"{type_text(inner)} has no fields", expression.place)
    if expression.field not in inner.fields:
        known = ", ".join(sorted(inner.fields))
        scope.fail(f"{type_text(inner)} has no field {expression.field}; it has {known}", expression.place)
    found = inner.fields[expression.field]
    return Optional(_bare(found)) if expression.optional else found


def _unary(operator: str, operand: Type, scope: Scope, place: Place) -> Type:
    if operator == "not" and isinstance(operand, Bool):
        return operand
    if operator == "-" and isinstance(operand, Int | Number):
        return operand
    scope.fail(f"{operator} cannot be used with {type_text(operand)}", place)


def _binary(operator: str, left: Type, right: Type, scope: Scope, place: Place) -> Type:
    result: Type | None
    match operator:
        case "and" | "or":
            result = Bool() if isinstance(left, Bool) and isinstance(right, Bool) else None
        case "==" | "!=":
            result = Bool() if common(left, right) is not None else None
        case "<" | "<=" | ">" | ">=":
            comparable = isinstance(left, Int | Number | Date) and common(left, right) is not None
            result = Bool() if comparable and isinstance(right, Int | Number | Date) else None
        case "??":
            result = common(left.item, right) if isinstance(left, Optional) else None
        case "+" | "-":
            result = _sum(operator, left, right)
        case _:
            result = _product(operator, left, right)
    if result is None:
        scope.fail(_misfit(operator, left, right), place)
    return result


def _sum(operator: str, left: Type, right: Type) -> Type | None:
    if isinstance(left, Text) and isinstance(right, Text) and operator == "+":
        return left
    if isinstance(left, Int | Number) and isinstance(right, Int | Number):
        return common(left, right)
    return None


def _product(operator: str, left: Type, right: Type) -> Type | None:
    if isinstance(left, Int) and isinstance(right, Int):
        return Int() if operator == "*" else Number()
    if not isinstance(left, Int | Number) or not isinstance(right, Int | Number):
        return None
    first = left.unit.dimension if isinstance(left, Number) else ()
    second = right.unit.dimension if isinstance(right, Number) else ()
    return number_of(multiply(first, second, power=1 if operator == "*" else -1))


def _misfit(operator: str, left: Type, right: Type) -> str:
    if isinstance(left, Optional) or isinstance(right, Optional):
        if operator == "??":
            return f"the default must be {type_text(_bare(left))}, this is {type_text(right)}"
        return f"a value of {operator} may be missing; give a default with ??"
    if operator == "??":
        return f"{type_text(left)} is never missing, so it needs no default"
    if isinstance(left, Number) and isinstance(right, Number):
        return f"the units do not fit: {_unit_name(left)} and {_unit_name(right)}"
    return f"{operator} cannot be used between {type_text(left)} and {type_text(right)}"


def _unit_name(number: Number) -> str:
    return number.unit.name or dimension_text(number.unit.dimension)


def _choice(expression: Choice, scope: Scope) -> Type:
    if not isinstance(type_of(expression.condition, scope), Bool):
        scope.fail("the condition must be Bool", expression.condition.place)
    kinds = [type_of(expression.positive, scope), type_of(expression.negative, scope)]
    return _common_type(kinds, scope, expression.place)


def _common_type(kinds: list[Type], scope: Scope, place: Place) -> Type:
    result: Type = Nothing()
    for kind in kinds:
        joined = common(result, kind)
        if joined is None:
            scope.fail(f"{type_text(result)} and {type_text(kind)} cannot stand here together", place)
        result = joined
    return result


def _comprehension(expression: Comprehension, scope: Scope) -> Type:
    source = type_of(expression.source, scope)
    if not isinstance(source, ListOf):
        scope.fail(f"for needs a list, this is {type_text(source)}", expression.source.place)
    if expression.variable in scope.variables:
        scope.fail(f"there is a variable {expression.variable} already", expression.place)
    inner = replace(scope, variables={**scope.variables, expression.variable: source.item})
    if expression.condition is not None and not isinstance(type_of(expression.condition, inner), Bool):
        scope.fail("the condition must be Bool", expression.condition.place)
    return ListOf(type_of(expression.item, inner))


def _output(path: str, scope: Scope, place: Place) -> Type:
    if not scope.with_outputs:
        scope.fail("out(…) is for tests; rules do not read what rules have set", place)
    if path not in BY_PATH:
        scope.fail(f"the data model has no field {path}", place)
    return Optional(_bare(BY_PATH[path].type()))
