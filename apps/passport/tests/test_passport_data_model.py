"""The full export has exactly the fields of the Battery Pass Data Model, by a list that is not our own table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from passport_examples import example_input

from backstay_passport.domain.canonical import parse
from backstay_passport.domain.compile import compile_passport
from backstay_passport.domain.fields import SUBMODELS
from backstay_passport.export.linked_data import linked_data
from backstay_passport.export.schemas import json_schema

LIST = Path(__file__).with_name("data_model_1_2_0.txt")
TYPES = {"string": (str,), "number": (int, Decimal), "boolean": (bool,), "object": (dict,)}


@dataclass(frozen=True)
class Known:
    """A field as the data model has it."""

    kind: str
    required: bool
    choices: tuple[str, ...]


def known_fields() -> dict[str, Known]:
    """Return the data model's fields by their paths, lists marked with []."""
    lines = [one.split() for one in LIST.read_text(encoding="utf-8").splitlines() if not one.startswith("#")]
    return {
        path: Known(
            kind, need == "r", tuple(rest[0][4:].split(",")) if rest and rest[0].startswith("one:") else ()
        )
        for path, kind, need, *rest in lines
    }


def found_fields(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Give every field of an exported document with its value."""
    if isinstance(value, list):
        for item in value:
            yield from found_fields(item, f"{path}[]")
        return
    yield path, value
    if isinstance(value, dict) and not path.endswith("labelingMeaning"):
        for name, part in value.items():
            yield from found_fields(part, f"{path}.{name}")


def parent_of(path: str) -> str:
    """Return the object that a field stands in."""
    return path.rsplit(".", 1)[0]


@pytest.mark.parametrize("number", range(3))
def test_a_full_export_has_exactly_the_fields_of_the_data_model(number: int) -> None:
    """BPC-020, BPC-045: names, types, allowed values and required fields of all seven submodels, for each model."""
    output = compile_passport(example_input(number))
    document = json.loads(
        linked_data(parse(output.payload_canonical), parse(output.receipt_canonical)), parse_float=Decimal
    )
    known = known_fields()
    assert {name for name in document if name[0].isupper()} == set(SUBMODELS)
    seen: dict[str, list[Any]] = {}
    for name in SUBMODELS:
        for path, value in found_fields(document[name], name):
            seen.setdefault(path, []).append(value)
    for path, values in seen.items():
        if path in SUBMODELS:
            continue
        assert path in known, path
        assert all(type(value) in TYPES[known[path].kind] for value in values), path
        if known[path].choices:
            assert set(values) <= set(known[path].choices), path
    for path, field in known.items():
        # A list with no entries has no parts; what is required stands in every object around it.
        owners = len(seen.get(parent_of(path), []))
        if field.required and not path.endswith("[]"):
            assert len(seen.get(path, [])) == owners, path


def test_our_schemas_have_the_fields_of_the_data_model() -> None:
    """BPC-020, BPC-045: every path of the published schemas, with its type and necessity, and no other."""
    found: dict[str, tuple[str, bool]] = {}

    def walk(schema: dict[str, Any], path: str, *, required: bool) -> None:
        inner = schema["items"] if schema["type"] == "array" else schema
        name = f"{path}[]" if schema["type"] == "array" else path
        if path not in SUBMODELS:
            found[name] = (inner["type"], required)
        for child, part in inner.get("properties", {}).items():
            walk(part, f"{name}.{child}", required=child in inner.get("required", []))

    for name in SUBMODELS:
        walk(json_schema(name), name, required=True)
    assert found == {path: (field.kind, field.required) for path, field in known_fields().items()}
    assert len(found) == 167
    for misspelt in (
        "warrentyPeriod",
        "batteryTechicalProperties",
        "thirdPartyAussurances",
        "remainingEnergyalue",
    ):
        assert any(re.search(rf"\b{misspelt}\b", path) for path in found)
