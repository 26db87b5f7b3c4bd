"""Running a test suite: every case from its seed, the first failure shrunk once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from backstay_passport.domain.canonical import encode
from backstay_passport.domain.errors import CompileError, InvalidInput, PassportError
from backstay_passport.domain.facts import Fact, make_fact
from backstay_passport.domain.fields import BY_PATH
from backstay_passport.domain.rules.check import CheckedPackage
from backstay_passport.domain.rules.evaluate import Evaluated, Evaluator, typed
from backstay_passport.domain.rules.generators import Stream
from backstay_passport.domain.rules.run import Assignment, Subject, run_rules
from backstay_passport.domain.rules.suite import Suite, Test
from backstay_passport.domain.rules.syntax import Expression
from backstay_passport.domain.types import plain

REQUIRED_CASES = 500
SEED_LIMIT = 2**63


@dataclass(frozen=True)
class Failure:
    """A case that did not hold."""

    test_name: str
    error: str

    def as_json(self) -> dict[str, str]:
        """Return what is stored with a run."""
        return {"test_name": self.test_name, "error": self.error}


@dataclass(frozen=True)
class SuiteResult:
    """What a run of a suite came to."""

    total_cases: int
    passed_count: int
    failed_count: int
    first_failure: Failure | None

    @property
    def passed(self) -> bool:
        """True if no case failed and at least 500 held."""
        return self.failed_count == 0 and self.passed_count >= REQUIRED_CASES

    @property
    def status(self) -> str:
        """PASSED or FAILED."""
        return "PASSED" if self.passed else "FAILED"


def check_seed(seed: int) -> int:
    """Return a seed that a 64-bit column can hold."""
    if not -SEED_LIMIT <= seed < SEED_LIMIT:
        raise InvalidInput(f"the seed {seed} does not fit into 64 bits")
    return seed


def run_suite(suite: Suite, checked: CheckedPackage, seed: int) -> SuiteResult:
    """Run every case; the same seed gives the same cases and the same result."""
    passed = failed = 0
    first: Failure | None = None
    for test, index, values in _cases(suite, seed):
        problem = _problem(test, checked, values)
        if problem is None:
            passed += 1
            continue
        failed += 1
        if first is None:
            first = _shrunk(test, checked, values, index, seed)
    return SuiteResult(passed + failed, passed, failed, first)


def case_list(suite: Suite, seed: int) -> bytes:
    """Return every generated case as canonical bytes."""
    return encode(
        [
            {"test": test.name, "index": index, "values": plain(values)}
            for test, index, values in _cases(suite, seed)
        ]
    )


def _cases(suite: Suite, seed: int) -> Iterator[tuple[Test, int, dict[str, Any]]]:
    for test in suite.tests:
        for index in range(test.cases):
            stream = Stream(seed, test.name, index)
            yield test, index, {name: one.draw(stream) for name, one in test.generators.items()}


def _problem(test: Test, checked: CheckedPackage, values: Mapping[str, Any]) -> str | None:
    """Return why a case does not hold, or None if it does."""
    try:
        facts, subject = _given(test, values)
        assignments = run_rules(checked, facts, subject)
    except CompileError as error:
        if test.expect.condition is None and test.expect.message in error.message:
            return None
        return error.message
    except PassportError as error:
        return f"what is given cannot be a fact: {error.message}"
    if test.expect.condition is None:
        return f"the rules should have failed with {test.expect.message!r}"
    evaluator = _evaluator(values, outputs_of(assignments))
    try:
        holds = evaluator.evaluate(test.expect.condition).value
    except CompileError as error:
        return f"what is expected cannot be computed: {error.message}"
    return None if holds else f"line {test.expect.place.line}: what is expected does not hold"


def outputs_of(assignments: list[Assignment]) -> dict[str, Any]:
    """Return every field that is set, objects and what is in them, as typed values."""
    outputs: dict[str, Any] = {}
    for found in assignments:
        _spread(found.path, found.value, outputs)
    return outputs


def _spread(path: str, value: Any, outputs: dict[str, Any]) -> None:
    outputs[path] = typed(value, BY_PATH[path].type())
    if isinstance(value, dict):
        for name, part in value.items():
            if f"{path}.{name}" in BY_PATH:
                _spread(f"{path}.{name}", part, outputs)


def _evaluator(values: Mapping[str, Any], outputs: Mapping[str, Any]) -> Evaluator:
    variables = {name: Evaluated(value, frozenset()) for name, value in values.items()}
    return Evaluator(lets=(), declared={}, variables=variables, facts=(), outputs=outputs)


def _given(test: Test, values: Mapping[str, Any]) -> tuple[list[Fact], Subject]:
    evaluator = _evaluator(values, {})

    def value(expression: Expression | None, default: Any) -> Any:
        return default if expression is None else evaluator.evaluate(expression).value

    facts = [
        make_fact(fact.fact_type, value(fact.key, ""), value(fact.payload, {})) for fact in test.given.facts
    ]
    unit = None
    if test.given.unit is not None:
        unit = make_fact("Unit", "unit:test", value(test.given.unit, {}))
    identity = "00000000-0000-0000-0000-000000000000"
    passport = {
        "id": identity,
        "version_id": identity,
        "identifier": f"urn:uuid:{identity}",
        "issued_at": "2026-01-01T00:00:00Z",
    }
    product = make_fact("Product", "product:test", value(test.given.product, {"sku": "TEST"}))
    return facts, Subject(product, unit, passport)


def _shrunk(test: Test, checked: CheckedPackage, values: dict[str, Any], index: int, seed: int) -> Failure:
    for name, generator in test.generators.items():
        simpler = {**values, name: generator.smallest()}
        if _problem(test, checked, simpler) is not None:
            values = simpler
    problem = _problem(test, checked, values)
    if not test.generators:
        return Failure(test.name, str(problem))
    shown = ", ".join(f"{name} = {plain(value)}" for name, value in values.items())
    return Failure(test.name, f"case {index} of seed {seed}, with {shown}: {problem}")
