"""Evaluation of checked expressions: deterministic, within a limit of steps, with the facts that were used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, DecimalException, localcontext
from typing import Any, NoReturn

from backstay_passport.domain.errors import CompileError
from backstay_passport.domain.facts import Fact
from backstay_passport.domain.rules.functions import FunctionProblem, compute
from backstay_passport.domain.rules.syntax import (
    Binary,
    Call,
    Choice,
    Comprehension,
    Expression,
    FieldOf,
    Let,
    ListLiteral,
    Literal,
    Name,
    Output,
    RecordLiteral,
    Unary,
)
from backstay_passport.domain.rules.tokens import Place
from backstay_passport.domain.types import ListOf, Number, Optional, Record, Type, WrongType, coerce

STEP_LIMIT = 100_000
MAX_TEXT = 65_536
MAX_INTEGER = 10**30
ARITHMETIC = Context(prec=34, rounding=ROUND_HALF_EVEN, Emax=60, Emin=-60)


@dataclass(frozen=True)
class Evaluated:
    """A value, and the facts that it was computed from."""

    value: Any
    used: frozenset[Fact]


class Evaluator:
    """Evaluates the expressions of one package over one set of facts."""

    def __init__(
        self,
        *,
        lets: Sequence[Let],
        declared: Mapping[str, Record],
        variables: Mapping[str, Evaluated],
        facts: Sequence[Fact],
        outputs: Mapping[str, Any] | None = None,
        step_limit: int = STEP_LIMIT,
    ) -> None:
        self._lets = {let.name: let for let in lets}
        self._declared = declared
        self._variables = dict(variables)
        self._outputs = outputs or {}
        self._steps_left = step_limit
        self._step_limit = step_limit
        self._used: list[set[Fact]] = []
        self._facts: dict[str, list[Fact]] = {}
        for fact in sorted(facts, key=Fact.order):
            self._facts.setdefault(fact.fact_type, []).append(fact)
        self._loaded: dict[Fact, Any] = {}

    def evaluate(self, expression: Expression) -> Evaluated:
        """Return the value of an expression and the facts that it needed."""
        self._used.append(set())
        with localcontext(ARITHMETIC):
            value = self._value(expression)
        return Evaluated(value, frozenset(self._used.pop()))

    def _value(self, expression: Expression) -> Any:
        self._step(1, expression.place)
        match expression:
            case Literal(value, _, _):
                return value
            case Name(name, _):
                return self._variable(name)
            case FieldOf(record, name, _, _):
                value = self._value(record)
                return None if value is None else value.get(name)
            case Unary(operator, operand, _):
                value = self._value(operand)
                return (not value) if operator == "not" else -value
            case Binary():
                return self._binary(expression)
            case Choice(condition, positive, negative, _):
                return self._value(positive if self._value(condition) else negative)
            case Call():
                return self._call(expression)
            case ListLiteral(items, _):
                return [self._value(item) for item in items]
            case Comprehension():
                return self._comprehension(expression)
            case RecordLiteral(fields, _):
                values = {name: self._value(value) for name, value in fields}
                return {name: value for name, value in values.items() if value is not None}
            case Output(path, _):
                return self._outputs.get(path)

    def _step(self, cost: int, place: Place) -> None:
        self._steps_left -= cost
        if self._steps_left < 0:
            self._fail(f"more than {self._step_limit} steps; simplify the rule or shorten its lists", place)

    def _fail(self, problem: str, place: Place) -> NoReturn:
        raise CompileError(problem, place.line, place.column)

    def _variable(self, name: str) -> Any:
        if name not in self._variables:
            # A let is evaluated when it is first needed, and only once.
            self._variables[name] = self.evaluate(self._lets[name].value)
        found = self._variables[name]
        self._used[-1].update(found.used)
        return found.value

    def _binary(self, expression: Binary) -> Any:
        operator, place = expression.operator, expression.place
        left = self._value(expression.left)
        match operator:
            case "and":
                return left and self._value(expression.right)
            case "or":
                return left or self._value(expression.right)
            case "??":
                return self._value(expression.right) if left is None else left
        right = self._value(expression.right)
        if isinstance(left, str) and operator == "+":
            return self._limited(left + right, place)
        try:
            value = _OPERATORS[operator](left, right)
        except (DecimalException, ZeroDivisionError):
            self._fail("division by zero" if right == 0 else "the number is too large", place)
        if isinstance(value, int) and abs(value) > MAX_INTEGER:
            self._fail("the number is too large", place)
        return value

    def _limited(self, text: str, place: Place) -> str:
        if len(text) > MAX_TEXT:
            self._fail(f"a text of more than {MAX_TEXT} characters", place)
        self._step(len(text) // 64, place)
        return text

    def _comprehension(self, expression: Comprehension) -> list[Any]:
        items = []
        source = self._value(expression.source)
        # A let that is first needed in here may use the same name for its own items.
        outer = self._variables.get(expression.variable)
        for item in source:
            self._variables[expression.variable] = Evaluated(item, frozenset())
            self._step(1, expression.place)
            if expression.condition is None or self._value(expression.condition):
                items.append(self._value(expression.item))
        self._variables.pop(expression.variable, None)
        if outer is not None:
            self._variables[expression.variable] = outer
        return items

    def _call(self, call: Call) -> Any:
        arguments = [self._value(argument) for argument in call.arguments]
        if call.function in ("fact", "find", "facts"):
            return self._facts_call(call.function, str(arguments[0]), str(arguments[1]), call.place)
        if isinstance(arguments[0], list):
            self._step(len(arguments[0]), call.place)
        try:
            value = compute(call.function, arguments)
        except FunctionProblem as error:
            self._fail(str(error), call.place)
        except DecimalException:
            self._fail("the number is too large", call.place)
        return self._limited(value, call.place) if isinstance(value, str) else value

    def _facts_call(self, function: str, fact_type: str, key: str, place: Place) -> Any:
        candidates = self._facts.get(fact_type, [])
        self._step(1 + len(candidates) // 16, place)
        if function == "facts":
            found = [
                fact for fact in candidates if fact.fact_key == key or fact.fact_key.startswith(f"{key}:")
            ]
            return [self._load(fact, place) for fact in found]
        found = [fact for fact in candidates if fact.fact_key == key]
        if len(found) > 1:
            self._fail(f"the snapshot has {len(found)} facts {fact_type} {key}; keep one", place)
        if not found and function == "fact":
            self._fail(f"the snapshot has no fact {fact_type} {key}", place)
        return self._load(found[0], place) if found else None

    def _load(self, fact: Fact, place: Place) -> Any:
        self._used[-1].add(fact)
        if fact not in self._loaded:
            self._loaded[fact] = self._read(fact, place)
        return self._loaded[fact]

    def _read(self, fact: Fact, place: Place) -> Any:
        try:
            return typed(fact.payload, self._declared[fact.fact_type])
        except WrongType as error:
            self._fail(f"fact {fact.fact_type} {fact.fact_key}: {error}", place)


def typed(payload: Any, declared: Type) -> Any:
    """Return plain JSON as its declaration says, numbers in base units, nothing undeclared."""
    return _based(coerce(payload, declared), declared)


def _based(value: Any, kind: Type) -> Any:
    if value is None:
        return None
    match kind:
        case Optional(item):
            return _based(value, item)
        case ListOf(item):
            return [_based(part, item) for part in value]
        case Record(fields, _):
            return {name: _based(value[name], item) for name, item in fields.items() if name in value}
        case Number(unit):
            return value * unit.factor
    return value


def _divide(left: Any, right: Any) -> Decimal:
    return Decimal(left) / Decimal(right)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _divide,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}
