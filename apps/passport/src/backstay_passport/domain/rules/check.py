"""Type and unit check of a rule package, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from backstay_passport.domain.errors import RuleTypeError
from backstay_passport.domain.fields import BY_PATH
from backstay_passport.domain.rules.expression_types import Scope, fits, type_of
from backstay_passport.domain.rules.parse import parse_rules
from backstay_passport.domain.rules.syntax import Package, Require, Rule, SetField
from backstay_passport.domain.rules.tokens import Place
from backstay_passport.domain.tiers import mixed_tiers
from backstay_passport.domain.types import Bool, Optional, Record, Text, Type, type_text

PASSPORT = Record(
    {"id": Text(), "version_id": Text(), "identifier": Text(), "issued_at": Text()},
    "passport",
)


@dataclass(frozen=True)
class CheckedPackage:
    """A rule package whose types and units fit, with the types of its variables."""

    package: Package
    variables: Mapping[str, Type]


@lru_cache(maxsize=32)
def check_rules(source: str) -> CheckedPackage:
    """Parse and check a rule package, once for each text.

    Raises `RuleSyntaxError` or `RuleTypeError` with line and column.
    """
    return check_package(parse_rules(source))


def check_package(package: Package) -> CheckedPackage:
    """Check a parsed package."""
    variables: dict[str, Type] = {"product": package.product, "passport": PASSPORT}
    if package.unit is not None:
        variables["unit"] = Optional(package.unit)
    for let in package.lets:
        if let.name in variables:
            _fail(f"there is a variable {let.name} already", let.place)
        variables[let.name] = type_of(let.value, Scope(variables, package.facts))
    scope = Scope(variables, package.facts)
    for rule in package.rules:
        _check_rule(rule, scope)
    _check_targets(package.rules)
    return CheckedPackage(package, variables)


def _check_rule(rule: Rule, scope: Scope) -> None:
    if rule.condition is not None:
        _expect_bool(type_of(rule.condition, scope), "the condition", rule.condition.place)
    match rule.action:
        case Require(condition, _, _):
            _expect_bool(type_of(condition, scope), "what is required", condition.place)
        case SetField():
            _check_set(rule.action, scope)


def _check_set(action: SetField, scope: Scope) -> None:
    entry = BY_PATH.get(action.path)
    if entry is None or "." not in action.path:
        _fail(f"the data model has no field {action.path}", action.place)
    parts = action.path.split(".")
    for length in range(1, len(parts)):
        above = BY_PATH[".".join(parts[:length])]
        if above.is_list:
            _fail(f"{above.path} is a list; set it as a whole", action.place)
    if mixed_tiers(action.path):
        _fail(
            f"the fields of {action.path} belong to several access tiers; set them one by one", action.place
        )
    found, wanted = type_of(action.value, scope), entry.type()
    if not fits(found, wanted if isinstance(wanted, Optional) else Optional(wanted)):
        _fail(f"{action.path} is {type_text(wanted)}, this is {type_text(found)}", action.value.place)


def _check_targets(rules: tuple[Rule, ...]) -> None:
    setting = [(rule.action.path, rule) for rule in rules if isinstance(rule.action, SetField)]
    seen: dict[str, Rule] = {}
    for path, rule in setting:
        if path in seen and (rule.condition is None or seen[path].condition is None):
            _fail(f"{path} is set by rule {seen[path].name} already; give both a condition", rule.place)
        seen[path] = rule
    for path, rule in setting:
        inner = next((other for other in seen if other.startswith(f"{path}.")), None)
        if inner is not None:
            _fail(f"{path} holds {inner}, which rule {seen[inner].name} sets", rule.place)


def _expect_bool(found: Type, what: str, place: Place) -> None:
    if not isinstance(found, Bool):
        _fail(f"{what} must be Bool, this is {type_text(found)}", place)


def _fail(problem: str, place: Place) -> NoReturn:
    raise RuleTypeError(problem, place.line, place.column)
