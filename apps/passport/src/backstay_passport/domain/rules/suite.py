"""The language of rule tests: explicit cases, and properties over generated values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from backstay_passport.domain.errors import TestParseFailed
from backstay_passport.domain.rules.check import CheckedPackage
from backstay_passport.domain.rules.expression_types import Scope, type_of
from backstay_passport.domain.rules.expressions import read_expression
from backstay_passport.domain.rules.generators import Generator, read_generator
from backstay_passport.domain.rules.reader import Reader
from backstay_passport.domain.rules.syntax import Expression
from backstay_passport.domain.rules.tokens import Place
from backstay_passport.domain.types import Bool, ListOf, Number, Optional, Record, Text, Type, type_text

MAX_CASES = 20_000


@dataclass(frozen=True)
class GivenFact:
    """A fact that a case starts from."""

    fact_type: str
    key: Expression
    payload: Expression


@dataclass(frozen=True)
class Given:
    """What a case starts from."""

    facts: tuple[GivenFact, ...] = ()
    product: Expression | None = None
    unit: Expression | None = None


@dataclass(frozen=True)
class Expectation:
    """What must hold: a condition, or the message with which the rules fail."""

    condition: Expression | None
    message: str
    place: Place


@dataclass(frozen=True)
class Test:
    """A case (of which there is one) or a property (of which there are many)."""

    __test__ = False

    name: str
    cases: int
    generators: Mapping[str, Generator]
    given: Given
    expect: Expectation
    place: Place


@dataclass(frozen=True)
class Suite:
    """All tests of a rule package."""

    tests: tuple[Test, ...] = field(default=())

    def total(self) -> int:
        """Return how many cases there are."""
        return sum(test.cases for test in self.tests)


def parse_suite(source: str, checked: CheckedPackage) -> Suite:
    """Read and check a test suite; raise `TestParseFailed` with line and column."""
    reader = Reader(source, TestParseFailed)
    tests: list[Test] = []
    while not reader.at("end"):
        test = _test(reader)
        if any(other.name == test.name for other in tests):
            reader.fail(f"there is a test {test.name!r} already", test.place)
        _check_test(test, checked)
        tests.append(test)
    suite = Suite(tuple(tests))
    if suite.total() > MAX_CASES:
        reader.fail(f"{suite.total()} cases; a suite may have {MAX_CASES}")
    return suite


def _test(reader: Reader) -> Test:
    place = reader.next.place
    if reader.skip("case"):
        name = reader.text("the case's name in quotes")
        return Test(name, 1, {}, _given(reader), _expectation(reader), place)
    reader.take("property", "'case' or 'property'")
    name = reader.text("the property's name in quotes")
    reader.take("for")
    cases = int(reader.take("number", "how many cases").text.split(".")[0])
    if cases < 1:
        reader.fail("a property needs a case at least", place)
    reader.take("cases")
    reader.take("with")
    reader.take("{")
    generators = dict(reader.items("}", lambda: read_generator(reader)))
    return Test(name, cases, generators, _given(reader), _expectation(reader), place)


def _given(reader: Reader) -> Given:
    reader.take("given")
    reader.take("{")
    facts: list[GivenFact] = []
    product = unit = None
    while not reader.skip("}"):
        if reader.skip("fact"):
            fact_type = reader.text("a fact type in quotes")
            facts.append(GivenFact(fact_type, read_expression(reader), read_expression(reader)))
        elif reader.skip("product"):
            product = read_expression(reader)
        elif reader.skip("unit"):
            unit = read_expression(reader)
        else:
            reader.fail(f"expected fact, product or unit, found {reader.next.text or 'the end'!r}")
        reader.skip(",")
    return Given(tuple(facts), product, unit)


def _expectation(reader: Reader) -> Expectation:
    reader.take("expect")
    place = reader.next.place
    if reader.skip("fails"):
        return Expectation(None, reader.text("a part of the message in quotes"), place)
    return Expectation(read_expression(reader), "", place)


def _check_test(test: Test, checked: CheckedPackage) -> None:
    variables = {name: generator.type for name, generator in test.generators.items()}
    scope = Scope(variables, {}, error=TestParseFailed)
    for fact in test.given.facts:
        if fact.fact_type not in checked.package.facts:
            scope.fail(f"the rules declare no fact {fact.fact_type}", fact.key.place)
        if not isinstance(type_of(fact.key, scope), Text):
            scope.fail("the key of a fact is a text", fact.key.place)
        _check_payload(fact.payload, scope)
    for part in (test.given.product, test.given.unit):
        if part is not None:
            _check_payload(part, scope)
    if test.expect.condition is not None:
        inner = Scope(variables, {}, with_outputs=True, error=TestParseFailed)
        found = type_of(test.expect.condition, inner)
        if not isinstance(found, Bool):
            scope.fail(f"what is expected must be Bool, this is {type_text(found)}", test.expect.place)


def _check_payload(payload: Expression, scope: Scope) -> None:
    kind = type_of(payload, scope)
    if not isinstance(kind, Record):
        scope.fail("a fact is written as {field: value}", payload.place)
    if _has_unit(kind):
        scope.fail("facts hold plain numbers; write them without a unit", payload.place)


def _has_unit(kind: Type) -> bool:
    match kind:
        case Number(unit):
            return unit.dimension != () or unit.factor != 1
        case ListOf(item) | Optional(item):
            return _has_unit(item)
        case Record(fields, _):
            return any(map(_has_unit, fields.values()))
    return False
