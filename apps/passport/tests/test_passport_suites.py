"""The language of rule tests: seeded, countable, with failures that can be read."""

from __future__ import annotations

import pytest

from backstay_passport.domain.errors import TestParseFailed
from backstay_passport.domain.rules.check import CheckedPackage, check_rules
from backstay_passport.domain.rules.suite import parse_suite
from backstay_passport.domain.rules.testing import SuiteResult, case_list, run_suite
from backstay_passport.rule_packages import battery_passport

RULES = """package "test"
fact Battery { sku: Text, mass_kg: Decimal kg }
let battery = fact("Battery", "battery:" + product.sku)
rule light: require battery.mass_kg < 900 kg else "too heavy"
rule mass: set GeneralProductInformation.batteryMass = battery.mass_kg
"""
PROPERTY = """property "{name}" for {cases} cases
  with {{ mass: decimal(0, {top}, 2), sku: text(3, 9) }}
  given {{ product {{sku: sku}} fact "Battery" "battery:" + sku {{sku: sku, mass_kg: mass}} }}
  expect out(GeneralProductInformation.batteryMass) == mass * 1 kg
"""


def checked() -> CheckedPackage:
    """The rules of these tests."""
    return check_rules(RULES)


def suite_of(*sizes: int, top: int = 800) -> str:
    """A suite with a property of each size."""
    return "".join(PROPERTY.format(name=f"p{n}", cases=size, top=top) for n, size in enumerate(sizes))


def run(source: str, seed: int = 1) -> SuiteResult:
    """Run a suite."""
    return run_suite(parse_suite(source, checked()), checked(), seed)


@pytest.mark.parametrize(
    ("sizes", "status"), [((499,), "FAILED"), ((500,), "PASSED"), ((200, 200, 200), "PASSED")]
)
def test_five_hundred_passing_cases_are_enough(sizes: tuple[int, ...], status: str) -> None:
    """BPC-034, BPC-038, TC-P7-01, TC-P7-02: 499 and 500; three properties make 600 cases."""
    result = run(suite_of(*sizes))
    assert (result.total_cases, result.failed_count, result.status) == (sum(sizes), 0, status)
    assert result.first_failure is None


def test_one_failing_case_of_six_hundred_fails_the_run() -> None:
    """BPC-034, TC-P7-03: failure details."""
    failing = (
        'case "wrong" given { product {sku: "A"} fact "Battery" "battery:A" {sku: "A", mass_kg: 1} } expect '
        "out(GeneralProductInformation.batteryMass) == 2 kg"
    )
    result = run(suite_of(599) + failing)
    assert (result.total_cases, result.passed_count, result.failed_count, result.status) == (
        600,
        599,
        1,
        "FAILED",
    )
    assert result.first_failure is not None
    assert result.first_failure.test_name == "wrong"


def test_a_failing_property_is_shrunk_and_says_its_case() -> None:
    """BPC-038: index, seed, and a simpler case that fails too."""
    result = run(suite_of(300, top=1000), seed=77)
    assert result.failed_count > 0
    assert result.first_failure is not None
    assert "of seed 77" in result.first_failure.error
    assert "sku = AAA" in result.first_failure.error
    assert "too heavy" in result.first_failure.error


def test_the_seed_alone_decides_the_cases() -> None:
    """BPC-036: the same seed gives the same bytes, another seed others."""
    suite = parse_suite(suite_of(50, 50), checked())
    assert case_list(suite, 5) == case_list(parse_suite(suite_of(50, 50), checked()), 5)
    assert case_list(suite, 5) != case_list(suite, 6)
    assert run(suite_of(60, top=1000), seed=5) == run(suite_of(60, top=1000), seed=5)


def test_an_expected_failure_holds() -> None:
    """BPC-038: expect fails."""
    source = 'case "heavy" given { product {sku: "A"} fact "Battery" "battery:A" {sku: "A", mass_kg: 950} } '
    assert run(source + 'expect fails "too heavy"').failed_count == 0
    assert run(source + 'expect fails "too light"').failed_count == 1


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("case", "name in quotes"),
        ('case "a" given { } expect 1', "must be Bool"),
        ('case "a" given { fact "Cell" "x" {a: 1} } expect true', "no fact Cell"),
        ('case "a" given { fact "Battery" "x" {mass_kg: 1 kg} } expect true', "without a unit"),
        ('case "a" given { } expect true case "a" given { } expect true', "already"),
        ('property "p" for 10 cases with { a: decimal(5, 1) } given { } expect true', "bounds in order"),
        ('property "p" for 10 cases with { a: colour } given { } expect true', "is none of text"),
        ('property "p" for 90000 cases with { a: bool } given { } expect true', "20000"),
        ('case "a" given { } expect out(No.path) == 1', "no field No.path"),
    ],
)
def test_a_suite_that_cannot_be_read_says_where(source: str, problem: str) -> None:
    """BPC-034: TestParseFailed with a place."""
    with pytest.raises(TestParseFailed) as caught:
        parse_suite(source, checked())
    assert problem in caught.value.problem
    assert caught.value.line == 1


def test_the_rules_that_come_with_the_application_pass_their_own_tests() -> None:
    """BPC-034: the shipped package is validated by its own suite."""
    sources = battery_passport()
    package = check_rules(sources.rules)
    assert run_suite(parse_suite(sources.tests, package), package, 2026).passed
