"""The rule language: types and units before any run, exact values, steps that end."""

from __future__ import annotations

import time

import pytest

from backstay_passport.domain.errors import CompileError, RuleSyntaxError, RuleTypeError
from backstay_passport.domain.facts import make_fact
from backstay_passport.domain.rules.check import check_rules
from backstay_passport.domain.rules.run import Assignment, Subject, run_rules

HEAD = """package "test"
fact Battery { sku: Text, mass_kg: Decimal kg, energy_kwh: Decimal kWh?, parts: List<Text>?, made: Date? }
let battery = fact("Battery", "battery:" + product.sku)
"""
MASS = "GeneralProductInformation.batteryMass"
PASSPORT = {"id": "p", "version_id": "v", "identifier": "urn:uuid:p", "issued_at": "2026-01-01T00:00:00Z"}
BATTERY = {"sku": "A", "mass_kg": "12.5", "energy_kwh": "2", "parts": ["a", "b"], "made": "2026-02-03"}


def run(rules: str, battery: dict[str, object] | None = None, **options: int) -> list[Assignment]:
    """Run rules over one battery."""
    facts = [make_fact("Battery", "battery:A", battery or BATTERY)]
    subject = Subject(make_fact("Product", "product:A", {"sku": "A"}), None, PASSPORT)
    return run_rules(check_rules(HEAD + rules), facts, subject, **options)


def value_of(expression: str) -> object:
    """The value of an expression in kilograms."""
    [found] = run(f"rule r: set {MASS} = {expression}")
    return found.value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("battery.mass_kg", "12.5"),
        ("battery.mass_kg + 500 g", "13"),
        ("2 * battery.mass_kg - 1 kg / 4", "24.75"),
        ("if battery.mass_kg > 12 kg and not false then 1 kg else 2 kg", "1"),
        ("(battery.energy_kwh ?? 0 kWh) / (1 kWh) * 1 kg", "2"),
        ('round(10 kg / 3, 2, "kg")', "3.33"),
        ("count(battery.parts ?? []) * 1 kg", "2"),
        ('sum([1 kg for one in battery.parts ?? [] if one == "a"])', "1"),
        ("min([3 kg, 2 kg, 5 kg]) ?? 0 kg", "2"),
        ("-battery.mass_kg + 20 kg", "7.5"),
        ("(if exists(battery.made) then 1 else 0) * 1 kg", "1"),
    ],
)
def test_expressions_have_exact_values(expression: str, value: str) -> None:
    """BPC-037: arithmetic, comparison, lists, optionals, units."""
    assert value_of(expression) == value


@pytest.mark.parametrize(
    ("rule", "column", "problem"),
    [
        (f"rule r: set {MASS} = 5 kWh", 53, "is Decimal kg, this is Decimal kWh"),
        (f"rule r: set {MASS} = battery.mass_kg + 5 kWh", 69, "units do not fit: kg and kWh"),
        (f"rule r: set {MASS} = battery.energy", 60, "no field energy"),
        ('rule r: require battery.energy_kwh > 1 kWh else "x"', 36, "may be missing"),
        ('rule r: require battery.mass_kg else "x"', 24, "must be Bool"),
        ("rule r: set Wrong.path = 1", 9, "no field Wrong.path"),
        (f"rule r: set {MASS} = unknown", 53, "no variable unknown"),
        (f"rule r: set {MASS} = launch(1)", 53, "no function launch"),
        (f'rule r: set {MASS} = fact("Cell", "x").mass', 53, "no fact Cell is declared"),
        ("rule r: set Circularity.safetyMeasures = {extinguishingAgent: []}", 9, "several access tiers"),
        (f"rule r: set {MASS} = out({MASS})", 53, "out(…) is for tests"),
    ],
)
def test_type_errors_are_found_before_any_run(rule: str, column: int, problem: str) -> None:
    """BPC-037: type errors with line and column, before a run."""
    with pytest.raises(RuleTypeError) as caught:
        check_rules(HEAD + rule)
    assert (caught.value.line, caught.value.column) == (4, column)
    assert problem in caught.value.problem


@pytest.mark.parametrize(
    ("rule", "place", "problem"),
    [
        ("rule r set", (4, 8), "expected ':'"),
        ("rule r: require true else", (4, 26), "message in quotes"),
        ('rule r: require "open', (4, 17), "no end on its line"),
        ('rule r: require true else "x"\nrule r: require true else "x"', (5, 1), "rule r already"),
        ("rule r: require §", (4, 17), "no meaning"),
        ("rule r: require " + "(" * 200, (4, 77), "nested deeper"),
        ("fact Battery { sku: Colour }", (4, 6), "fact Battery already"),
        ("record R { sku: Colour }", (4, 17), "no type Colour"),
    ],
)
def test_syntax_errors_have_line_and_column(rule: str, place: tuple[int, int], problem: str) -> None:
    """BPC-037: the parser says where."""
    with pytest.raises(RuleSyntaxError) as caught:
        check_rules(HEAD + rule)
    assert (caught.value.line, caught.value.column) == place
    assert problem in caught.value.problem


def test_a_failed_requirement_names_the_rule() -> None:
    """BPC-025: the error has the rule's name and position."""
    with pytest.raises(CompileError) as caught:
        run('rule heavy: require battery.mass_kg > 100 kg else "too light"')
    assert caught.value.details["rule"] == "heavy"
    assert caught.value.details["line"] == 4
    assert "too light" in caught.value.message


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (f"rule r: set {MASS} = 1 kg / (count(battery.parts ?? []) - 2)", "division by zero"),
        (f"rule r: set {MASS} = 10 kg / 3", "18 digits; round it"),
        (
            f'rule r: set {MASS} = sum([x.mass_kg for x in facts("Battery", "none")]) + fact("Battery", "q").mass_kg',
            "no fact Battery q",
        ),
        ('rule r: set GeneralProductInformation.batteryCategory = "plane"', "none of lmt"),
        (
            f"rule a: when true then set {MASS} = 1 kg\nrule b: when true then set {MASS} = 2 kg",
            "rule a already",
        ),
    ],
)
def test_evaluation_errors_say_what_went_wrong(rule: str, problem: str) -> None:
    """BPC-025: evaluation errors."""
    with pytest.raises(CompileError) as caught:
        run(rule)
    assert problem in caught.value.message


def test_a_fact_that_does_not_fit_its_declaration_is_named() -> None:
    """BPC-025: the fact and the place in it are named."""
    with pytest.raises(CompileError, match="fact Battery battery:A: /mass_kg"):
        run(f"rule r: set {MASS} = battery.mass_kg", {"sku": "A", "mass_kg": "heavy"})


BOMBS = [
    "let a = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n"
    + "let big = count([1 "
    + " ".join(f"for x{n} in a" for n in range(1))
    + "])\n"
    + "let n3 = [sum([sum([sum([sum([sum([sum([sum([p for p in a]) for q in a]) for r in a]) for s in a])"
    + ' for t in a]) for u in a]) for v in a]) for w in a]\nrule r: require count(n3) > 0 else "x"',
    'let t0 = "xxxxxxxxxx"\n'
    + "".join(f"let t{n + 1} = t{n} + t{n}\n" for n in range(60))
    + 'rule r: require t60 == "" else "x"',
    "let n0 = 999999999\n"
    + "".join(f"let n{n + 1} = n{n} * n{n}\n" for n in range(60))
    + 'rule r: require n60 == 0 else "x"',
    "let d0 = 9999999.5\n"
    + "".join(f"let d{n + 1} = d{n} * d{n}\n" for n in range(60))
    + 'rule r: require d60 == 0.5 else "x"',
]


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_ends_by_the_limit(bomb: str) -> None:
    """BPC-037: steps, texts and numbers are limited."""
    start = time.process_time()
    with pytest.raises(CompileError, match=r"steps|characters|too large"):
        run(bomb)
    # CPU time, not the clock: another process cannot make it longer.
    assert time.process_time() - start < 1


def test_each_value_knows_the_facts_that_it_came_from() -> None:
    """BPC-020: every field is traceable to a rule and facts, through lets and conditions."""
    [found] = run(f"rule r: when battery.mass_kg > 1 kg then set {MASS} = 3 kg")
    assert (found.rule, found.line) == ("r", 4)
    assert [fact.fact_key for fact in found.used] == ["battery:A", "product:A"]


def test_a_missing_optional_leaves_the_field_out() -> None:
    """BPC-037: optional values."""
    rule = "rule r: set PerformanceAndDurability.batteryTechicalProperties.ratedEnergy = battery.energy_kwh"
    assert run(rule, {"sku": "A", "mass_kg": 1}) == []


def test_a_variable_of_a_list_keeps_its_name_to_itself() -> None:
    """BPC-037: a let evaluated inside of a list does not disturb the list around it."""
    rules = (
        "let inner = [x for x in [5, 6]]\n"
        f"rule r: set {MASS} = sum([(x + count(inner)) * 1 kg for x in [1, 2]])"
    )
    [found] = run(rules)
    assert found.value == "7"
