"""Running a package's rules over facts: what each of them sets, and what it was computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

from backstay_passport.domain.decimals import DecimalProblem, decimal_text
from backstay_passport.domain.errors import CompileError
from backstay_passport.domain.facts import Fact
from backstay_passport.domain.fields import BY_PATH, Field, problems
from backstay_passport.domain.rules.check import CheckedPackage
from backstay_passport.domain.rules.evaluate import ARITHMETIC, STEP_LIMIT, Evaluated, Evaluator, typed
from backstay_passport.domain.rules.syntax import Require, Rule, SetField
from backstay_passport.domain.types import Record, WrongType
from backstay_passport.domain.units import UNITS


@dataclass(frozen=True)
class Subject:
    """What a passport is about; product and unit are facts themselves, so that they can be traced."""

    product: Fact
    unit: Fact | None
    passport: Mapping[str, str]


@dataclass(frozen=True)
class Assignment:
    """A field that a rule has set, as plain JSON, and where it came from."""

    path: str
    value: Any
    rule: str
    line: int
    used: tuple[Fact, ...]


def run_rules(
    checked: CheckedPackage, facts: Sequence[Fact], subject: Subject, *, step_limit: int = STEP_LIMIT
) -> list[Assignment]:
    """Run every rule once, in order; raise `CompileError` with the rule's name and place."""
    evaluator = _evaluator(checked, facts, subject, step_limit)
    assignments: dict[str, Assignment] = {}
    for rule in checked.package.rules:
        _keep(rule, _run_rule(rule, evaluator), assignments)
    return [assignments[path] for path in sorted(assignments)]


def try_rules(
    checked: CheckedPackage, facts: Sequence[Fact], subject: Subject, *, step_limit: int = STEP_LIMIT
) -> tuple[list[Assignment], list[str]]:
    """Run every rule that can be run; return what they set, and why the others could not."""
    assignments: dict[str, Assignment] = {}
    problems: list[str] = []
    try:
        evaluator = _evaluator(checked, facts, subject, step_limit)
    except CompileError as error:
        return [], [error.problem]
    for rule in checked.package.rules:
        try:
            _keep(rule, _run_rule(rule, evaluator), assignments)
        except CompileError as error:
            problems.append(error.problem)
    return [assignments[path] for path in sorted(assignments)], problems


def _keep(rule: Rule, found: Assignment | None, assignments: dict[str, Assignment]) -> None:
    if found is None:
        return
    if found.path in assignments:
        raise _error(rule, f"{found.path} was set by rule {assignments[found.path].rule} already")
    assignments[found.path] = found


def _evaluator(
    checked: CheckedPackage, facts: Sequence[Fact], subject: Subject, step_limit: int
) -> Evaluator:
    return Evaluator(
        lets=checked.package.lets,
        declared=checked.package.facts,
        variables=_variables(checked, subject),
        facts=facts,
        step_limit=step_limit,
    )


def _variables(checked: CheckedPackage, subject: Subject) -> dict[str, Evaluated]:
    package = checked.package
    variables = {
        "product": _read_subject(subject.product, package.product),
        "passport": Evaluated(dict(subject.passport), frozenset()),
    }
    if package.unit is not None:
        unit = subject.unit
        variables["unit"] = (
            Evaluated(None, frozenset()) if unit is None else _read_subject(unit, package.unit)
        )
    return variables


def _read_subject(fact: Fact, declared: Record) -> Evaluated:
    try:
        return Evaluated(typed(fact.payload, declared), frozenset({fact}))
    except WrongType as error:
        raise CompileError(f"{fact.fact_type.lower()} {fact.fact_key}: {error}", 1, 1) from None


def _run_rule(rule: Rule, evaluator: Evaluator) -> Assignment | None:
    try:
        condition = None if rule.condition is None else evaluator.evaluate(rule.condition)
        if condition is not None and not condition.value:
            return None
        if isinstance(rule.action, Require):
            if not evaluator.evaluate(rule.action.condition).value:
                raise CompileError(rule.action.message, rule.action.place.line, rule.action.place.column)
            return None
        result = evaluator.evaluate(rule.action.value)
    except CompileError as error:
        raise CompileError(error.problem, error.line, error.column, rule.name) from None
    if result.value is None:
        return None
    used = result.used | (condition.used if condition else frozenset())
    return Assignment(
        rule.action.path, _finished(rule, result.value), rule.name, rule.place.line, _sorted(used)
    )


def _sorted(used: frozenset[Fact]) -> tuple[Fact, ...]:
    return tuple(sorted(used, key=Fact.order))


def _finished(rule: Rule, value: Any) -> Any:
    assert isinstance(rule.action, SetField)
    entry = BY_PATH[rule.action.path]
    try:
        with localcontext(ARITHMETIC):
            written = _written(entry, value)
    except DecimalProblem as error:
        raise _error(rule, f"{entry.path}: {error}") from None
    problem = next(problems(entry, written), None)
    if problem is not None:
        raise _error(rule, problem)
    return written


def _error(rule: Rule, problem: str) -> CompileError:
    return CompileError(problem, rule.action.place.line, rule.action.place.column, rule.name)


def _written(entry: Field, value: Any) -> Any:
    """Return a value as the field has it: numbers in the field's unit, as decimal text."""
    if isinstance(value, list):
        return [_written_item(entry, item) for item in value]
    return _written_item(entry, value)


def _written_item(entry: Field, value: Any) -> Any:
    if entry.kind == "number":
        return decimal_text(Decimal(value) / UNITS[entry.unit].factor)
    if isinstance(value, dict) and entry.children:
        return {name: _written(entry.children[name], part) for name, part in value.items()}
    return value
