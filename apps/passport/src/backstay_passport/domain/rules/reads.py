"""What each field of a package's rules is made of: the types of facts that its rule reads, directly or by a `let`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from backstay_passport.domain.rules.syntax import Call, Literal, Name, Package, SetField

LOOKUPS = ("fact", "facts")
SUBJECTS = {"product": "Product", "unit": "Unit", "passport": "Passport"}


def reads_of(package: Package) -> Mapping[str, frozenset[str]]:
    """Return for each path that a rule sets the types of facts that it can be made of."""
    lets = {one.name: one.value for one in package.lets}
    return {
        rule.action.path: frozenset(_types(rule.action.value, lets))
        for rule in package.rules
        if isinstance(rule.action, SetField)
    }


def _types(part: Any, lets: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(part, Call) and part.function in LOOKUPS and isinstance(part.arguments[0], Literal):
        # What the key is made of says which fact it is, not what the field says.
        yield str(part.arguments[0].value)
    elif isinstance(part, Name):
        yield from _types(lets[part.name], lets) if part.name in lets else _subject(part.name)
    elif dataclasses.is_dataclass(part):
        for member in dataclasses.fields(part):
            yield from _types(getattr(part, member.name), lets)
    elif isinstance(part, tuple):
        for one in part:
            yield from _types(one, lets)


def _subject(name: str) -> Iterator[str]:
    if name in SUBJECTS:
        yield SUBJECTS[name]
