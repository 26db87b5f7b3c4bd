"""What users may import, and that everything they are given or must give is among it."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backstay
from backstay import errors, records, testing

ROOT = Path(__file__).resolve().parents[2]
FIRST_DAY = 42
"""How many names `backstay` itself may have: those of a first day."""


def test_the_first_day_has_few_names() -> None:
    assert len(backstay.__all__) <= FIRST_DAY


def test_every_annotation_of_a_public_method_names_a_public_type() -> None:
    public = public_classes()
    foreign = sorted(
        {
            f"{owner.__name__}.{name} names {mentioned}"
            for owner in walked(public)
            for name, annotation in annotations_of(owner)
            for mentioned in names_in(annotation)
            if mentioned in engine_classes() and mentioned not in {one.__name__ for one in public}
        }
    )

    assert foreign == []


def public_classes() -> list[type]:
    modules = (backstay, errors, records, testing)
    found = [getattr(module, name) for module in modules for name in dir(module) if name[0] != "_"]
    return [one for one in found if inspect.isclass(one)]


def walked(public: list[type]) -> Iterator[type]:
    """The public classes, and the nouns that an application has as attributes."""
    yield from public
    attributes = [one for owner in backstay.Backstay.__mro__ for one in vars(owner).items()]
    public_attributes = [value for name, value in attributes if name[0] != "_"]
    nouns = [type_of_noun(attribute) for attribute in public_attributes]
    yield from (noun for noun in nouns if noun is not None)


def type_of_noun(attribute: object) -> type | None:
    arguments = getattr(getattr(attribute, "__orig_class__", None), "__args__", ())
    return arguments[0] if arguments else None


def annotations_of(owner: type) -> Iterator[tuple[str, str]]:
    for name, member in inspect.getmembers(owner):
        if name.startswith("_") and name != "__init__":
            continue
        if name == "__init__" and owner.__name__ not in CONSTRUCTED_BY_USERS:
            continue
        function = member.fget if isinstance(member, property) else member
        for annotation in getattr(function, "__annotations__", {}).values():
            yield name, annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")


CONSTRUCTED_BY_USERS = {
    "Backstay",
    "Profile",
    "Tasks",
    "Backoff",
    "Limit",
    "Rate",
    "PromotedField",
    "References",
}


def names_in(annotation: str) -> set[str]:
    return set(re.findall(r"\b[A-Z]\w+", annotation))


def engine_classes() -> set[str]:
    """Every class that the engine defines, by name."""
    source = ROOT / "src" / "backstay"
    return {
        name
        for path in source.rglob("*.py")
        for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE)
    }


def test_a_name_that_lives_in_another_public_module_is_told() -> None:
    with pytest.raises(AttributeError, match=r"it is in backstay\.errors"):
        backstay.__getattr__("JobDead")


def test_public_modules_import_by_themselves() -> None:
    for name in ("backstay.errors", "backstay.records", "backstay.testing"):
        module: Any = importlib.import_module(name)
        assert module.__doc__
